// `trackme sos`: supervision and emergencies.

import ArgumentParser
import Contracts

struct SOSCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sos", abstract: "Supervises people and shows emergencies.",
        subcommands: [
            SubscribeCommand.self, UnsubscribeCommand.self, PauseCommand.self, ResumeCommand.self, AnswerCommand.self, ListCommand.self,
            TimelineCommand.self, AcknowledgeCommand.self, AvailabilityCommand.self,
        ])
}

struct SubscribeCommand: RequestCommand {
    static let configuration = CommandConfiguration(
        commandName: "subscribe", abstract: "Starts supervision of a person, or changes the person's own bounds.",
        discussion: """
            The clauses must have been shown to the person and accepted: thresholds assume no illness that alters the heart rate; who \
            has one sets own bounds with a doctor. Without --bound the defaults hold: heart rate 45 to 120 a minute, blood pressure 170/100.

            Example: trackme sos subscribe per_01h2… --accept-clauses --bound heart-rate=50:110

            \(ExitStatus.documentation)
            """)

    @Argument(help: ArgumentHelp("The person.", valueName: "per_…"))
    var person: PersonID

    @Flag(help: "The person has seen and accepted the clauses.")
    var acceptClauses = false

    @Option(
        name: .customLong("bound"), parsing: .singleValue,
        help: ArgumentHelp(
            "Own bounds of one metric; one end may be left out (glucose=:250). May be repeated.", valueName: "metric=low:high"),
        transform: { try BoundArgument(parsing: $0) })
    var bounds: [BoundArgument] = []

    @OptionGroup var suite: SuiteOptions

    func validate() throws {
        guard acceptClauses else {
            throw ValidationError("without accepted clauses nobody is supervised: show them to the person, then add --accept-clauses")
        }
        guard Set(bounds.map(\.metric)).count == bounds.count else { throw ValidationError("a metric has two --bound") }
    }

    var request: SubscribePerson {
        let own = Dictionary(uniqueKeysWithValues: bounds.map { ($0.metric.code, $0.bounds) })
        return SubscribePerson(person: person, clausesAccepted: acceptClauses, bounds: own)
    }

    func show(_: SubscribePerson.Reply) {
        Console.shared.line("\(person) is supervised")
    }
}

struct UnsubscribeCommand: RequestCommand {
    static let configuration = CommandConfiguration(
        commandName: "unsubscribe", abstract: "Ends supervision at once; a running emergency is still completed.",
        discussion: "Example: trackme sos unsubscribe per_01h2…\n\n\(ExitStatus.documentation)")

    @Argument(help: ArgumentHelp("The person.", valueName: "per_…"))
    var person: PersonID
    @OptionGroup var suite: SuiteOptions

    var request: UnsubscribePerson { UnsubscribePerson(person: person) }

    func show(_: UnsubscribePerson.Reply) {
        Console.shared.line("\(person) is not supervised any more")
    }
}

struct PauseCommand: RequestCommand {
    static let configuration = CommandConfiguration(
        commandName: "pause", abstract: "Pauses supervision: no emergency is detected until `resume`.",
        discussion: "Example: trackme sos pause per_01h2…\n\n\(ExitStatus.documentation)")

    @Argument(help: ArgumentHelp("The person.", valueName: "per_…"))
    var person: PersonID
    @OptionGroup var suite: SuiteOptions

    var request: PauseSupervision { PauseSupervision(person: person, paused: true) }

    func show(_: PauseSupervision.Reply) {
        Console.shared.line("supervision of \(person) is paused: no emergency will be detected")
    }
}

struct ResumeCommand: RequestCommand {
    static let configuration = CommandConfiguration(
        commandName: "resume", abstract: "Resumes paused supervision.",
        discussion: "Example: trackme sos resume per_01h2…\n\n\(ExitStatus.documentation)")

    @Argument(help: ArgumentHelp("The person.", valueName: "per_…"))
    var person: PersonID
    @OptionGroup var suite: SuiteOptions

    var request: PauseSupervision { PauseSupervision(person: person, paused: false) }

    func show(_: PauseSupervision.Reply) {
        Console.shared.line("\(person) is supervised again")
    }
}

struct AnswerCommand: RequestCommand {
    static let configuration = CommandConfiguration(
        commandName: "answer", abstract: "Gives a person's answer to the prompt.",
        discussion: """
            fine: no call in this episode. help: the call is made at once. false-alarm: a call that went out is cancelled. \
            help-is-here: the ambulance has arrived.

            Example: trackme sos answer per_01h2… fine

            \(ExitStatus.documentation)
            """)

    @Argument(help: ArgumentHelp("The person.", valueName: "per_…"))
    var person: PersonID
    @Argument(help: "fine, help, false-alarm or help-is-here.")
    var answer: AnswerPrompt.Answer
    @OptionGroup var suite: SuiteOptions

    var request: AnswerPrompt { AnswerPrompt(person: person, answer: answer) }

    func show(_ reply: AnswerPrompt.Reply) {
        let emergency = reply.emergency.map { "emergency \($0)" } ?? "no emergency"
        Console.shared.line("\(emergency); the call had \(reply.alreadyDispatched ? "already" : "not") gone out")
    }
}

extension AnswerPrompt.Answer: ExpressibleByArgument {}

struct ListCommand: RequestCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "Lists emergencies, newest first.",
        discussion: "Example: trackme sos list --person per_01h2… --limit 10\n\n\(ExitStatus.documentation)")

    @Option(help: ArgumentHelp("Only this person's.", valueName: "per_…"))
    var person: PersonID?
    @Option(help: "At most so many, 1 to 1000.")
    var limit = 100
    @OptionGroup var suite: SuiteOptions

    func validate() throws {
        guard (1...1000).contains(limit) else { throw ValidationError("--limit must be from 1 to 1000") }
    }

    var request: ListEmergencies { ListEmergencies(person: person, limit: limit) }

    func show(_ reply: ListEmergencies.Reply) {
        if reply.emergencies.isEmpty { Console.shared.line("no emergencies") }
        for entry in reply.emergencies {
            let acknowledged =
                entry.acknowledgedAt.map { "acknowledged after \(($0 - entry.t0).wholeMilliseconds) ms" } ?? "not acknowledged"
            Console.shared.line(
                "\(entry.emergency)  \(entry.person)  \(entry.t0.rfc3339)  \(entry.state.padded(to: 12))  \(acknowledged)")
        }
    }
}

struct TimelineCommand: RequestCommand {
    static let configuration = CommandConfiguration(
        commandName: "timeline", abstract: "Shows everything that happened in one emergency.",
        discussion: "Example: trackme sos timeline emg_01h2…\n\n\(ExitStatus.documentation)")

    @Argument(help: ArgumentHelp("The emergency.", valueName: "emg_…"))
    var emergency: EmergencyID
    @OptionGroup var suite: SuiteOptions

    var request: ReadTimeline { ReadTimeline(emergency: emergency) }

    func show(_ reply: ReadTimeline.Reply) {
        TimelineText.lines(reply.steps).forEach { Console.shared.line($0) }
    }
}

struct AcknowledgeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "acknowledge",
        abstract: "Ends the repetition of a call by hand: the emergency service has said otherwise that it comes.",
        discussion: """
            Two people answer for it; both names and the reason stand in the audit log for ever.

            Example: trackme sos acknowledge emg_01h2… --by "Ada Rossi" --second "Luca Bianchi" --reason "desk confirmed by telephone"

            \(ExitStatus.documentation)
            """)

    @Argument(help: ArgumentHelp("The emergency.", valueName: "emg_…"))
    var emergency: EmergencyID
    @Option(help: "Who has heard it.")
    var by: String
    @Option(help: "A second person who stands by it.")
    var second: String
    @Option(help: "How it was heard.")
    var reason: String
    @OptionGroup var suite: SuiteOptions

    func run() async throws {
        try await reportingErrors {
            _ = try await SuiteConnection.with(suite.layout) {
                try await $0.ask(AcknowledgeByHand(emergency: emergency, by: by, second: second, reason: reason))
            }
            Console.shared.line("\(emergency) is acknowledged")
        }
    }
}

/// An emergency's steps for people: time since the first, who, what.
enum TimelineText {
    static func lines(_ steps: [ReadTimeline.Step]) -> [String] {
        guard let first = steps.first?.at else { return ["nothing happened yet"] }
        return steps.map { step in
            let after = "+\(max(0, (step.at - first).wholeMilliseconds)) ms".padded(to: 10, right: true)
            return "\(step.at.rfc3339)  \(after)  \(step.actor.padded(to: 12))  \(step.event.padded(to: 20))  \(step.detail)"
        }
    }
}
