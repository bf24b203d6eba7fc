// Ingest as a whole in a temporary folder: real files, real sockets, real HTTP.

import Bus
import Contracts
import Foundation
import HTTPKit
import ServiceKit
import ServiceLifecycle
import Storage
import Synchronization
import TestKit

@testable import Ingest

/// One running ingest with two peers beside it. Stopping and starting again in the same folder is a restart.
final class IngestHarness: Sendable {
    let ingest: IngestModule
    let port: Int
    /// The operator's tool, and the service that hears the streams.
    let trackme: BusClient
    let sos: BusClient
    let hearing: StreamConsumer
    /// The other services, as far as ingest hears and asks them.
    let consent: TalkingConsent
    let dispatcher: TalkingDispatcher
    let notifier = Mailbox()
    private let harness: Harness

    private init(_ folder: URL, _ environment: [String: String], _ clockWatch: ClockWatch) async throws {
        let usual = [
            "TRACKME_ING_REQUESTS_PER_S": "10000", "TRACKME_ING_PAIRING_OFFERS_PER_H": "10000", "TRACKME_ING_PAIRING_TRIES_PER_H": "10000",
            // Stories measure whenever they like; how far a device's token reads has a story of its own.
            "TRACKME_ING_DEVICE_READ_H": "1000000",
        ]
        let harness = Harness(folder, usual.merging(environment) { $1 })
        try harness.introducePeers()
        let others = try [Peer.trackme, .sosDispatcher, .notifier].map(harness.runtime)
        let own = try harness.runtime(.ingest)
        dispatcher = try await TalkingDispatcher(others[1], folder: folder)
        try await others[2].answer(notifier.methods)
        consent = try await TalkingConsent(harness.runtime(.consent), folder: folder)
        var reader = harness.reader
        ingest = try await IngestModule(IngestSettings(&reader), on: own, clockWatch: clockWatch)
        self.harness = harness
        trackme = try await others[0].client(of: .ingest)
        sos = try await others[1].client(of: .ingest)
        hearing = try await others[1].consumer(of: .samples)
        harness.run {
            [server = ingest.server, followers = ingest.deviceModule.services, desk = ingest.ownData.service, alerts = ingest.alerts] in
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await alerts.run() }
                group.addTask { try await desk.run() }
                for follower in followers { group.addTask { try await follower.run() } }
                group.addTask { try await server.run() }
                try await group.waitForAll()
            }
        }
        port = await ingest.server.boundPort
    }

    private func stop() async {
        await harness.stop()
        await consent.close()
        await dispatcher.close()
        await ingest.store.close()
        await ingest.keys.close()
    }

    /// Runs `body` with ingest up in the folder.
    static func run<Value>(
        in folder: URL, environment: [String: String] = [:], clockWatch: ClockWatch = ClockWatch(),
        _ body: (IngestHarness) async throws -> Value
    ) async throws -> Value {
        try await withHarness(IngestHarness(folder, environment, clockWatch), body) { await $0.stop() }
    }

    /// As `run(in:)`, in a folder of its own.
    static func run<Value>(environment: [String: String] = [:], _ body: (IngestHarness) async throws -> Value) async throws -> Value {
        try await withTemporaryFolder { folder in try await run(in: folder, environment: environment, body) }
    }

    static func runWithAccount<Value>(
        environment: [String: String] = [:], _ body: (IngestHarness, Account) async throws -> Value
    ) async throws -> Value {
        try await run(environment: environment) { harness in try await body(harness, harness.account()) }
    }

    /// With somebody who has an account and a paired watch.
    static func runWithWatch<Value>(_ body: (IngestHarness, Account, Paired) async throws -> Value) async throws -> Value {
        try await runWithAccount { harness, account in try await body(harness, account, harness.pair(account)) }
    }

    static func runWithDevice<Value>(
        environment: [String: String] = [:], _ body: (IngestHarness, AddDevice.Reply) async throws -> Value
    ) async throws -> Value {
        try await run(environment: environment) { harness in try await body(harness, harness.addDevice()) }
    }

    func addDevice(of person: PersonID? = nil, intervalMs: Int64? = 1000, name: String = "watch") async throws -> AddDevice.Reply {
        let added = try await trackme.ask(AddDevice(person: person, name: name, intervalMs: intervalMs), deadline: .seconds(5))
        Self.wearers.withLock { $0[added.token] = added.person }
        return added
    }

    /// Whose token it is, also after a restart.
    private static let wearers = Mutex<[String: PersonID]>([:])
    /// What needs a log-in, begins with one of these.
    private static let needsLogIn = ["exports", "imports", "series", "statistics", "health-status", "dashboard", "track?"]

    /// The device's token, or, where that does not come in, the log-in of the person who wears it.
    private func token(_ token: String?, for path: String, _ method: String) async throws -> String? {
        let tail = path.replacing("/ingest/v1/", with: "")
        let isForPeople = Self.needsLogIn.contains { tail.hasPrefix($0) } || (method == "GET" && tail.hasPrefix("activities"))
        guard isForPeople, let token, let person = Self.wearers.withLock({ $0[token] }) else { return token }
        try await eventually("tokens can be checked", isTrue: { ingest.deviceModule.tokens.isReady })
        return try consent.token(of: person)
    }

    // MARK: HTTP

    func request(
        _ method: String, _ path: String, token: String?, body: Data? = nil, headers: [String: String] = [:]
    ) async throws -> HarnessAnswer {
        let client = HarnessClient(port: port)
        let shown = try await self.token(token, for: path, method)
        return try await client.send(client.request(method, path, token: shown, body: body, headers: headers))
    }

    /// As a browser or a device listens.
    func listen(_ path: String, token: String) throws -> EventListener {
        EventListener(try HarnessClient(port: port).request("GET", path, token: token))
    }

    func post(
        _ text: String, token: String?, type: String = "application/json", headers: [String: String] = [:]
    ) async throws -> HarnessAnswer {
        try await request(
            "POST", "/ingest/v1/entries", token: token, body: Data(text.utf8), headers: headers.merging(["Content-Type": type]) { $1 })
    }

    func post(_ samples: [Sample], token: String) async throws -> Answer {
        try await post(samples.upload, token: token).expect(status: 200).decoded()
    }

    /// An upload's answer as a stranger reads it.
    struct Answer: Decodable {
        struct Rejected: Decodable {
            let index: Int
            let type: String
            let detail: String
        }

        let accepted: Int
        let duplicates: [Int]
        let rejected: [Rejected]
        let duplicateCount: Int?
        let rejectedCount: Int?
        let supervision: AskedRate?
    }

    // MARK: Reading back

    struct Entry: Decodable {
        let type: String
        let at: String
        let value: Double?
        let position: Position?
        let device: DeviceID?

        var sample: Sample? {
            guard let metric = Metric(code: type), let at = Timestamp(rfc3339: at) else { return nil }
            return Sample(type: metric, at: at, value: value, position: position)
        }
    }

    struct Stretch: Decodable, Equatable {
        let from: String
        let min: Double
        let mean: Double
        let max: Double
        let count: Int
    }

    struct List<Item: Decodable>: Decodable {
        let items: [Item]
        let next: String?
    }

    /// All pages.
    func list<Item: Decodable>(_ query: String, token: String, limit: Int = 1000, of item: Item.Type = Item.self) async throws -> [Item] {
        var items: [Item] = []
        var after: String?
        repeat {
            let path = "/ingest/v1/entries?\(query)&limit=\(limit)" + (after.map { "&after=\($0)" } ?? "")
            let page: List<Item> = try await request("GET", path, token: token).expect(status: 200).decoded()
            items += page.items
            after = page.next
        } while after != nil
        return items
    }

    func samples(_ metric: Metric, token: String, limit: Int = 1000) async throws -> [Sample] {
        try await list("type=\(metric.code)", token: token, limit: limit, of: Entry.self).compactMap(\.sample)
    }
}

extension [Sample] {
    /// As a device would send them.
    var upload: String {
        "[" + map(\.json).joined(separator: ",") + "]"
    }

    var lines: String {
        map { $0.json + "\n" }.joined()
    }
}

extension Sample {
    var json: String {
        var json = JSONBytes()
        json.sample(self)
        return String(decoding: json.bytes, as: UTF8.self)
    }

    static func pulse(_ at: Int64, _ value: Double) -> Sample {
        Sample(type: .heartRate, at: Timestamp(milliseconds: at), value: value)
    }
}
