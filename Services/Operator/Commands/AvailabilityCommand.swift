// `trackme sos availability`: how often a test emergency got through the whole chain.

import ArgumentParser
import Contracts

struct AvailabilityCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "availability", abstract: "Shows how available the way from an entry to an acknowledged call was.",
        discussion: """
            Each of the two dispatchers sends a test emergency through the whole chain every ten seconds: recorded at ingest, judged, \
            dispatched, acknowledged. What was due while a dispatcher was down counts as missed. A person is served as long as one of the \
            two gets through, so the suite's availability is at least the better figure. 99.99 % is promised (NFR-05).

            Example: trackme sos availability --days 30

            \(ExitStatus.documentation)
            """)

    @Option(help: "How many days back, 1 to 90.")
    var days: Int64 = 30
    @OptionGroup var suite: SuiteOptions

    func validate() throws {
        guard (1...90).contains(days) else { throw ValidationError("--days must be from 1 to 90") }
    }

    func run() async throws {
        try await reportingErrors {
            let lines = try await SuiteConnection.with(suite.layout) { connection in
                var lines: [String] = []
                var failure: OperatorError?
                for peer in [Peer.sosDispatcher, .sosDeputy] {
                    do throws(OperatorError) {
                        lines.append(AvailabilityText.line(try await connection.ask(ReadAvailability(hours: days * 24), at: peer)))
                    } catch {
                        failure = error
                        lines.append("\(peer.name.padded(to: 14))  does not answer")
                    }
                }
                // Both silent: the suite does not run.
                if let failure, lines.allSatisfy({ $0.hasSuffix("does not answer") }) { throw failure }
                return lines
            }
            for line in lines { Console.shared.line(line) }
        }
    }
}

enum AvailabilityText {
    static func line(_ reply: ReadAvailability.Reply) -> String {
        let name = reply.dispatcher.name.padded(to: 14)
        let total = reply.ok + reply.late + reply.missed
        guard total > 0, let since = reply.since else { return "\(name)  no test emergency yet" }
        let counts = "\(reply.ok) of \(total) in time, \(reply.late) late, \(reply.missed) missed"
        let uncounted = reply.uncounted.flatMap { $0 > 0 ? ", \($0) not stored: its disk is full or fails" : nil } ?? ""
        return "\(name)  \(percent(reply.ok, of: total)) %  \(counts), since \(since.rfc3339), last: \(reply.last ?? "none")\(uncounted)"
    }

    /// Three places, rounded down: 99.99 is not 100.
    static func percent(_ part: Int, of total: Int) -> String {
        let thousandths = part * 100_000 / max(1, total)
        let fraction = String(thousandths % 1000)
        return "\(thousandths / 1000)." + String(repeating: "0", count: 3 - fraction.count) + fraction
    }
}
