// A whole suite of real processes in a temporary folder: ingest, sos-dispatcher, and a desk with a ledger.

import Contracts
import Foundation
import ServiceKit
import TestKit

@testable import Operator

/// What differs from the usual suite.
struct SuiteShape: Sendable {
    /// Further environment of single services.
    var environment: [Peer: [String: String]] = [:]
    /// Further environment of everything, the operator's tool included.
    var common: [String: String] = [:]
    /// Ingest runs in a child of the test bundle with this fault planted.
    var planted: PlantedFault?
    /// Peers that may follow the ingest streams.
    var followers: [Peer] = []
    /// Stores of these services lie in this folder instead.
    var storeFolder: (peers: Set<Peer>, folder: URL)?
    /// Whether consent, notifier, the gateway and the anonymiser run too.
    var hasAccounts = false
    /// Whether the second SOS dispatcher runs too.
    var hasDeputy = false
    /// Whether `trackme up` starts and watches the services, in place of this harness.
    var isSupervised = false
    /// Whether each service runs under a `trackme watch` of its own, as in containers.
    var isWatched = false
    /// Further environment of the desk.
    var deskEnvironment: [String: String] = [:]
    /// How the desk behaves.
    var deskMode = "accept"
}

struct RealSuite: Sendable {
    let root: URL
    let layout: SuiteLayout
    let ingest: ServiceProcess
    let sos: ServiceProcess
    let desk: ServiceProcess
    /// Only where the shape has accounts.
    let consent: ServiceProcess?
    let notifier: ServiceProcess?
    let gateway: ServiceProcess?
    let anonymiser: ServiceProcess?
    /// Only where the shape has a second dispatcher.
    let deputy: ServiceProcess?
    /// `trackme up`, where the shape says so; the services are never started by themselves then.
    let supervisor: ServiceProcess?
    let deskLedger: URL
    let storeFolders: [URL]

    var server: String { "http://127.0.0.1:\(ingest.port)" }
    var data: URL { layout.data }

    /// Starts everything, gives it to `body`, and stops what still runs.
    static func with<Value>(_ shape: SuiteShape = SuiteShape(), _ body: (RealSuite) async throws -> Value) async throws -> Value {
        try await withTemporaryFolder { root in
            let suite = try RealSuite(shape, root: root)
            let value: Value
            do {
                try await suite.start()
                value = try await body(suite)
            } catch {
                suite.showLogs()
                try? await suite.stop()
                throw error
            }
            try await suite.stop()
            return value
        }
    }

    init(_ shape: SuiteShape, root: URL) throws {
        self.root = root
        let inherited = ProcessInfo.processInfo.environment.filter { !$0.key.hasPrefix("TRACKME_") }
        let layout = SuiteLayout(
            data: root.appendingPathComponent("data").path, environment: inherited.merging(shape.common) { $1 })
        self.layout = layout
        deskLedger = root.appendingPathComponent("desk.jsonl")
        _ = try SuiteKeys.makeMissing(layout)
        for follower in shape.followers {
            try layout.keys.makeBusKeys(.init(peer: follower, key: "", hear: [StreamFamily.samples.name], ask: []))
        }
        let logs = layout.data.appendingPathComponent("log")
        try FileManager.default.createDirectory(at: logs, withIntermediateDirectories: true)
        let ports = try FreePorts.find(8)
        let desk = ports[2]
        let common = [
            "TRACKME_ING_REQUESTS_PER_S": "10000", "TRACKME_ING_DEVICE_READ_H": "1000000", "TRACKME_SOS_MESSAGE_STATUS": "exercise",
            "TRACKME_SOS_CANARY": "false",
            "TRACKME_SOS_WEBHOOK_URL": "http://127.0.0.1:\(desk)\(DeskService.path)", "TRACKME_ACC_CONFIRM_REQUIRED": "false",
            "TRACKME_ACC_SECOND_FACTOR": "offered",
        ]
        func service(_ peer: Peer, _ port: Int) throws -> ServiceProcess {
            var environment = layout.environment(of: peer, httpPort: port)
            environment.merge(common) { $1 }
            if let elsewhere = shape.storeFolder, elsewhere.peers.contains(peer) {
                environment["TRACKME_STORE_DIRECTORY"] = elsewhere.folder.appendingPathComponent(peer.name).path
            }
            environment.merge(shape.environment[peer] ?? [:]) { $1 }
            var command = ChildCommand(
                executable: ServiceExecutable(peer: peer, port: port).file.path, environment: environment)
            if shape.isWatched { command = RealSuite.trackme("watch", command.executable, environment: environment) }
            if peer == .ingest, let planted = shape.planted { command = planted.command(over: environment) }
            return try ServiceProcess(peer.name, port: port, command: command, log: logs.appendingPathComponent("\(peer).log"))
        }
        ingest = try service(.ingest, ports[0])
        sos = try service(.sosDispatcher, ports[1])
        consent = shape.hasAccounts ? try service(.consent, ports[3]) : nil
        notifier = shape.hasAccounts ? try service(.notifier, ports[4]) : nil
        gateway = shape.hasAccounts ? try service(.thirdPartyGateway, ports[6]) : nil
        anonymiser = shape.hasAccounts ? try service(.anonymiser, ports[7]) : nil
        deputy = shape.hasDeputy ? try service(.sosDeputy, ports[5]) : nil
        let services = [ingest, sos, deputy, consent, notifier, gateway, anonymiser].compactMap { $0 }
        supervisor =
            shape.isSupervised
            ? try ServiceProcess(
                "trackme", port: ports[0], command: RealSuite.up(services, environment: layout.environment.merging(common) { $1 }, layout),
                log: logs.appendingPathComponent("trackme.log")) : nil
        self.desk = try RealSuite.desk(
            root, layout, port: desk, sosPort: ports[1], mode: shape.deskMode, environment: shape.deskEnvironment)
        storeFolders = [layout.data] + (shape.storeFolder.map { [$0.folder] } ?? [])
    }

    private static func trackme(_ arguments: String..., environment: [String: String]) -> ChildCommand {
        ChildCommand(
            executable: ServiceExecutable.folder.appendingPathComponent("trackme").path, arguments: arguments, environment: environment)
    }

    /// `trackme up` of these services alone, each on its own port.
    private static func up(_ services: [ServiceProcess], environment: [String: String], _ layout: SuiteLayout) -> ChildCommand {
        let options = [
            "ingest": "--ingest-port", "sos-dispatcher": "--sos-port", "sos-deputy": "--sos-deputy-port", "consent": "--consent-port",
            "notifier": "--notifier-port", "thirdparty-gateway": "--gateway-port", "anonymiser": "--anonymiser-port",
        ]
        var command = trackme("up", "--data", layout.data.path, environment: environment)
        command.arguments += services.flatMap { [options[$0.name] ?? "", "\($0.port)"] }
        command.arguments += ["--only"] + services.map(\.name)
        return command
    }

    private static func desk(
        _ root: URL, _ layout: SuiteLayout, port: Int, sosPort: Int, mode: String, environment: [String: String] = [:]
    ) throws -> ServiceProcess {
        let command = ChildCommand(
            executable: ServiceExecutable.folder.appendingPathComponent("trackme").path,
            arguments: [
                "desk", "--port", "\(port)", "--ledger", root.appendingPathComponent("desk.jsonl").path, "--data", layout.data.path,
                "--sos",
                "http://127.0.0.1:\(sosPort)", "--mode", mode,
            ], environment: layout.environment.merging(environment) { $1 })
        return try ServiceProcess("desk", port: port, command: command, log: root.appendingPathComponent("desk.log"))
    }

    /// A desk of other manners in the place of the suite's own, which is stopped; with the same ledger.
    func anotherDesk(mode: String) throws -> ServiceProcess {
        try RealSuite.desk(root, layout, port: desk.port, sosPort: sos.port, mode: mode)
    }

    /// The desk last: it reads the secret that the dispatcher makes at its first start.
    private func start() async throws {
        if let supervisor {
            supervisor.start(again: false)
            for service in [ingest, sos, deputy, consent, notifier, gateway, anonymiser].compactMap({ $0 }) {
                try await service.untilReady()
            }
            desk.start()
            return try await desk.untilReady()
        }
        for service in [consent, notifier, gateway, anonymiser].compactMap({ $0 }) { service.start() }
        ingest.start()
        try await ingest.untilReady()
        sos.start()
        try await sos.untilReady()
        desk.start()
        try await desk.untilReady()
        for service in [consent, notifier, gateway, anonymiser].compactMap({ $0 }) { try await service.untilReady() }
        deputy?.start()
        try await deputy?.untilReady()
    }

    func stop() async throws {
        try await supervisor?.stop()
        try await deputy?.stop()
        try await sos.stop()
        try await ingest.stop()
        try await desk.stop()
        for service in [anonymiser, gateway, notifier, consent].compactMap({ $0 }) { try await service.stop() }
    }

    func ask<Request: BusRequest>(_ request: Request) async throws -> Request.Reply {
        try await SuiteConnection.with(layout) { try await $0.ask(request) }
    }

    /// As `ask`, of one of those who answer it.
    func ask<Request: BusRequest>(_ request: Request, at peer: Peer) async throws -> Request.Reply {
        try await SuiteConnection.with(layout) { try await $0.ask(request, at: peer) }
    }

    /// A new person with one device, supervised on request.
    func addPerson(name: String = "watch", supervised: Bool) async throws -> AddDevice.Reply {
        try await addPeople(1, name: name, supervised: supervised)[0]
    }

    func addPeople(_ count: Int, name: String = "watch", supervised: Bool = true) async throws -> [AddDevice.Reply] {
        try await SuiteConnection.with(layout) { connection in
            var people: [AddDevice.Reply] = []
            for _ in 0..<count {
                let added = try await connection.ask(AddDevice(person: nil, name: name, intervalMs: 1000))
                if supervised {
                    _ = try await connection.ask(SubscribePerson(person: added.person, clausesAccepted: true, bounds: [:]))
                }
                people.append(added)
            }
            return people
        }
    }

    /// For a test that failed: the last lines of every log.
    private func showLogs() {
        let logs =
            [ingest, sos, supervisor].compactMap { $0 }.map { data.appendingPathComponent("log/\($0.name).log") } + [
                root.appendingPathComponent("desk.log")
            ]
        for log in logs {
            let lines = String(decoding: FileManager.default.contents(atPath: log.path) ?? Data(), as: UTF8.self)
                .split(separator: "\n").suffix(12)
            FileHandle.standardError.write(Data("— \(log.lastPathComponent)\n\(lines.joined(separator: "\n"))\n".utf8))
        }
    }
}
