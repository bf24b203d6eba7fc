// `trackme device`: which devices may deliver.

import ArgumentParser
import Contracts

struct DeviceCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "device", abstract: "Adds and revokes people's devices.",
        subcommands: [AddDeviceCommand.self, RevokeDeviceCommand.self])
}

struct AddDeviceCommand: RequestCommand {
    static let configuration = CommandConfiguration(
        commandName: "add", abstract: "Gives a person one more device and shows its token once.",
        discussion: """
            Without --person a new person is made. The token is what the device sends with each upload; it cannot be shown again.

            Example: trackme device add --name "Left wrist" --interval 1s --json > watch.json

            \(ExitStatus.documentation)
            """)

    /// Longest name that ingest takes.
    private static let nameCharacters = 64

    @Option(help: ArgumentHelp("Whose device it is; default: a new person.", valueName: "per_…"))
    var person: PersonID?

    @Option(help: "What the person calls it; at most 64 characters.")
    var name = "device"

    @Option(help: ArgumentHelp("How often it measures, such as 1s; sets which silence is a loss.", valueName: "duration"))
    var interval: SpokenDuration?

    @Flag(help: "Print one JSON object with person, device and token.")
    var json = false

    @OptionGroup var suite: SuiteOptions

    func validate() throws {
        guard !name.isEmpty, name.count <= AddDeviceCommand.nameCharacters else {
            throw ValidationError("--name must have 1 to \(AddDeviceCommand.nameCharacters) characters")
        }
    }

    var request: AddDevice { AddDevice(person: person, name: name, intervalMs: interval?.duration.wholeMilliseconds) }

    func show(_ added: AddDevice.Reply) throws {
        guard !json else { return try Console.shared.json(added) }
        Console.shared.line("person  \(added.person)\ndevice  \(added.device)\ntoken   \(added.token)")
        Console.shared.complain(
            "The token is shown this once. Supervise the person: trackme sos subscribe \(added.person) --accept-clauses")
    }
}

struct RevokeDeviceCommand: RequestCommand {
    static let configuration = CommandConfiguration(
        commandName: "revoke", abstract: "Ends a device's right to deliver; what it delivered stays.",
        discussion: "Example: trackme device revoke dev_01h2…\n\n\(ExitStatus.documentation)")

    @Argument(help: ArgumentHelp("The device.", valueName: "dev_…"))
    var device: DeviceID

    @OptionGroup var suite: SuiteOptions

    var request: RevokeDevice { RevokeDevice(device: device) }

    func show(_: RevokeDevice.Reply) {
        Console.shared.line("\(device) may not deliver any more")
    }
}

extension SpokenDuration: ExpressibleByArgument {
    init?(argument: String) {
        self.init(argument)
    }
}
