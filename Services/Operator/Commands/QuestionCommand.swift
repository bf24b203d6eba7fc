// Commands that put one question to the running suite and show its answer.

import ArgumentParser
import Contracts

/// One question of the bus as a command: what it asks, and what people read of the answer.
protocol QuestionCommand: AsyncParsableCommand {
    associatedtype Question: BusRequest

    var suite: SuiteOptions { get }
    /// Made of the arguments.
    var question: Question { get }
    /// Of each attempt; longer for a question that takes long by nature.
    static var patience: Duration { get }

    func show(_ reply: Question.Reply) throws
}

extension QuestionCommand {
    static var patience: Duration { SuiteConnection.deadline }

    func run() async throws {
        try await reportingErrors {
            try show(try await SuiteConnection.with(suite.layout) { try await $0.ask(question, deadline: Self.patience) })
        }
    }
}
