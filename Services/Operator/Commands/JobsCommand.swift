// `trackme jobs`: what services have still to do, and what they have given up.

import ArgumentParser
import Contracts
import ServiceKit

struct JobsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "jobs", abstract: "Shows what services have still to do, and lets them try again what they gave up.",
        discussion: """
            A job is what a service has decided and somebody else has to hear: a message for the notifier, the end of a log-in. It is tried \
            until it succeeds. What cannot succeed (the other side refuses it for good, its deadline has passed, it cannot be opened) is \
            given up and kept for 30 days as a dead letter: look at its code, mend the cause, and resend it.
            """, subcommands: [ListJobsCommand.self, ResendJobsCommand.self], defaultSubcommand: ListJobsCommand.self)

    /// Names a service that has jobs.
    static func peer(_ name: String) throws -> Peer {
        guard let peer = ListJobs.answerers.first(where: { $0.name == name }) else {
            throw ValidationError("--service must be one of \(ListJobs.answerers.map(\.name).sorted().joined(separator: ", "))")
        }
        return peer
    }
}

struct ListJobsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "Counts jobs by service and kind, and lists dead letters.",
        discussion: """
            A dead letter's line has its service, number, kind, the code of its last failure, its attempts and its age. Codes: invalid (the \
            other side cannot take it), conflict (it contradicts what is already so), deadline (it was too late), unreadable (its seal \
            cannot be opened: was a key replaced?). Neither content nor people are shown.

            Example: trackme jobs --service consent

            \(ExitStatus.documentation)
            """)

    @Option(help: ArgumentHelp("This service alone.", valueName: "peer"))
    var service: String?
    @Flag(help: "Print one JSON object per service.")
    var json = false
    @OptionGroup var suite: SuiteOptions

    func validate() throws {
        if let service { _ = try JobsCommand.peer(service) }
    }

    func run() async throws {
        try await reportingErrors {
            let peers = try service.map { [try JobsCommand.peer($0)] } ?? Peer.suite.filter { ListJobs.answerers.contains($0) }
            try await SuiteConnection.with(suite.layout) { connection in
                var last: OperatorError?
                for peer in peers {
                    do throws(OperatorError) {
                        show(try await Self.all(of: peer, by: connection), of: peer)
                    } catch {
                        // The others may still answer.
                        Console.shared.complain("\(error)")
                        last = error
                    }
                }
                if let last { throw last.status.code }
            }
        }
    }

    private static func all(of peer: Peer, by connection: SuiteConnection) async throws(OperatorError) -> ListJobs.Reply {
        var whole = try await connection.jobs(ListJobs(), at: peer)
        while let next = whole.next {
            let page = try await connection.jobs(ListJobs(after: next), at: peer)
            whole.dead += page.dead
            whole.next = page.next
        }
        return whole
    }

    private struct Line: Encodable {
        var service: String
        var kinds: [ListJobs.Kind]
        var dead: [ListJobs.Dead]
    }

    private func show(_ reply: ListJobs.Reply, of peer: Peer) {
        if json {
            try? Console.shared.json(Line(service: peer.name, kinds: reply.kinds, dead: reply.dead))
            return
        }
        for kind in reply.kinds {
            let oldest = kind.oldest.map { ", the oldest \(Self.age($0))" } ?? ""
            Console.shared.line(
                "\(peer.name.padded(to: 20))\(kind.kind.padded(to: 20))\(kind.waiting) waiting\(oldest), \(kind.dead) dead")
        }
        for dead in reply.dead {
            Console.shared.line(
                "\(peer.name.padded(to: 20))\(dead.kind.padded(to: 20))dead letter \(dead.job)  \(dead.error.padded(to: 12))"
                    + "\(dead.attempts) attempts, dead for \(Self.age(dead.deadAt))")
        }
    }

    private static func age(_ since: Timestamp) -> String {
        let seconds = max(0, (Timestamp.now - since).components.seconds)
        return switch seconds {
        case ..<120: "\(seconds) s"
        case ..<7200: "\(seconds / 60) min"
        case ..<172_800: "\(seconds / 3600) h"
        default: "\(seconds / 86_400) days"
        }
    }
}

struct ResendJobsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "resend", abstract: "Lets a service try dead letters again.",
        discussion: """
            As if they had never been tried; one that fails for good again is a dead letter again. Mend the cause first.

            Examples: trackme jobs resend 4711 --service consent
                      trackme jobs resend --all --service thirdparty-gateway

            \(ExitStatus.documentation)
            """)

    @Argument(help: "The dead letter's number; `trackme jobs` shows it.")
    var number: Int64?
    @Flag(help: "All dead letters of the service.")
    var all = false
    @Option(help: ArgumentHelp("The service that gave it up.", valueName: "peer"))
    var service: String
    @OptionGroup var suite: SuiteOptions

    func validate() throws {
        _ = try JobsCommand.peer(service)
        guard (number != nil) != all else { throw ValidationError("name a dead letter's number, or --all") }
    }

    func run() async throws {
        try await reportingErrors {
            let peer = try JobsCommand.peer(service)
            let reply = try await SuiteConnection.with(suite.layout) { try await $0.resend(ResendJobs(job: number), at: peer) }
            guard reply.resent > 0 || all else {
                throw OperatorError(
                    .failed, "\(service) has no dead letter \(number ?? 0)", mend: "see `trackme jobs --service \(service)`")
            }
            Console.shared.line("\(service) tries \(reply.resent) again")
        }
    }
}
