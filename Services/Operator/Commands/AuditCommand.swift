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
            Each row's hash covers the row before it: a changed, removed or inserted row is found and named. Keep the head that is \
            printed elsewhere: it proves later that nothing was cut off the end. --file checks a stopped service's copy without the suite.

            Example: trackme audit verify
            Example: trackme audit verify --file backup/sos-dispatcher.db

            \(ExitStatus.documentation)
            """)

    @Option(help: ArgumentHelp("A copy of sos-dispatcher.db that no service has open.", valueName: "copy.db"))
    var file: String?

    @OptionGroup var suite: SuiteOptions

    /// Recomputing a long chain takes longer than other questions.
    private static let patience = Duration.seconds(60)

    func run() async throws {
        try await reportingErrors {
            let verdict: VerifyAudit.Reply
            if let file {
                verdict = try AuditFile.verify(URL(fileURLWithPath: file))
            } else {
                verdict = try await SuiteConnection.with(suite.layout) { connection in
                    // A quick question first: whether anybody is there must not take a minute to find out.
                    _ = try await connection.ask(ListEmergencies(person: nil, limit: 1))
                    return try await connection.ask(VerifyAudit(), deadline: VerifyAuditCommand.patience)
                }
            }
            guard let broken = verdict.firstBroken else {
                Console.shared.line("audit ok: \(verdict.rows) rows, head \(verdict.head)")
                return
            }
            throw OperatorError(
                .failed, "the audit chain is broken at row \(broken) of \(verdict.rows)",
                mend: "someone or something changed the file: keep a copy of it, and compare with backups from before")
        }
    }
}
