// Commands that send one request to the running suite and show its reply.

import ArgumentParser
import Contracts

/// One request of the bus as a command, and what people read of its reply.
protocol RequestCommand: AsyncParsableCommand {
    associatedtype Request: BusRequest

    var suite: SuiteOptions { get }
    /// Made of the arguments.
    var request: Request { get }
    /// Of each attempt; longer for a request that takes long by nature.
    static var timeout: Duration { get }

    func show(_ reply: Request.Reply) throws
}

extension RequestCommand {
    static var timeout: Duration { SuiteConnection.deadline }

    func run() async throws {
        try await reportingErrors {
            try show(try await SuiteConnection.with(suite.layout) { try await $0.ask(request, deadline: Self.timeout) })
        }
    }
}
