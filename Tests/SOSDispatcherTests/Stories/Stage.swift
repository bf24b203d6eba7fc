// Where stories play: the real dispatcher in a temporary folder, with an ingest that says what a test tells it to.

import Bus
import Contracts
import Foundation
import HTTPKit
import Outbound
import Sealing
import ServiceKit
import ServiceLifecycle
import Storage
import Synchronization
import TestKit

@testable import SOSDispatcher

/// A suite of three peers on ipc: an ingest that only talks, the dispatcher under test, and the operator who asks.
final class Stage: Sendable {
    private let harness: Harness
    private let desk: Desk
    let ingest: TalkingIngest
    private let ask: BusClient
    private let askDeputy: BusClient

    /// Builds everything around the dispatcher; `start` starts that.
    private init(_ folder: URL, _ desk: Desk) async throws {
        let harness = Harness(folder)
        (self.harness, self.desk) = (harness, desk)
        try harness.introducePeers()
        let keys = harness.keys
        try keys.write(WebhookSecret.random().text, to: keys.file("webhook.secret", of: .sosDispatcher))
        desk.share(try WebhookSecret(keys.readSecret(keys.file("webhook.secret", of: .sosDispatcher))))
        ingest = try await TalkingIngest(harness.runtime(.ingest, under: [:]))
        let operators = try harness.runtime(.trackme, under: [:])
        ask = try await operators.client(of: .sosDispatcher)
        askDeputy = try await operators.client(of: .sosDeputy)
        harness.atEnd { [ingest] in await ingest.close() }
    }

    var folder: URL { harness.folder }

    /// - Parameters:
    ///   - desk: where the settings send calls; without one nobody listens there.
    ///   - others: are open as well as long as the story goes.
    static func play(_ desk: Desk? = nil, and others: Desk..., body: (Stage) async throws -> Void) async throws {
        try await play(desk, and: others, body: body)
    }

    private static func play(_ desk: Desk?, and others: [Desk], body: (Stage) async throws -> Void) async throws {
        try await withTemporaryFolder { folder in
            let stage = try await Stage(folder, desk ?? Desk(.silent))
            let desks = others + (desk.map { [$0] } ?? [])
            for desk in desks { await desk.open() }
            for desk in desks { stage.harness.atEnd { await desk.close() } }
            try await withHarness(stage, body) { await $0.harness.stop() }
        }
    }

    /// As `play`, with a dispatcher that runs.
    static func playStarted(_ desk: Desk? = nil, and others: Desk..., body: (Stage, Dispatcher) async throws -> Void) async throws {
        try await play(desk, and: others) { stage in try await body(stage, stage.start()) }
    }

    /// As `play`, with both dispatchers running.
    static func playPair(
        _ desk: Desk? = nil, and others: Desk..., body: (Stage, Dispatcher, Dispatcher) async throws -> Void
    ) async throws {
        try await play(desk, and: others) { stage in try await body(stage, stage.start(), stage.start(role: .second)) }
    }

    /// The dispatcher, running until the story ends or stops it.
    struct Dispatcher: Sendable {
        let parts: SOSModule
        let runtime: Runtime
        let running: Running

        func stop() async {
            await running.stop()
            await runtime.bus.shutdown()
        }
    }

    /// Returns once it hears ingest, unless that is not to be awaited.
    /// - Parameter lead: how much later than the first the second calls, where a loaded machine must not decide.
    @discardableResult
    func start(
        _ settings: [String: String] = [:], listening: Bool = true, role: PairRole = .first, lead: Duration? = nil
    ) async throws -> Dispatcher {
        let environment = [
            "TRACKME_SOS_WEBHOOK_URL": desk.address, "TRACKME_SOS_RETRY_S": "0.2", "TRACKME_SOS_CANARY": "false",
            "TRACKME_SOS_PLACE": role.rawValue,
        ].merging(settings) { $1 }
        var reader = SettingsReader(environment: environment)
        let runtime = try harness.runtime(role.peer, under: environment)
        var own = SOSAssembly.settings(&reader)
        own.lead = lead ?? own.lead
        let parts = try await SOSModule(own, on: runtime)
        try reader.finish(prefixes: SOSAssembly.prefixes)
        let running = harness.start(parts.services)
        if listening { try await eventually("it hears ingest") { await parts.supervision.isListening() } }
        return Dispatcher(parts: parts, runtime: runtime, running: running)
    }

    /// Decides and stores, and nothing of what follows ever happens: a dispatcher in the moment in which it dies.
    struct Built: Sendable {
        let parts: SOSModule
        let runtime: Runtime

        func close() async {
            await parts.store.store.close()
            await parts.supervision.keys.close()
            await runtime.bus.shutdown()
        }
    }

    func built(_ settings: [String: String]) async throws -> Built {
        let environment = ["TRACKME_SOS_CANARY": "false"].merging(settings) { $1 }
        var reader = SettingsReader(environment: environment)
        let runtime = try harness.runtime(.sosDispatcher, under: environment)
        return Built(parts: try await SOSModule(SOSAssembly.settings(&reader), on: runtime), runtime: runtime)
    }

    /// The notifier, as far as the dispatcher asks and hears it.
    func notifier() async throws -> TalkingNotifier {
        let notifier = try await TalkingNotifier(runtime(.notifier), folder)
        harness.atEnd { await notifier.close() }
        return notifier
    }

    /// Consent, as far as emergency cards go.
    func consent() async throws -> TalkingConsent {
        let consent = try await TalkingConsent(runtime(.consent), folder)
        harness.atEnd { await consent.close() }
        return consent
    }

    /// A further peer, with a folder of its own for its store.
    func runtime(_ peer: Peer) throws -> Runtime {
        try harness.runtime(peer, under: [:])
    }

    // MARK: What the operator does

    func question<R: BusRequest>(_ request: R, of role: PairRole = .first) async throws -> R.Reply {
        try await (role == .first ? ask : askDeputy).ask(request, deadline: .seconds(5))
    }

    /// As `trackme consumers forget` does.
    func forget(_ consumer: Peer, at role: PairRole) async throws {
        try await (role == .first ? ask : askDeputy).forget(ForgetConsumer(consumer: consumer), deadline: .seconds(5))
    }

    func subscribe(_ person: PersonID, bounds: [String: Bounds] = [:]) async throws {
        _ = try await question(SubscribePerson(person: person, clausesAccepted: true, bounds: bounds))
    }

    /// Somebody new who is subscribed.
    func subscriber(bounds: [String: Bounds] = [:]) async throws -> PersonID {
        let person = PersonID.random()
        try await subscribe(person, bounds: bounds)
        return person
    }

    /// Subscribes, lets the heart fail, and asks for help so that nobody has to wait for the prompt.
    func callForHelp(_ person: PersonID) async throws -> EmergencyID {
        try await subscribe(person)
        try await ingest.say(person, [Sample(type: .heartRate, at: .now, value: 31)])
        return try await askForHelp(person)
    }

    /// Somebody new who has called for help.
    func caller() async throws -> (person: PersonID, emergency: EmergencyID) {
        let person = PersonID.random()
        return (person, try await callForHelp(person))
    }

    /// For somebody whose failing heart has been said: help that was asked for before that is heard would be an emergency of its own, and
    /// the heart its "worse".
    func askForHelp(_ person: PersonID, of role: PairRole = .first) async throws -> EmergencyID {
        let alert = try await eventually("the alert") {
            let newest = try await self.question(ListEmergencies(person: person, limit: 1), of: role).emergencies.first
            return newest.flatMap { ["alerted", "confirmed", "dispatching"].contains($0.state) ? $0.emergency : nil }
        }
        let reply = try await question(AnswerPrompt(person: person, answer: .help), of: role)
        guard reply.emergency == alert else { throw Failure(.conflict, "help was called for in another emergency") }
        return alert
    }

    /// For somebody whose failing heart has been said: "I am fine" before that is heard is taken as well, but is about nothing.
    @discardableResult
    func sayFine(_ person: PersonID, of role: PairRole = .first) async throws -> AnswerPrompt.Reply {
        try await eventually("an emergency is called off") {
            let reply = try? await self.question(AnswerPrompt(person: person, answer: .fine), of: role)
            return reply?.emergency == nil ? nil : reply
        }
    }

    /// The newest, as soon as there is one.
    func emergency(of person: PersonID) async throws -> EmergencyID {
        try await eventually("an emergency") {
            try await self.question(ListEmergencies(person: person, limit: 1)).emergencies.first?.emergency
        }
    }

    func standing(_ person: PersonID) async throws -> String? {
        try await question(ReadSupervision(person: person)).standing
    }

    func timeline(_ emergency: EmergencyID) async throws -> [String] {
        try await question(ReadTimeline(emergency: emergency)).steps.map(\.event)
    }

    func state(_ emergency: EmergencyID) async throws -> String? {
        try await question(ListEmergencies(person: nil, limit: 1000)).emergencies.first { $0.emergency == emergency }?.state
    }

    /// Waits until help is no longer called for, whether or not the emergency is closed already.
    func calledOff(_ emergency: EmergencyID) async throws {
        try await eventually(
            "it is called off",
            isTrue: {
                let state = try await self.state(emergency)
                return state == "stood-down" || state == "closed"
            })
    }
}

/// The ingest service's side of the bus, with a real log and replay, and nothing else.
final class TalkingIngest: Sendable {
    private let runtime: Runtime
    private let store: Store
    private let samples: EventRelay
    private let devices: EventRelay
    private let epoch: String
    private let latest = Mutex<[Sample]>([])
    private let isOpen = Atomic<Bool>(true)
    /// What the person's devices deliver; nil: it does not answer.
    private let abilities = Mutex<[ReadAbilities.Ability]?>([])
    private let past = Mutex<[HistoryMinute]>([])
    /// What reading one fact of the log takes more, in µs.
    private let slowness = Atomic<UInt32>(0)

    init(_ runtime: Runtime) async throws {
        self.runtime = runtime
        let store = try runtime.openStore(applicationID: 1, migrations: [.streams])
        self.store = store
        epoch = try await store.read { try StreamLog().epoch($0) }
        samples = EventRelay(publisher: try await runtime.publisher(of: .samples, epoch: epoch, heads: [:]), heads: [:])
        devices = EventRelay(publisher: try await runtime.publisher(of: .devices, epoch: epoch, heads: [:]), heads: [:])
        var methods = Methods()
        let epoch = epoch
        StreamSource(
            families: [.samples, .devices], store: store,
            render: { [self] _, row in
                let pause = slowness.load(ordering: .relaxed)
                // It holds its thread, as a disk does: a read is no task that could sleep.
                if pause > 0 { usleep(pause) }
                return row.body
            },
            snapshot: { _ in SnapshotStream.Reply(epoch: epoch, sequence: 0, facts: [], next: nil) }
        ).register(in: &methods)
        methods.on(AddDevice.self) { asked, _ in AddDevice.Reply(person: asked.person ?? .random(), device: .random(), token: "") }
        methods.on(RecordEntries.self) { [self] request, _ in
            try await say(request.person, request.samples)
            return Nothing()
        }
        methods.on(ReadLatest.self) { [self] request, _ in
            ReadLatest.Reply(samples: latest.withLock { $0.filter { request.types.contains($0.type) } })
        }
        methods.on(ReadAbilities.self) { [self] _, _ in
            guard let devices = abilities.withLock({ $0 }) else { throw Failure(.unavailable, "not now") }
            return ReadAbilities.Reply(devices: devices)
        }
        methods.on(ReadHistory.self) { [self] asked, _ in page(asked) }
        try await runtime.answer(methods)
    }

    /// As a slow disk: so long that a backlog takes its time on any machine.
    func readsSlowly(microseconds: UInt32) {
        slowness.store(microseconds, ordering: .relaxed)
    }

    func can(_ devices: [ReadAbilities.Ability]?) {
        abilities.withLock { $0 = devices }
    }

    /// Heart rates of the past; each minute is one entry when entries are asked for.
    func remember(_ minutes: [HistoryMinute]) {
        past.withLock { $0 = minutes }
    }

    /// Pages of a thousand, so that they have to be turned.
    private func page(_ asked: ReadHistory) -> ReadHistory.Reply {
        let all = asked.type == .heartRate ? past.withLock { $0.filter { (asked.from..<asked.to).contains($0.at) } } : []
        let page = all.prefix(1000)
        let isMinutes = asked.grain == .minute
        return ReadHistory.Reply(
            times: page.map(\.at), values: page.map(\.mean), least: isMinutes ? page.map(\.least) : nil,
            greatest: isMinutes ? page.map(\.greatest) : nil, counts: isMinutes ? page.map(\.count) : nil,
            next: all.count > 1000 ? all[all.startIndex + 1000].at : nil)
    }

    func know(_ samples: [Sample]) {
        latest.withLock { $0 = samples }
    }

    /// Each person wears one device.
    private static func watch(of person: PersonID) -> DeviceID { DeviceID(bits: person.bits) }

    func say(
        _ person: PersonID, _ entries: [Sample], receivedAt: Timestamp = .now, firstTriedAt: Timestamp? = nil, interval: Int64? = nil
    ) async throws {
        let recorded = SamplesRecorded(
            device: Self.watch(of: person), receivedAt: receivedAt, firstTriedAt: firstTriedAt, intervalMs: interval, samples: entries)
        let body = Array(try JSONEncoder().encode(recorded))
        try await say(StreamFamily.samplesStream(of: person), SamplesRecorded.type, person, body, samples, at: receivedAt)
    }

    /// Much at once, each fact of one entry that was received as it was measured.
    func say(backlog entries: [(person: PersonID, entry: Sample)]) async throws {
        let facts = try await store.write { [epoch] db in
            try entries.map { person, entry in
                let stream = StreamFamily.samplesStream(of: person)
                let recorded = SamplesRecorded(device: Self.watch(of: person), receivedAt: entry.at, intervalMs: nil, samples: [entry])
                let body = Array(try JSONEncoder().encode(recorded))
                let sequence = try StreamLog().append(
                    db, stream: stream, type: SamplesRecorded.type, subject: person, at: entry.at, body: body)
                let header = StreamHeader(
                    stream: stream, epoch: epoch, sequence: sequence, head: sequence, type: SamplesRecorded.type, subject: "\(person)",
                    at: entry.at, trace: "")
                return EventRelay.Committed(header: header) { body }
            }
        }
        for fact in facts { samples.committed(fact) }
    }

    /// As ingest does while its disk hangs, or with what it refuses: nothing of it is in the log.
    func say(
        provisionally person: PersonID, _ entries: [Sample], receivedAt: Timestamp = .now, as type: String = SamplesRecorded.provisionalType
    ) throws {
        let recorded = SamplesRecorded(device: Self.watch(of: person), receivedAt: receivedAt, intervalMs: nil, samples: entries)
        let body = Array(try JSONEncoder().encode(recorded))
        let header = StreamHeader(
            stream: StreamFamily.samplesStream(of: person), epoch: epoch, sequence: 0, head: 0, type: type,
            subject: "\(person)", at: receivedAt, trace: "")
        samples.provisional(.init(header: header, payload: { body }))
    }

    func say(_ state: DeviceState) async throws {
        let body = Array(try JSONEncoder().encode(state))
        try await say(StreamFamily.devices.streams[0], DeviceState.type, state.person, body, devices)
    }

    func say(_ state: MonitoringState) async throws {
        let body = Array(try JSONEncoder().encode(state))
        try await say(StreamFamily.devices.streams[0], MonitoringState.type, state.person, body, devices)
    }

    private func say(
        _ stream: String, _ type: String, _ person: PersonID, _ body: [UInt8], _ relay: EventRelay, at: Timestamp = .now
    ) async throws {
        let sequence = try await store.write { db in
            try StreamLog().append(db, stream: stream, type: type, subject: person, at: at, body: body)
        }
        let header = StreamHeader(
            stream: stream, epoch: epoch, sequence: sequence, head: sequence, type: type, subject: "\(person)", at: at, trace: "")
        relay.committed(.init(header: header, payload: { body }))
    }

    /// A second time changes nothing.
    func close() async {
        guard isOpen.exchange(false, ordering: .acquiringAndReleasing) else { return }
        await runtime.bus.shutdown()
        await store.close()
    }
}
