// The suite's own executables on data of their own, and the questions that prepare them.

import Bus
import Contracts
import Foundation
import ServiceKit

/// Services are real processes, release builds, on loopback and ipc.
struct SuiteUnderTest: Sendable {
    let folder: URL
    /// Where each service listens.
    private let ports: [Peer: Int]
    /// The benchmarks' own place on the bus, as the operator's tool.
    let operatorSeat: Runtime
    let ingest: WebClient
    let consent: WebClient
    let gateway: WebClient

    init(in folder: URL) throws {
        self.folder = folder
        let services: [Peer] = [.ingest, .sosDispatcher, .consent, .thirdPartyGateway, .anonymiser]
        ports = Dictionary(uniqueKeysWithValues: zip(services, try Stage.freePorts(services.count)))
        ingest = WebClient(port: ports[.ingest] ?? 0)
        consent = WebClient(port: ports[.consent] ?? 0)
        gateway = WebClient(port: ports[.thirdPartyGateway] ?? 0)
        operatorSeat = try Self.seat(.trackme, in: folder)
        for peer in Peer.suite { _ = try operatorSeat.keys.busKeys(of: peer) }
    }

    func port(of peer: Peer) -> Int { ports[peer] ?? 0 }

    var ingestPort: Int { port(of: .ingest) }
    var sosPort: Int { port(of: .sosDispatcher) }

    /// Another peer of the suite, played by the benchmarks.
    static func seat(_ peer: Peer, in folder: URL) throws -> Runtime {
        var reader = SettingsReader(environment: environment(folder))
        let settings = SuiteSettings(&reader, peer: peer, httpPort: 0)
        return try Runtime(peer: peer, settings: settings, logger: WebClient.quiet)
    }

    static func environment(_ folder: URL) -> [String: String] {
        [
            "TRACKME_BUS_DIRECTORY": folder.appendingPathComponent("bus").path,
            "TRACKME_BUS_KEYS": folder.appendingPathComponent("keys").path, "TRACKME_LOG_LEVEL": "warning",
            // One caller makes the load of thousands.
            "TRACKME_HTTP_CALLER_PROCESSORS": "0",
        ]
    }

    /// What a service of this suite finds its place by.
    func environment(of peer: Peer) -> [String: String] {
        Self.environment(folder).merging([
            "TRACKME_STORE_DIRECTORY": folder.appendingPathComponent(peer.name).path, "TRACKME_HTTP_PORT": String(port(of: peer)),
        ]) { $1 }
    }

    /// Starts a service and returns when it is ready.
    func start(_ peer: Peer, _ settings: [String: String] = [:], atMost limit: Duration = .seconds(20)) async throws -> Program {
        let program = try Program(
            Program.own(peer.name), [], environment: environment(of: peer).merging(settings) { $1 },
            log: folder.appendingPathComponent("\(peer.name).log"))
        let client = WebClient(port: port(of: peer))
        try await Stage.wait("\(peer) to be ready; see \(folder.path)/\(peer.name).log", atMost: limit) { await client.isReady() }
        return program
    }

    // MARK: People

    /// One new person each, a device each.
    func addDevices(_ count: Int, intervalMs: Int64 = 1000) async throws -> [AddDevice.Reply] {
        let client = try await operatorSeat.client(of: .ingest)
        return try await Self.each(0..<count) { number in
            try await client.ask(
                AddDevice(person: nil, name: "bench \(number)", intervalMs: intervalMs), deadline: .seconds(2), attempts: 5)
        }
    }

    func subscribe(_ devices: [AddDevice.Reply]) async throws {
        let client = try await operatorSeat.client(of: .sosDispatcher)
        _ = try await Self.each(devices) { device in
            try await client.ask(
                SubscribePerson(person: device.person, clausesAccepted: true, bounds: [:]), deadline: .seconds(2), attempts: 5)
        }
    }

    /// As many at once as an answering socket works on comfortably.
    static func each<Item: Sendable, Value: Sendable>(
        _ items: some Sequence<Item>, atOnce: Int = 32, _ body: @escaping @Sendable (Item) async throws -> Value
    ) async throws -> [Value] {
        try await withThrowingTaskGroup(of: Value.self) { group in
            var values: [Value] = []
            for (number, item) in items.enumerated() {
                if number >= atOnce, let value = try await group.next() { values.append(value) }
                group.addTask { try await body(item) }
            }
            for try await value in group { values.append(value) }
            return values
        }
    }

    /// The file from which the load script takes persons and tokens.
    func write(_ devices: [AddDevice.Reply]) throws -> URL {
        let file = folder.appendingPathComponent("devices.txt")
        let text = devices.map { "\($0.person) \($0.token)\n" }.joined()
        try text.write(to: file, atomically: true, encoding: .utf8)
        return file
    }
}
