// `trackme audit`: whether the record of emergencies is whole.

import ArgumentParser
import Contracts
import Foundation

struct AuditCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "audit", abstract: "Checks the record of emergencies.", subcommands: [VerifyAuditCommand.self])
}

struct VerifyAuditCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify", abstract: "Recomputes the hash chain of every step of every emergency.",
        discussion: """
            Each row's hash covers the row before it: a changed, removed or inserted row is found and named. The signed heads that each \
            dispatcher keeps of the other's chain, and those of --anchors (sos.audit_anchor_file), show what was cut off or written anew; \
            rows of emergencies that disagree are named too. --file checks a stopped service's copy without the suite.

            Example: trackme audit verify
            Example: trackme audit verify --anchors /mnt/elsewhere/anchors.jsonl
            Example: trackme audit verify --file backup/sos-dispatcher.db

            \(ExitStatus.documentation)
            """)

    @Option(help: ArgumentHelp("A copy of sos-dispatcher.db that no service has open.", valueName: "copy.db"))
    var file: String?

    @Option(help: ArgumentHelp("The file of anchors that a dispatcher has written.", valueName: "anchors.jsonl"))
    var anchors: String?

    @OptionGroup var suite: SuiteOptions

    /// Recomputing a long chain takes longer than other requests.
    private static let timeout = Duration.seconds(60)

    func run() async throws {
        try await reportingErrors {
            let kept = try kept()
            if let file {
                let verdict = try AuditFile.verify(URL(fileURLWithPath: file), anchors: kept)
                try Self.report(verdict, of: file)
                // Whoever kept the file answers for it: nobody's key is at hand to prove its signatures with.
                if let anchors { Console.shared.line("\(verdict.checked ?? 0) anchors read from \(anchors), signatures not proved") }
                return
            }
            try await SuiteConnection.with(suite.layout) { connection in
                // A quick request first: whether anybody is there must not take a minute to find out.
                _ = try await connection.ask(ListEmergencies(person: nil, limit: 1))
                var received: [Peer: [String]] = [:]
                var genuine = 0
                for (peer, other) in [(Peer.sosDispatcher, Peer.sosDeputy), (.sosDeputy, .sosDispatcher)] {
                    // An installation may do without the second, and one of the two may be down: the other is verified even so.
                    let answer = try? await connection.ask(VerifyAudit(anchors: kept), at: peer, deadline: Self.timeout)
                    received[other] = answer?.anchorsOfOther
                    genuine += answer?.given ?? 0
                }
                var isAnybodyThere = false
                for peer in [Peer.sosDispatcher, .sosDeputy] {
                    let request = VerifyAudit(anchors: Array((kept + (received[peer] ?? [])).suffix(VerifyAudit.mostAnchors)))
                    do {
                        try Self.report(try await connection.ask(request, at: peer, deadline: Self.timeout), of: peer.name)
                        isAnybodyThere = true
                    } catch let error as OperatorError where error.status == .unavailable && (isAnybodyThere || peer == .sosDispatcher) {
                        Console.shared.line("\(peer): not there, its audit is not verified")
                    }
                }
                if let anchors { Console.shared.line(try Self.tell(genuine: genuine, of: kept.count, in: anchors)) }
            }
        }
    }

    /// What a file of anchors was good for.
    /// - Throws: where it was good for nothing, although it was named.
    static func tell(genuine: Int, of lines: Int, in file: String) throws(OperatorError) -> String {
        guard genuine > 0 else {
            throw OperatorError(
                .failed, "\(file) holds no genuine anchor of a dispatcher that answers: nothing was compared with it",
                mend: "name the file that this suite's dispatcher writes (sos.audit_anchor_file), or leave --anchors out")
        }
        return "\(genuine) genuine anchors of \(lines) lines read from \(file)"
    }

    /// Lines of the file of anchors, the newest; none where no file is named.
    func kept() throws -> [String] {
        guard let anchors else { return [] }
        guard let text = try? String(contentsOf: URL(fileURLWithPath: anchors), encoding: .utf8) else {
            throw OperatorError(.configuration, "\(anchors) cannot be read", mend: "name the file of sos.audit_anchor_file")
        }
        let lines = text.split(whereSeparator: \.isNewline).suffix(VerifyAudit.mostAnchors / 2).map(String.init)
        if AuditProof(anchors: lines).anchors.isEmpty { _ = try Self.tell(genuine: 0, of: lines.count, in: anchors) }
        return lines
    }

    private static func report(_ verdict: VerifyAudit.Reply, of name: String) throws {
        let faults = (verdict.firstBroken.map { ["the chain is broken at row \($0)"] } ?? []) + (verdict.faults ?? [])
        guard faults.isEmpty else {
            throw OperatorError(
                .failed, "the audit of \(name) does not hold: \(faults.joined(separator: "; "))",
                mend: "someone or something changed the file: keep a copy of it, and compare with backups from before")
        }
        Console.shared.line("audit ok: \(name), \(verdict.rows) rows, \(verdict.checked ?? 0) anchors, head \(verdict.head)")
    }
}
