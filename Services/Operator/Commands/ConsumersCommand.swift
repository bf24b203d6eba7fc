// `trackme consumers`: who follows a service's streams.

import ArgumentParser
import Contracts

struct ConsumersCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "consumers", abstract: "Releases what streams keep for consumers that are gone.",
        subcommands: [ForgetConsumerCommand.self])
}

struct ForgetConsumerCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "forget", abstract: "Lets a service's log forget a consumer that is gone for good.",
        discussion: """
            A stream's log keeps every fact until the suite's own consumers have confirmed it. One that is not run any more would keep \
            it for ever. One that was there within 15 s is forgotten only with --even-running. If it returns after this it starts like a \
            newcomer: it misses what was said meanwhile.

            A dispatcher that was put back from a copy asks the other one, each second, for what it has forgotten by that, and waits a \
            moment for it at each start. Where that one is gone for good, this ends both; calls never wait for it.

            Examples: trackme consumers forget sos-dispatcher --of ingest
                      trackme consumers forget sos-deputy --of sos-dispatcher

            \(ExitStatus.documentation)
            """)

    @Argument(help: "The consumer's peer name.")
    var name: String

    @Option(name: .customLong("of"), help: ArgumentHelp("The service whose streams it followed.", valueName: "peer"))
    var owner: String

    @Flag(help: "It may run still.")
    var evenRunning = false

    @OptionGroup var suite: SuiteOptions

    func validate() throws {
        let publishers = Set(StreamFamily.all.map(\.owner.name))
        guard publishers.contains(owner) else {
            throw ValidationError("--of must be one of \(publishers.sorted().joined(separator: ", "))")
        }
    }

    func run() async throws {
        try await reportingErrors {
            let request = ForgetConsumer(consumer: Peer(name), evenRunning: evenRunning ? true : nil)
            let reply = try await SuiteConnection.with(suite.layout) { try await $0.forget(request, at: Peer(owner)) }
            Console.shared.line(
                reply.wasForgotten ?? false
                    ? "\(owner) had forgotten \(name) before and keeps nothing for it" : "\(owner) keeps nothing for \(name) any more")
        }
    }
}
