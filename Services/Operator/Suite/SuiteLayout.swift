// Where a suite on this machine keeps its things, and how its services receive that.

import ArgumentParser
import Contracts
import Foundation
import ServiceKit

/// The option of every command that concerns a suite.
struct SuiteOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The suite's folder. Default: ./var, or the folders named by TRACKME_BUS_DIRECTORY and TRACKME_BUS_KEYS.", valueName: "folder"))
    var data: String?

    var layout: SuiteLayout { SuiteLayout(data: data, environment: ProcessInfo.processInfo.environment) }
}

/// `--data` decides over the environment, the environment over `./var`.
struct SuiteLayout: Sendable {
    let data: URL
    /// What services and `ServiceKit` are given: the caller's environment with the folders filled in.
    let environment: [String: String]

    static let defaultFolder = "./var"

    init(data: String?, environment: [String: String]) {
        let folder = URL(fileURLWithPath: data ?? SuiteLayout.defaultFolder, isDirectory: true).standardizedFileURL
        self.data = folder
        var filled = environment
        for (key, name) in [("TRACKME_BUS_DIRECTORY", "bus"), ("TRACKME_BUS_KEYS", "keys")] where data != nil || filled[key] == nil {
            filled[key] = folder.appendingPathComponent(name).path
        }
        self.environment = filled
    }

    var busFolder: URL { URL(fileURLWithPath: environment["TRACKME_BUS_DIRECTORY"] ?? "", isDirectory: true) }
    var keysFolder: URL { URL(fileURLWithPath: environment["TRACKME_BUS_KEYS"] ?? "", isDirectory: true) }
    var keys: KeyFiles { KeyFiles(folder: keysFolder) }
    /// Where `trackme up` writes on which ports it runs.
    var portsFile: URL { data.appendingPathComponent("ports.json") }
    /// Where `trackme up` writes which parts refuse to start.
    var refusalsFile: URL { data.appendingPathComponent("refused.json") }
    var edgeFolder: URL { data.appendingPathComponent("edge", isDirectory: true) }
    /// What a reference client keeps: its queue and the key that seals it.
    func clientFolder(_ name: String) -> URL { data.appendingPathComponent("client/\(name)", isDirectory: true) }

    /// For the process of one service.
    func environment(of peer: Peer, httpPort: Int) -> [String: String] {
        var own = environment
        own["TRACKME_STORE_DIRECTORY"] = data.appendingPathComponent(peer.name).path
        own["TRACKME_HTTP_PORT"] = String(httpPort)
        own["TRACKME_SOS_PLACE"] = peer.deputyOf == nil ? "first" : "second"
        return own
    }

    /// The settings under which `trackme` itself is a peer on the bus.
    func settings() throws(OperatorError) -> SuiteSettings {
        var reader = SettingsReader(environment: environment)
        let settings = SuiteSettings(&reader, peer: .trackme, httpPort: 0)
        do {
            try reader.finish(prefixes: [])
        } catch {
            throw OperatorError(.configuration, "\(error)", mend: "correct or unset it; `trackme doctor` checks all settings")
        }
        return settings
    }
}
