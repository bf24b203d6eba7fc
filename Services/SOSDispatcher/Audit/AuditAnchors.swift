// Carries the head of the audit chain out of the store that holds it: to the other dispatcher, and to a file.

import Contracts
import Foundation
import Logging
import Sealing
import ServiceKit
import Storage

/// Once a minute, and within a second of each step of an emergency (SOS-42).
struct AuditAnchors: SupervisionEventConsumer {
    static let period = Duration.seconds(60)
    /// What emergencies write within this time is anchored at once. An anchor is two commits and a file, and waits here so that they
    /// never stand before a call's.
    static let gathering = Duration.seconds(1)
    /// Of notes to the other dispatcher.
    static let kind = "audit-anchor"
    /// Faults that one answer names.
    static let mostFaults = 20

    let store: Store
    let signing: SigningKey
    let role: PairRole
    let pair: PairState
    /// nil: none.
    let file: URL?
    let logger: Logger
    private let wake = WakeUpSignal()

    init(store: Store, signing: SigningKey, pair: PairState, file: URL?, logger: Logger) {
        (self.store, self.signing, self.pair, self.file, self.logger) = (store, signing, pair, file, logger)
        role = pair.role
    }

    /// Each side keeps the other's newest heads.
    var participant: PairState.Participant {
        PairState.Participant(
            snapshot: { [role] db in try AuditAnchorStore.newest(db, of: role.peer.name).map { [try $0.line()] } ?? [] },
            apply: { [signing, role] db, line in
                guard let anchor = AuditAnchor(line: line), anchor.peer == role.other.peer.name,
                    AuditAnchors.isGenuine(anchor, signing.publicKey)
                else { return }
                try AuditAnchorStore.keep(db, anchor)
            }, after: {})
    }

    /// Runs until it is cancelled.
    func run() async throws {
        while !Task.isCancelled {
            do {
                try await anchor(at: .now)
            } catch {
                logger.error("the head of the audit could not be anchored", metadata: ["reason": "\(error.logReason)"])
            }
            await wake.wait(atMost: Self.period)
            try await Task.sleep(for: Self.gathering)
        }
    }

    func heard(_ events: [SupervisionEvent]) async {
        if events.contains(where: { $0.kind == .opened || $0.kind == .dispatched || $0.kind == .closed }) { wake.notify() }
    }

    func anchor(at now: Timestamp) async throws {
        let anchor = try await store.write { [signing, role] db in
            let (rows, head) = try AuditAnchorStore.head(db)
            let number = (try AuditAnchorStore.newest(db, of: role.peer.name)?.number ?? 0) + 1
            var anchor = AuditAnchor(at: now, head: head, number: number, peer: role.peer.name, rows: rows)
            anchor.signature = Base64URL.encode(try signing.sign(anchor.content))
            try AuditAnchorStore.keep(db, anchor)
            return anchor
        }
        let line = try anchor.line()
        pair.tell(.note(kind: Self.kind, subject: nil, body: line))
        if let file { try AuditAnchors.append(line, to: file) }
    }

    private static func append(_ line: String, to file: URL) throws {
        if !FileManager.default.fileExists(atPath: file.path) {
            _ = FileManager.default.createFile(atPath: file.path, contents: nil, attributes: [.posixPermissions: 0o600])
        }
        let handle = try FileHandle(forWritingTo: file)
        defer { try? handle.close() }
        try handle.seekToEnd()
        try handle.write(contentsOf: Data((line + "\n").utf8))
        try handle.synchronize()
    }

    static func isGenuine(_ anchor: AuditAnchor, _ key: VerifyingKey) -> Bool {
        Base64URL.decode(anchor.signature).map { key.verify($0, of: anchor.content) } ?? false
    }

    /// Recomputes the chain and holds it against anchors from elsewhere, this dispatcher's own, and the rows of emergencies.
    func verify(_ lines: [String], except synthetic: SyntheticPeople) async throws -> VerifyAudit.Reply {
        let key = signing.publicKey
        return try await store.read { [role] db in
            let own = try AuditAnchorStore.lines(db, of: role.peer.name)
            func named(_ lines: [String]) -> [AuditAnchor] {
                lines.compactMap(AuditAnchor.init(line:)).filter { $0.peer == role.peer.name }
            }
            let all = (given: named(lines), own: named(own))
            let given = all.given.filter { AuditAnchors.isGenuine($0, key) }
            let anchors = given + all.own.filter { AuditAnchors.isGenuine($0, key) }
            let forged = all.given.count + all.own.count - anchors.count
            let (verifier, heads) = try AuditStore.verify(db, headsAt: Set(anchors.map(\.rows)))
            var faults = anchors.sorted { $0.number < $1.number }.compactMap { anchor in
                anchor.fault(rows: verifier.rows, head: heads[anchor.rows])
            }
            if forged > 0 { faults.append("\(forged) anchors are not signed by this suite's key") }
            faults = Array(faults.prefix(Self.mostFaults))
            faults += try AuditAnchorStore.disagreements(db, except: synthetic, limit: Self.mostFaults)
            return VerifyAudit.Reply(
                rows: verifier.rows, firstBroken: verifier.firstBroken, head: verifier.headText, faults: faults, checked: anchors.count,
                given: given.count, anchorsOfOther: try AuditAnchorStore.lines(db, of: role.other.peer.name))
        }
    }
}
