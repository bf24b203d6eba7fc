// The operator's tool: every command is a file in `Commands/`.

import ArgumentParser

@main
struct TrackMe: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "trackme",
        abstract: "Runs, checks and tries a TrackMe suite.",
        discussion: """
            Start everything on this machine with `trackme up`, then, in another terminal, `trackme simulate` sends vital signs and \
            `trackme desk` receives emergencies. `trackme demo` does all of it by itself in under a minute.

            \(ExitStatus.documentation)
            """,
        subcommands: [
            Up.self, Watch.self, Demo.self, Sandbox.self, Doctor.self, Keys.self, DeviceCommand.self, OperatorCommand.self, SOSCommand.self,
            AuditCommand.self, IntegratorCommand.self, DrillCommand.self, OrganisationCommand.self, PricesCommand.self, PaymentCommand.self,
            ConsumersCommand.self, JobsCommand.self, Replay.self, Simulate.self, Desk.self,
        ])
}
