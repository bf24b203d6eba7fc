// What `trackme up` shows: every part's lines under its name, the supervisor's own notices, and where everything is once it is ready.

import Contracts
import Foundation

struct SupervisorScreen: Sendable {
    let layout: SuiteLayout
    let ports: SuitePorts
    let hasEdge: Bool
    /// Where emergency calls go.
    let calls: String
    private let names: [String]
    private let width: Int

    private static let colours = [36, 35, 33, 32, 34]

    init(layout: SuiteLayout, ports: SuitePorts, names: [String], hasEdge: Bool, calls: String) {
        (self.layout, self.ports, self.names, self.hasEdge, self.calls) = (layout, ports, names, hasEdge, calls)
        width = (names + ["trackme"]).map(\.count).max() ?? 0
    }

    func line(_ name: String, _ text: String) {
        let shown = Console.shared.isTerminal ? LogLineForPeople.text(text) : text
        Console.shared.line("\(head(name)) \(shown)")
    }

    private func head(_ name: String) -> String {
        let plain = name.padded(to: width) + " |"
        guard Console.shared.isTerminal, let index = names.firstIndex(of: name) else { return plain }
        return "\u{1B}[\(SupervisorScreen.colours[index % SupervisorScreen.colours.count])m\(plain)\u{1B}[0m"
    }

    func notice(_ notice: SupervisorNotice) {
        for text in SupervisorScreen.words(notice, addresses: addresses) { line("trackme", text) }
    }

    static func words(_ notice: SupervisorNotice, addresses: [String] = []) -> [String] {
        switch notice {
        case .everythingIsReady: ["", "TrackMe is ready."] + addresses
        case .readyWithout(let names): ["", "TrackMe runs WITHOUT \(names.joined(separator: ", ")); why is said above."] + addresses
        case .unready(let names):
            ["", "TrackMe runs, NOT READY: \(names.joined(separator: ", ")); `/health/ready` of each says what is missing."] + addresses
        case .restarting(let name, let status): ["\(name) ended (\(status)); started again"]
        case .readyAgain(let name): ["\(name) is ready again"]
        case .crashLoop(let name, let status):
            [
                "\(name) ends again and again (\(status)); it is started once a second from now on",
                "  → its own lines say why; `trackme doctor` checks the machine and the settings",
            ]
        case .refused(let name, let reason, let again):
            [
                "ERROR: \(name) refuses to start: \(reason)",
                again
                    ? "  → mend what it names: a file is looked at again every half minute, a setting at the next `trackme up`; the others go on without it"
                    : "  → nothing else runs, so this ends; mend what it names, `trackme doctor` checks all settings",
            ]
        case .mended(let name): ["\(name) has started; what it refused is mended"]
        case .unresponsive(let name): ["\(name) does not answer any more; it is replaced"]
        case .killed(let name): ["\(name) did not stop in time and was killed"]
        }
    }

    /// Addresses and the next command to try.
    private var addresses: [String] {
        var lines: [String] = []
        if hasEdge {
            let certificate = layout.edgeFolder.appendingPathComponent("root.crt").path
            lines.append(
                "  edge            https://localhost:\(ports.edgePort)   (curl --cacert \(certificate) https://localhost:\(ports.edgePort)/ingest/openapi.json)"
            )
        }
        lines.append("  ingest          http://127.0.0.1:\(ports.ingestPort)")
        lines.append("  sos-dispatcher  http://127.0.0.1:\(ports.sosPort)")
        lines.append("  calls go to     \(calls)\(calls.contains(":\(Desk.port)/") ? "   (trackme desk)" : "")")
        lines.append("  data            \(layout.data.path)")
        let tool = CommandLine.arguments[0]
        let data = layout.data == SuiteLayout(data: nil, environment: [:]).data ? "" : " --data \(layout.data.path)"
        let url = ports.ingestPort == ServiceExecutable.ingestPort ? "" : " --url http://127.0.0.1:\(ports.ingestPort)"
        lines.append("In another terminal: \(tool) simulate --people 3\(url)\(data)")
        lines.append("Stop with Ctrl-C.")
        lines.append("")
        return lines
    }
}

/// A service's JSON log line for a terminal: time of day, level, message, then the rest.
enum LogLineForPeople {
    private static let fixed: Set<String> = ["time", "ts", "level", "service", "label", "logger", "message", "msg"]

    static func text(_ line: String) -> String {
        guard line.hasPrefix("{"), let members = try? JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any],
            let message = (members["message"] ?? members["msg"]) as? String
        else { return line }
        let time = (members["time"] as? String).map { String($0.dropFirst(11).prefix(12)) + " " } ?? ""
        let level = (members["level"] as? String ?? "").padded(to: 8)
        let rest = members.filter { !fixed.contains($0.key) }.sorted { $0.key < $1.key }.map { " \($0.key)=\($0.value)" }.joined()
        return time + level + message + rest
    }
}
