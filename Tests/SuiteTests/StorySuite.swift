// Every service and a desk in one process, on real ipc sockets in a temporary folder: where stories are told.

import Bus
import Contracts
import Foundation
import HTTPKit
import Outbound
import Sealing
import ServiceKit
import ServiceLifecycle
import Synchronization
import TestKit

@testable import Anonymiser
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
    /// Services by their parts, as they were started: for what has no door, such as thousands of people at once. A restart makes others.
    struct Modules: Sendable {
        let ingest: IngestModule
        let consent: ConsentModule
        let anonymiser: AnonymiserModule
    }

    let harness: Harness
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
    let modules: Modules
    /// Ends consent for the rest of the story, its doors and its voice on the bus, as an orderly stop does.
    let stopConsent: @Sendable () async -> Void
    /// Stops ingest or consent, lets the body do something to its files, and starts it again.
    let restart: @Sendable (_ peer: Peer, _ between: @Sendable () async throws -> Void) async throws -> Void
    private let sender = HTTPSender.anywhere()

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
        try await withTemporaryHarness { harness in
            let folder = harness.folder
            let ports = try FreePorts.find(hasGateway ? 7 : 6)
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
            let ingest = try await Self.made(
                IngestAssembly.self, layout, ports[0], settings, in: harness, by: { try await IngestModule($0, on: $1) })
            let sos = try await parts(SOSAssembly.self, layout, ports[1], settings, in: harness) { $0.rules = rules ?? $0.rules }
            let consent = try await Self.made(
                ConsentAssembly.self, layout, ports[3], settings, in: harness, by: { try await ConsentModule($0, on: $1) })
            let notifier = try await parts(NotifierAssembly.self, layout, ports[4], settings, in: harness)
            let anonymiser = try await Self.made(
                AnonymiserAssembly.self, layout, ports[5], settings, in: harness, by: { try await AnonymiserModule($0, on: $1) })
            let modules = Modules(ingest: ingest.made, consent: consent.made, anonymiser: anonymiser.made)
            let gateway = hasGateway ? [try await parts(GatewayAssembly.self, layout, ports[6], settings, in: harness)] : []
            let own = [modules.ingest.services, modules.consent.services, notifier.services, sos.services, modules.anonymiser.services]
            let parts = own + gateway.map(\.services)
            let sent = Mutex<[DeskMessage]>([])
            let door = desk.server(port: ports[2]) { message in sent.withLock { $0.append(message) } }
            let running = (parts + [[door]]).map(harness.start)
            let stop: @Sendable (_ place: Int, Runtime) async -> Void = { place, runtime in
                await running[place].stop()
                await runtime.bus.shutdown()
            }
            let suite = StorySuite(
                harness: harness, layout: layout, server: "http://127.0.0.1:\(ports[0])", consent: "http://127.0.0.1:\(ports[3])",
                notifier: "http://127.0.0.1:\(ports[4])", sos: "http://127.0.0.1:\(ports[1])", ledger: ledger,
                routes: parts.joined().compactMap { $0 as? HTTPServer }.flatMap(\.routes), modules: modules,
                deskMessages: { sent.withLock { $0 } }, stopConsent: { await stop(1, consent.runtime) },
                restart: { peer, between in
                    let isIngest = peer == .ingest
                    await stop(isIngest ? 0 : 1, isIngest ? ingest.runtime : consent.runtime)
                    try await between()
                    let port = ports[isIngest ? 0 : 3]
                    let built =
                        isIngest
                        ? try await Self.parts(IngestAssembly.self, layout, port, settings, in: harness)
                        : try await Self.parts(ConsentAssembly.self, layout, port, settings, in: harness)
                    _ = harness.start(built.services)
                    try await eventually("port \(port) is ready") { await Readiness().isReady(port: port) }
                })
            for port in ports { try await eventually("port \(port) is ready") { await Readiness().isReady(port: port) } }
            try await body(suite)
        }
    }

    /// With somebody in it who subscribed to AutomatedSOS.
    static func withSubscriber(
        _ settings: [String: String] = [:], rules: SupervisionRules? = nil, _ body: (StorySuite, AddDevice.Reply) async throws -> Void
    ) async throws {
        try await with(settings, rules: rules) { suite in try await body(suite, suite.subscriber()) }
    }

    private static func parts<Built: Assembly>(
        _ built: Built.Type, _ layout: SuiteLayout, _ port: Int, _ settings: [String: String], in harness: Harness,
        amend: (inout Built.Settings) -> Void = { _ in }
    ) async throws -> (services: [any Service], runtime: Runtime) {
        let service = try await Self.made(
            built, layout, port, settings, in: harness, amend: amend, by: { try await Built.build($0, on: $1) })
        return (service.made, service.runtime)
    }

    private static func made<Built: Assembly, Made>(
        _: Built.Type, _ layout: SuiteLayout, _ port: Int, _ settings: [String: String], in harness: Harness,
        amend: (inout Built.Settings) -> Void = { _ in }, by make: (Built.Settings, Runtime) async throws -> Made
    ) async throws -> (made: Made, runtime: Runtime) {
        var environment = layout.environment(of: Built.peer, httpPort: port)
        environment.merge(settings) { $1 }
        var reader = SettingsReader(environment: environment)
        var own = Built.settings(&reader)
        amend(&own)
        let runtime = try harness.runtime(Built.peer, under: environment)
        return (try await make(own, runtime), runtime)
    }

    private init(
        harness: Harness, layout: SuiteLayout, server: String, consent: String, notifier: String, sos: String, ledger: URL,
        routes: [Route], modules: Modules, deskMessages: @escaping @Sendable () -> [DeskMessage],
        stopConsent: @escaping @Sendable () async -> Void,
        restart: @escaping @Sendable (_ peer: Peer, _ between: @Sendable () async throws -> Void) async throws -> Void
    ) {
        (self.harness, self.layout, self.server, deskLedger) = (harness, layout, server, ledger)
        (self.consent, self.notifier, self.sos) = (consent, notifier, sos)
        (self.routes, self.modules, self.deskMessages) = (routes, modules, deskMessages)
        (self.stopConsent, self.restart) = (stopConsent, restart)
    }

    /// A further peer at work, on the bus until the story ends.
    func playing<Value>(_ peer: Peer, _ body: (Runtime) async throws -> Value) async throws -> Value {
        try await body(harness.runtime(peer, under: layout.environment(of: peer, httpPort: 0)))
    }

    // MARK: What people do

    func ask<Request: BusRequest>(_ request: Request) async throws -> Request.Reply {
        try await SuiteConnection.with(layout) { try await $0.ask(request) }
    }

    /// Somebody with a wearable.
    func someone(wearing name: String = "watch", every interval: Duration = .seconds(1)) async throws -> AddDevice.Reply {
        try await ask(AddDevice(person: nil, name: name, intervalMs: interval.wholeMilliseconds))
    }

    /// Pairs a device by the digits on its display.
    func pair(
        _ model: String = "watch", measuring measures: [String], every intervalMs: Int = 1000, of person: PersonID, by token: String
    ) async throws -> AddDevice.Reply {
        struct Offer: Decodable { var pairing, number, secret: String }
        struct Paired: Decodable { var device: DeviceID }
        struct Progress: Decodable { var token: String }
        let base = server + "/ingest/v1/pairings"
        let form: [String: any Sendable] = ["model": model, "kind": "wearable", "measures": measures, "intervalMs": intervalMs]
        let offer: Offer = try await say("POST", base, form).decoded()
        let device = try await eventually("ingest knows the account, and the \(model) is paired") {
            let said = try await say("POST", "\(base)/\(offer.pairing)/confirmation", ["number": offer.number], as: token)
            return said.status == 200 ? try said.decoded(as: Paired.self).device : nil
        }
        let progress: Progress = try await say("POST", "\(base)/\(offer.pairing)/poll", ["secret": offer.secret]).decoded()
        return AddDevice.Reply(person: person, device: device, token: progress.token)
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
