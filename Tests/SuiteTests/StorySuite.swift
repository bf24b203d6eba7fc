// Every service and a desk in one process, on real ipc sockets in a temporary folder: where stories are told.

import Bus
import Contracts
import Foundation
import HTTPKit
import Logging
import Outbound
import Sealing
import ServiceKit
import ServiceLifecycle
import Synchronization
import TestKit

@testable import Consent
@testable import Ingest
@testable import Notifier
@testable import Operator
@testable import SOSDispatcher
@testable import ThirdPartyGateway

/// An upload that the story relies on was refused.
struct NotTaken: Error {
    var status: Int
}

struct StorySuite: Sendable {
    let layout: SuiteLayout
    let server: String
    /// Consent's origin.
    let consent: String
    /// The notifier's origin.
    let notifier: String
    /// The dispatcher's origin.
    let sos: String
    let deskLedger: URL
    /// What the desk was sent, as it came.
    let deskMessages: @Sendable () -> [DeskMessage]
    /// Of every service, those of HTTPKit included.
    let routes: [Route]
    /// Ends consent for the rest of the story, its doors and its voice on the bus, as an orderly stop does.
    let stopConsent: @Sendable () async -> Void
    /// Stops ingest or consent, lets the body do something to its files, and starts it again.
    let restart: @Sendable (_ peer: Peer, _ between: @Sendable () throws -> Void) async throws -> Void
    private let sender = HTTPSender.anywhere()

    private static let quiet = Logger(label: "story") { _ in SwiftLogNoOpLogHandler() }
    /// More than any answer of a story.
    private static let answerBytes = 8 << 20

    /// Starts everything with these settings over the defaults, and stops it afterwards.
    /// - Parameters:
    ///   - further: peers that no service of the suite plays, with what they may ask and hear.
    ///   - hasGateway: false where the story plays the third parties' gateway itself.
    ///   - rules: what supervision goes by in place of the registry's and the settings'.
    static func with(
        _ settings: [String: String] = [:], further: [KeyFiles.PublicPeer] = [], hasGateway: Bool = true,
        rules: SupervisionRules? = nil, _ body: (StorySuite) async throws -> Void
    ) async throws {
        try await withTemporaryFolder { folder in
            let ports = try FreePorts.find(hasGateway ? 6 : 5)
            let layout = SuiteLayout(data: folder.path, environment: [:])
            _ = try SuiteKeys.makeMissing(layout)
            let keys = layout.keys
            for peer in further { try keys.makeBusKeys(peer) }
            try keys.write(WebhookSecret.random().text, to: keys.file("webhook.secret", of: .sosDispatcher))
            _ = try keys.secret("signing.seed", of: .sosDispatcher)

            let ledger = folder.appendingPathComponent("desk.jsonl")
            let desk = DeskService(
                mode: .accept, keys: try DeskKeys.load(layout, secretFile: nil, publicKey: nil), log: try DeskLog(ledger),
                show: { _ in }, callBack: { _, _ in })
            let webhook = [
                "TRACKME_SOS_WEBHOOK_URL": "http://127.0.0.1:\(ports[2])\(DeskService.path)", "TRACKME_SOS_MESSAGE_STATUS": "test",
                "TRACKME_SOS_CANARY": "false",
            ]
            let settings = ["TRACKME_ACC_CONFIRM_REQUIRED": "false", "TRACKME_ACC_SECOND_FACTOR": "offered"].merging(settings) { $1 }
                .merging(webhook) { $1 }
            let ingest = try await Self.parts(IngestAssembly.self, layout, ports[0], settings)
            let sos = try await parts(SOSAssembly.self, layout, ports[1], settings) { $0.rules = rules ?? $0.rules }
            let consent = try await parts(ConsentAssembly.self, layout, ports[3], settings)
            let notifier = try await parts(NotifierAssembly.self, layout, ports[4], settings)
            let gateway = hasGateway ? [try await parts(GatewayAssembly.self, layout, ports[5], settings)] : []
            let parts = [ingest.services, consent.services, notifier.services, sos.services] + gateway.map(\.services)
            let sent = Mutex<[DeskMessage]>([])
            let door = desk.server(port: ports[2]) { message in sent.withLock { $0.append(message) } }
            let groups = (parts + [[door]]).map { ServiceGroup(services: $0, logger: quiet) }
            let running = groups.map { group in Task { try await group.run() } }
            let again = Mutex<[(group: ServiceGroup, running: Task<Void, any Error>, runtime: Runtime)]>([])
            let stopAgain: @Sendable () async -> Void = {
                for one in again.withLock({ $0 }) { await stop([one.group], [one.running], [one.runtime]) }
            }
            let runtimes = gateway.map(\.runtime) + [sos.runtime, notifier.runtime, consent.runtime, ingest.runtime]
            let suite = StorySuite(
                layout: layout, server: "http://127.0.0.1:\(ports[0])", consent: "http://127.0.0.1:\(ports[3])",
                notifier: "http://127.0.0.1:\(ports[4])", sos: "http://127.0.0.1:\(ports[1])", ledger: ledger,
                routes: parts.joined().compactMap { $0 as? HTTPServer }.flatMap(\.routes),
                deskMessages: { sent.withLock { $0 } }, stopConsent: { await stop([groups[1]], [running[1]], [consent.runtime]) },
                restart: { peer, between in
                    let isIngest = peer == .ingest
                    let place = isIngest ? 0 : 1
                    await stop([groups[place]], [running[place]], [isIngest ? ingest.runtime : consent.runtime])
                    try between()
                    let port = ports[isIngest ? 0 : 3]
                    let built =
                        isIngest
                        ? try await Self.parts(IngestAssembly.self, layout, port, settings)
                        : try await Self.parts(ConsentAssembly.self, layout, port, settings)
                    let group = ServiceGroup(services: built.services, logger: quiet)
                    let running = Task { try await group.run() }
                    again.withLock { $0.append((group, running, built.runtime)) }
                    try await eventually("port \(port) is ready") { await Readiness().isReady(port: port) }
                })
            do {
                for port in ports { try await eventually("port \(port) is ready") { await Readiness().isReady(port: port) } }
                try await body(suite)
            } catch {
                await stopAgain()
                await stop(groups, running, runtimes)
                throw error
            }
            await stopAgain()
            await stop(groups, running, runtimes)
        }
    }

    private static func parts<Built: Assembly>(
        _: Built.Type, _ layout: SuiteLayout, _ port: Int, _ settings: [String: String], amend: (inout Built.Settings) -> Void = { _ in }
    ) async throws -> (services: [any Service], runtime: Runtime) {
        var environment = layout.environment(of: Built.peer, httpPort: port)
        environment.merge(settings) { $1 }
        var reader = SettingsReader(environment: environment)
        let suite = SuiteSettings(&reader, peer: Built.peer, httpPort: port)
        var own = Built.settings(&reader)
        amend(&own)
        let runtime = try Runtime(peer: Built.peer, settings: suite, logger: quiet)
        return (try await Built.build(own, on: runtime), runtime)
    }

    private static func stop(_ groups: [ServiceGroup], _ running: [Task<Void, any Error>], _ runtimes: [Runtime]) async {
        for group in groups.reversed() { await group.triggerGracefulShutdown() }
        for task in running { _ = await task.result }
        for runtime in runtimes { await runtime.bus.shutdown() }
    }

    private init(
        layout: SuiteLayout, server: String, consent: String, notifier: String, sos: String, ledger: URL, routes: [Route],
        deskMessages: @escaping @Sendable () -> [DeskMessage], stopConsent: @escaping @Sendable () async -> Void,
        restart: @escaping @Sendable (_ peer: Peer, _ between: @Sendable () throws -> Void) async throws -> Void
    ) {
        (self.layout, self.server, deskLedger) = (layout, server, ledger)
        (self.consent, self.notifier, self.sos) = (consent, notifier, sos)
        (self.routes, self.deskMessages) = (routes, deskMessages)
        (self.stopConsent, self.restart) = (stopConsent, restart)
    }

    /// A further peer at work; its bus is shut down afterwards.
    func playing<Value>(_ peer: Peer, _ body: (Runtime) async throws -> Value) async throws -> Value {
        var reader = SettingsReader(environment: layout.environment(of: peer, httpPort: 0))
        let runtime = try Runtime(peer: peer, settings: SuiteSettings(&reader, peer: peer, httpPort: 0), logger: StorySuite.quiet)
        do {
            let value = try await body(runtime)
            await runtime.bus.shutdown()
            return value
        } catch {
            await runtime.bus.shutdown()
            throw error
        }
    }

    // MARK: What people do

    func ask<Request: BusRequest>(_ request: Request) async throws -> Request.Reply {
        try await SuiteConnection.with(layout) { try await $0.ask(request) }
    }

    /// Somebody with a wearable.
    func someone(wearing name: String = "watch", every interval: Duration = .seconds(1)) async throws -> AddDevice.Reply {
        try await ask(AddDevice(person: nil, name: name, intervalMs: interval.wholeMilliseconds))
    }

    /// Somebody who subscribed to AutomatedSOS.
    func subscriber(bounds: [String: Bounds] = [:]) async throws -> AddDevice.Reply {
        let watch = try await someone()
        _ = try await ask(SubscribePerson(person: watch.person, clausesAccepted: true, bounds: bounds))
        return watch
    }

    func upload(_ samples: [Sample], from watch: AddDevice.Reply) async throws -> Operator.UploadReply {
        let transport = UploadTransport.http(server: server, authorities: nil)
        return await transport.send(
            UploadBody.batch(try samples.map(UploadBody.entry)), watch.token, "story-\(UInt64.random(in: 0 ... .max))")
    }

    /// Delivers one heart rate of this moment; fails the story where it is not taken.
    func beat(_ rate: Double, from watch: AddDevice.Reply, and others: [Sample] = []) async throws {
        let sample = Sample(type: .heartRate, at: .now, value: rate)
        let reply = try await upload([sample] + others, from: watch)
        guard reply.outcome == .answered(status: 200, retryAfter: nil) else {
            throw NotTaken(status: reply.outcome.status)
        }
    }

    func get(_ path: String, as watch: AddDevice.Reply) async throws -> (status: Int, json: Data) {
        let response = try await sender.send(
            OutboundRequest(
                url: server + path, headers: [("Authorization", "Bearer \(watch.token)")], maxResponseBytes: StorySuite.answerBytes))
        return (response.status, Data(response.body))
    }

    // MARK: What comes of it

    func emergencies(of watch: AddDevice.Reply) async throws -> [ListEmergencies.Entry] {
        try await ask(ListEmergencies(person: watch.person, limit: 100)).emergencies
    }

    func acknowledged(of watch: AddDevice.Reply) async throws -> ListEmergencies.Entry {
        try await eventually("an emergency is acknowledged") {
            try await emergencies(of: watch).first { $0.acknowledgedAt != nil }
        }
    }

    func steps(of emergency: EmergencyID) async throws -> [String] {
        try await ask(ReadTimeline(emergency: emergency)).steps.map(\.event)
    }

    /// What the desk has received, of one kind.
    func desk(_ kind: String) throws -> [DeskEntry] {
        try DeskLog.read(deskLedger).filter { $0.kind == kind }
    }
}
