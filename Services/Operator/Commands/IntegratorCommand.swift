// `trackme integrator`: who is called in an emergency.

import ArgumentParser
import Contracts
import Foundation

struct IntegratorCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "integrator", abstract: "Registers the emergency services that are called.",
        discussion: """
            An emergency goes to the integrator in whose area the person is: the smallest area first, then those without an area, then the \
            nearest. One that refuses is followed by the next at once. The integrator of the dispatcher's settings (TRACKME_SOS_WEBHOOK_URL) \
            is responsible everywhere.
            """,
        subcommands: [
            AddIntegratorCommand.self, ListIntegratorsCommand.self, ShowIntegratorCommand.self, RemoveIntegratorCommand.self,
            RotateIntegratorCommand.self,
        ])
}

struct AddIntegratorCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "add", abstract: "Registers an integrator and shows its secrets once.",
        discussion: """
            Hand the webhook secret and the token over on a safe way; docs/integrators tells the other side what to do with them. \
            --replace changes what is known of one and keeps its secrets, also of one that was removed; without it one that was removed gets \
            new ones.

            Example: trackme integrator add milan --circle 45.4642,9.19,30 --url https://desk.example.org/sos --number +39021234567
            Example: trackme integrator add italy --polygon "47,6 47,14 36,19 36,6" --url https://italy.example.org/sos --format cap

            \(ExitStatus.documentation)
            """)

    @Argument(help: "Its name: 1 to 32 lower-case letters, digits and hyphens.")
    var name: String
    // Unconditional: a place in the south or west begins with a minus.
    @Option(
        parsing: .unconditional, help: ArgumentHelp("Responsible around a place.", valueName: "lat,lon,km"),
        transform: { try AreaArgument.circle($0) })
    var circle: ServiceArea?
    @Option(
        parsing: .unconditional, help: ArgumentHelp("Responsible within these corners, in order.", valueName: "lat,lon lat,lon …"),
        transform: { try AreaArgument.polygon($0) })
    var polygon: ServiceArea?
    @Option(help: ArgumentHelp("Where it takes messages.", valueName: "address"))
    var url: String?
    @Option(help: ArgumentHelp("Tried at once if the first fails, else after 0.7 s.", valueName: "address"))
    var secondURL: String?
    @Option(help: "Form of the messages: json (dispatch/1) or cap (CAP 1.2).")
    var format = IntegratorSettings.Format.json
    @Option(help: ArgumentHelp("Where texts go, and from where they are believed.", valueName: "+39…"))
    var number: String?
    @Option(help: "What is spoken there: it or en.")
    var language: Language = .english
    @Option(help: "Among equals the lower one is called first, 0 to 1000.")
    var priority = 100
    @Option(help: ArgumentHelp("Key that its answers may be signed with.", valueName: "whpk_…"))
    var answerKey: String?
    @Option(
        help: ArgumentHelp("Peer that hears dispatch.NAME and asks acknowledge-dispatch; see `trackme keys add-peer`.", valueName: "peer"))
    var peer: String?
    @Option(help: ArgumentHelp("A test emergency every so many hours.", valueName: "hours"))
    var drillEvery: Double?
    @Flag(help: "It may be there already: its secrets stay.")
    var replace = false
    @OptionGroup var suite: SuiteOptions

    func validate() throws {
        guard circle == nil || polygon == nil else { throw ValidationError("an area is a --circle or a --polygon") }
        guard drillEvery?.isFinite ?? true else { throw ValidationError("--drill-every is 0.01 to 8760 hours") }
    }

    func run() async throws {
        try await reportingErrors {
            let settings = IntegratorSettings(
                name: name, area: circle ?? polygon ?? ServiceArea(), url: url, secondURL: secondURL, format: format, number: number,
                language: language, priority: priority, answerKey: answerKey, peer: peer, drillEveryHours: drillEvery)
            let reply = try await SuiteConnection.with(suite.layout) {
                try await $0.ask(AddIntegrator(settings: settings, replaces: replace))
            }
            Console.shared.line("secret  \(reply.webhookSecret)\ntoken   \(reply.token)\nkey     \(reply.publicKey)")
            Console.shared.complain("Secret and token are for \(name) alone.")
        }
    }
}

/// Areas as they are typed.
enum AreaArgument {
    static func circle(_ text: String) throws -> ServiceArea {
        let numbers = text.split(separator: ",").compactMap { Double($0.trimmingCharacters(in: .whitespaces)) }
        guard numbers.count == 3, numbers.allSatisfy(\.isFinite), text.split(separator: ",").count == 3 else {
            throw ValidationError("a circle is latitude,longitude,kilometres: 45.4642,9.19,30")
        }
        return ServiceArea(circle: .init(centre: .init(latitude: numbers[0], longitude: numbers[1]), radiusKm: numbers[2]))
    }

    static func polygon(_ text: String) throws -> ServiceArea {
        let corners = try text.split(whereSeparator: \.isWhitespace).map { corner in
            let numbers = corner.split(separator: ",").compactMap { Double($0) }
            guard numbers.count == 2, numbers.allSatisfy(\.isFinite) else {
                throw ValidationError("a polygon is corners of latitude,longitude: \"47,6 47,14 36,19\"")
            }
            return ServiceArea.Corner(latitude: numbers[0], longitude: numbers[1])
        }
        // CAP repeats the first corner at the end; here that is understood.
        return ServiceArea(polygon: corners.count > 3 && corners.first == corners.last ? Array(corners.dropLast()) : corners)
    }

    static func described(_ area: ServiceArea) -> String {
        if let circle = area.circle { return "\(circle.radiusKm) km around \(circle.centre.latitude),\(circle.centre.longitude)" }
        if let polygon = area.polygon { return polygon.map { "\($0.latitude),\($0.longitude)" }.joined(separator: " ") }
        return "everywhere"
    }
}

struct ListIntegratorsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "Lists the integrators, those first that are asked when nobody knows where the person is.",
        discussion: "Example: trackme integrator list\n\n\(ExitStatus.documentation)")

    @OptionGroup var suite: SuiteOptions

    func run() async throws {
        try await reportingErrors {
            let reply = try await SuiteConnection.with(suite.layout) { try await $0.ask(ListIntegrators()) }
            for entry in reply.integrators {
                let state = entry.isRetired ? "removed" : entry.isConfigured ? "of the settings" : "registered"
                Console.shared.line(
                    "\(entry.settings.name.padded(to: 32))  \(state.padded(to: 15))  \(AreaArgument.described(entry.settings.area))")
            }
        }
    }
}

struct ShowIntegratorCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show", abstract: "Shows what is known of an integrator, without its secrets.",
        discussion: "Example: trackme integrator show milan\n\n\(ExitStatus.documentation)")

    @Argument(help: "Its name.")
    var name: String
    @OptionGroup var suite: SuiteOptions

    func run() async throws {
        try await reportingErrors {
            let reply = try await SuiteConnection.with(suite.layout) { try await $0.ask(ListIntegrators()) }
            guard let entry = reply.integrators.first(where: { $0.settings.name == name }) else {
                throw OperatorError(.failed, "there is no integrator \(name)", mend: "`trackme integrator list` shows them")
            }
            let settings = entry.settings
            let rows: [(String, String?)] = [
                ("area", AreaArgument.described(settings.area)), ("endpoint", settings.url), ("second", settings.secondURL),
                ("format", settings.format.rawValue), ("number", settings.number), ("language", settings.language.rawValue),
                ("priority", String(settings.priority)), ("answer key", settings.answerKey), ("peer", settings.peer),
                ("stream", settings.peer.map { _ in StreamFamily.dispatchesName(to: settings.name) }),
                ("stream port", settings.peer == nil ? nil : entry.streamPort.map(String.init)),
                ("drill", settings.drillEveryHours.map { "every \($0) h" }), ("removed", entry.isRetired ? "yes" : nil),
            ]
            for (title, value) in rows {
                if let value { Console.shared.line("\(title.padded(to: 12))  \(value)") }
            }
        }
    }
}

struct RemoveIntegratorCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove", abstract: "Takes an integrator out of the choice.",
        discussion: """
            Emergencies that it was called for are brought to their end with it, cancels included. Where it is being called and has not \
            answered, the next one is called within a second.

            Example: trackme integrator remove milan

            \(ExitStatus.documentation)
            """)

    @Argument(help: "Its name.")
    var name: String
    @OptionGroup var suite: SuiteOptions

    func run() async throws {
        try await reportingErrors {
            _ = try await SuiteConnection.with(suite.layout) { try await $0.ask(RemoveIntegrator(name: name)) }
            Console.shared.line("\(name) gets no new emergencies")
        }
    }
}

struct RotateIntegratorCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rotate", abstract: "Makes a new webhook secret or token and shows it once.",
        discussion: """
            The webhook secret before the new one goes on signing beside it until the next change; an old token is refused at once, \
            by the other dispatcher within about a second.

            Example: trackme integrator rotate milan secret

            \(ExitStatus.documentation)
            """)

    @Argument(help: "Its name.")
    var name: String
    @Argument(help: "secret or token.")
    var part: RotateIntegrator.Part
    @OptionGroup var suite: SuiteOptions

    func run() async throws {
        try await reportingErrors {
            let reply = try await SuiteConnection.with(suite.layout) { try await $0.ask(RotateIntegrator(name: name, part: part)) }
            Console.shared.line(reply.value)
        }
    }
}

extension IntegratorSettings.Format: ExpressibleByArgument {}
extension RotateIntegrator.Part: ExpressibleByArgument {}
