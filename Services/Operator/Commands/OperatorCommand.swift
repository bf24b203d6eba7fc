// `trackme operator`: who runs the suite and may log in for it, and who is logged out.

import ArgumentParser
import Contracts

struct OperatorCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "operator", abstract: "Makes log-ins for those who run the suite; they see no health data.",
        subcommands: [AddOperatorCommand.self, LogOutCommand.self])
}

struct AddOperatorCommand: RequestCommand {
    static let configuration = CommandConfiguration(
        commandName: "add", abstract: "Makes a log-in for an operator and shows its temporary password once.",
        discussion: """
            The password is mailed too, where the notifier can send mail. It is good for the first log-in, at which another one must be \
            chosen. For an address that is an operator's already a new temporary password is made, and its sessions end.

            Example: trackme operator add chiara@example.org --language it

            \(ExitStatus.documentation)
            """)

    /// A password is hashed on the way, perhaps behind others.
    static let timeout = Duration.seconds(10)

    @Argument(help: ArgumentHelp("The operator's e-mail address.", valueName: "email"))
    var email: String

    @Option(help: "In which language they are written to: it or en.")
    var language: Language = .english

    @Flag(help: "Print one JSON object with operator and temporaryPassword.")
    var json = false

    @OptionGroup var suite: SuiteOptions

    var request: MakeOperator { MakeOperator(email: email, language: language) }

    func show(_ made: MakeOperator.Reply) throws {
        guard !json else { return try Console.shared.json(made) }
        Console.shared.line("operator  \(made.operator)\npassword  \(made.temporaryPassword)")
        Console.shared.complain("The password is shown this once; another one must be chosen at the first log-in.")
    }
}

struct LogOutCommand: RequestCommand {
    static let configuration = CommandConfiguration(
        commandName: "log-out", abstract: "Ends the sessions of one account, of any kind, or of everybody.",
        discussion: """
            At once, in every service. Devices go on delivering, and AutomatedSOS goes on. Whoever is logged out may log in again.

            Example: trackme operator log-out anna@example.org
            Example: trackme operator log-out --everybody

            \(ExitStatus.documentation)
            """)

    @Argument(help: ArgumentHelp("The account's e-mail address.", valueName: "email"))
    var email: String?

    @Flag(help: "Ends every session there is.")
    var everybody = false

    @OptionGroup var suite: SuiteOptions

    var request: EndSessions { EndSessions(email: email) }

    func validate() throws {
        guard (email == nil) == everybody else { throw ValidationError("name an address, or say --everybody") }
    }

    func show(_ reply: EndSessions.Reply) throws {
        Console.shared.line("\(reply.sessions) sessions ended")
    }
}

extension Language: ExpressibleByArgument {}
