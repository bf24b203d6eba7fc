// Settings, tables and commands of the services, printed from the values that they run by.

import ArgumentParser
import Contracts
import Foundation
import Storage

@testable import Ingest
@testable import Operator
@testable import ServiceKit

extension GeneratedTables {
    // MARK: Settings

    static func settings(of folder: String) -> String {
        let rows = folder == "Shared/ServiceKit" ? ServiceFacts.sharedSettings : ServiceFacts.all.first { $0.folder == folder }?.settings
        return table(
            ["setting", "default", "allowed", "meaning"],
            (rows ?? []).map { row in
                let value = row.key == "http.port" ? "the service's own" : written(row.value)
                return [
                    "`\(SettingsReader.variable(for: row.key))`", value.isEmpty ? "none" : "`\(value)`",
                    row.allowed.replacingOccurrences(of: "(\\d)\\.0\\b", with: "$1", options: .regularExpression), row.meaning,
                ]
            })
    }

    /// Without what depends on the machine: numbers to six digits, paths from the working directory on.
    private static func written(_ value: String) -> String {
        if let number = Double(value) { return String(format: "%.10g", (number * 1e6).rounded() / 1e6) }
        let here = FileManager.default.currentDirectoryPath + "/"
        return value.hasPrefix(here) ? String(value.dropFirst(here.count)) : value
    }

    // MARK: Tables

    static func tables(of folder: String) -> String {
        guard let stores = ServiceFacts.all.first(where: { $0.folder == folder })?.stores else { return "" }
        return (stores + [ServiceFacts.keys]).map { store in
            "`\(store.file)`\n\n"
                + table(
                    ["table", "holds", "kept", "when its person is erased"],
                    store.notes.map { note in
                        [note.names.map { "`\($0)`" }.joined(separator: ", "), note.holds, note.kept, note.erasure.rawValue]
                    })
        }.joined(separator: "\n")
    }

    // MARK: Commands

    /// What one types for `command`, and the command.
    private typealias Named = (path: String, command: any ParsableCommand.Type)

    private static func subcommands(of parent: Named) -> [Named] {
        parent.command.configuration.subcommands.filter { $0.configuration.shouldDisplay }
            .map { ("\(parent.path) \($0._commandName)", $0) }
    }

    private static var trackMe: Named { ("trackme", TrackMe.self) }

    /// Every command of the operator's tool that does something.
    static func commands() -> String {
        func leaves(_ parent: Named) -> [Named] {
            let children = subcommands(of: parent)
            return children.isEmpty ? [parent] : children.flatMap(leaves)
        }
        return table(["command", "what it does"], leaves(trackMe).map { ["`\($0.path)`", $0.command.configuration.abstract] })
    }

    /// What `--help` says of every command and of the services.
    static func manual() -> String {
        let service = ServiceCommand<IngestAssembly>.helpMessage(includeHidden: false, columns: columns)
        return ExitStatus.documentation + "\n"
            + subcommands(of: trackMe).map(section).joined()
            + "\n## A service: `" + ServiceFacts.all.map(\.product).joined(separator: "`, `") + "`\n\n" + screen(service)
    }

    private static let columns = 120

    private static func section(_ named: Named) -> String {
        let children = subcommands(of: named)
        guard !children.isEmpty else { return "\n## `\(named.path)`\n\n" + help(named) }
        let configuration = named.command.configuration
        let text = [configuration.abstract, configuration.discussion].filter { !$0.isEmpty }.joined(separator: "\n\n")
        return "\n## `\(named.path)`\n\n" + withoutExitCodes(text) + "\n"
            + children.map { "\n### `\($0.path)`\n\n" + help($0) }.joined()
    }

    private static func help(_ named: Named) -> String {
        screen(TrackMe.helpMessage(for: named.command, includeHidden: false, columns: columns))
    }

    private static func screen(_ help: String) -> String {
        "```text\n" + withoutExitCodes(help).trimmingCharacters(in: .whitespacesAndNewlines) + "\n```\n"
    }

    /// They are the same for all, and stand at the top.
    private static func withoutExitCodes(_ text: String) -> String {
        text.replacingOccurrences(of: "\n\n" + ExitStatus.documentation, with: "")
    }
}

extension GeneratedTables {
    // MARK: Ports

    /// Where everything listens.
    static func ports() -> String {
        let http = ServiceFacts.all.flatMap(\.places).map { place in
            (place.httpPort, "127.0.0.1", "\(place.peer), plain HTTP behind the edge")
        }
        let requests = Peer.suite.compactMap { peer in
            peer.tcpPort.map { ($0, "all addresses, with TCP only", "requests to \(peer)") }
        }
        let streams = StreamFamily.all.map { ($0.tcpPort, "all addresses, with TCP only", "\($0.owner): `\($0.name)`") }
        return table(
            ["port", "on", "what"], (http + requests + streams).sorted { $0.0 < $1.0 }.map { ["\($0.0)", $0.1, $0.2] })
    }
}
