// Publishes who shares data anonymously, and by what attributes they can be chosen for a group (ANO-03, ANO-09).

import Contracts
import GRDB
import Logging
import ServiceKit
import Storage

/// Whatever concerns it (a choice, the account, the profile) marks the person as due in its own transaction; `run` publishes it. Of people
/// who share nothing nothing is said.
struct CohortProfileStore: Sendable {
    private static let atOnce = 100
    /// JSON of a profile that shares every type of the registry is below 3 KiB, and a page at most 1 MiB.
    private static let snapshotPage = 300
    private static let pollInterval = Duration.seconds(10)
    private static let backoff = Backoff(.seconds(1), upTo: .seconds(1))

    let store: Store
    let repository: AccountRepository
    private let facts: StateStream<CohortProfileState>
    let relay: EventRelay
    let logger: Logger
    private let table = CohortSharerStore()

    init(store: Store, repository: AccountRepository, epoch: String, relay: EventRelay, logger: Logger) {
        (self.store, self.repository, self.relay, self.logger) = (store, repository, relay, logger)
        facts = StateStream(epoch: epoch, vault: repository.vault)
    }

    /// Publishes what is due until it is cancelled. A part of the service (`Background`).
    func run() async throws {
        let loop = WorkLoop(every: Self.pollInterval, signal: repository.events.cohortsWakeUp, backoff: Self.backoff) { [logger] error in
            logger.error(
                "who shares anonymously could not be published; retrying", metadata: ["error": "\(String(reflecting: type(of: error)))"])
        }
        try await loop.poll { _ = try await publishDue() }
    }

    /// As `Store.publishDue`.
    @discardableResult
    func publishDue(at now: Timestamp = .now, step: Int = Self.atOnce) async throws -> Int {
        try await store.publishDue(step: step) { [table] db, after in
            let due = try table.due(db, after: after, limit: step)
            for sharer in due { try publish(db, sharer, at: now) }
            return due.map(\.person)
        }
    }

    private func publish(_ db: Database, _ sharer: CohortSharerStore.Sharer, at now: Timestamp) throws {
        do {
            let row = try repository.table.find(db, person: sharer.person)
            let profile = try current(db, row)
            if profile != nil || sharer.isSaid {
                let state = CohortProfileState(person: sharer.person, profile: profile)
                relay.publish(try facts.append(db, state, about: sharer.person, at: now), afterCommitOf: db)
            }
            if sharer.isStateDue, profile != nil, let row { try repository.events.publish(db, row, at: now, trace: "") }
            try table.settle(db, sharer.person, shares: profile != nil)
        } catch is KeyDestroyed {
            // Whoever follows erasures hears there that nothing of the person may be used any more.
            try table.settle(db, sharer.person, shares: false)
        } catch  where ProfileVault.isDamage(error) {
            // Stays due until the key is restored; the others' are published. A damaged key is logged by the keys.
            if !(error is DamagedKey) {
                logger.error(
                    "somebody who shares anonymously cannot be published: the profile cannot be read",
                    metadata: ["reason": "\(error.logReason)"])
            }
        }
    }

    func render(_ row: StreamRow) throws -> [UInt8]? {
        try facts.render(row)
    }

    /// One page of everybody who shares.
    func snapshot(_ asked: SnapshotStream) async throws -> SnapshotStream.Reply {
        try await store.read { [table, facts] db in
            try facts.snapshot(db, asked, limit: Self.snapshotPage) { (after: PersonID, limit: Int) in
                try table.page(db, after: after, limit: limit).map { ($0, $0, try state(db, of: $0)) }
            }
        }
    }

    /// Nil for who shares nothing any more, and who cannot be read.
    private func state(_ db: Database, of person: PersonID) throws -> CohortProfileState? {
        do {
            return try current(db, repository.table.find(db, person: person)).map { CohortProfileState(person: person, profile: $0) }
        } catch  where error is KeyDestroyed || ProfileVault.isDamage(error) {
            return nil
        }
    }

    /// Nil for who shares nothing, or has no active account.
    private func current(_ db: Database, _ row: AccountRow?) throws -> CohortProfile? {
        guard let row, row.state == .active else { return nil }
        let shares = try AnonymousSharingStore().optIns(db, of: row.number)
        return shares.isEmpty ? nil : CohortProfile(try repository.vault.profile(row), shares: shares)
    }
}
