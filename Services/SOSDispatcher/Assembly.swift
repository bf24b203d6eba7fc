// Builds the dispatcher's parts in dependency order; `main` and tests use the same one.

import Bus
import Contracts
import Foundation
import HTTPKit
import Logging
import Outbound
import Sealing
import ServiceKit
import ServiceLifecycle
import Storage

enum SOSAssembly: Assembly {
    static let peer = Peer.sosDispatcher
    static let purpose = "Watches subscribers' vital signs and calls an ambulance until somebody has answered."
    static let prefixes: Set<String> = ["sos", CountrySettings.prefix]
    static let httpPort = 8102

    /// A wrong value is refused: see `refuses`.
    static func place(in environment: [String: String]) -> ServicePlace {
        let role = environment[SettingsReader.variable(for: "sos.place")].flatMap(PairRole.init(rawValue:)) ?? .first
        return ServicePlace(peer: role.peer, httpPort: role.httpPort)
    }

    static func settings(_ reader: inout SettingsReader) -> Settings {
        Settings(&reader)
    }

    /// Without these it would call in earnest what is an exercise, be the other dispatcher, or begin an empty one beside the one that is
    /// meant.
    private static let needed = Set(
        ["sos.message_status", "sos.place", "store.directory", "bus.transport", "bus.directory", "bus.keys", "bus.hosts"]
            .map(SettingsReader.variable(for:)))
    /// A name that nobody reads may stand for one of them: of another prefix, as the list of places of a country, for none.
    private static func mayBeNeeded(_ variable: String) -> Bool {
        ["TRACKME_STORE_", "TRACKME_BUS_"].contains { variable.hasPrefix($0) }
            || variable.hasPrefix("TRACKME_SOS_") && ["STATUS", "MESSAGE", "PLACE"].contains { variable.contains($0) }
    }

    /// Rescue fails open: nothing else that is written wrongly keeps both dispatchers from calling (0040).
    static func refuses(_ fault: SettingFault) -> Bool {
        fault.isUnknown ? mayBeNeeded(fault.variable) : needed.contains(fault.variable)
    }

    static func build(_ settings: Settings, on runtime: Runtime) async throws -> [any Service] {
        try await SOSModule(settings, on: runtime).services
    }
}

/// The parts by name, so that tests can talk to them.
struct SOSModule: Sendable {
    let supervision: SupervisionService
    let dispatcher: Dispatcher
    let journal: Journal
    let store: SOSStore
    let server: HTTPServer
    let pair: PairState
    let link: PairLink
    let canary: Canary
    let people: PeopleModule
    let tokens: TokenChecker
    /// What the suite tells people goes through it.
    let messages: MessageOutbox
    let reminders: PauseReminders
    let fitting: PersonalFitting
    let subscribers: SubscriberModule
    let anchors: AuditAnchors
    /// How current what is known of ingest's entries is.
    let samples: StreamFreshness
    /// What integrators show when they acknowledge by themselves.
    let token: String
    let services: [any Service]

    init(_ settings: Settings, on runtime: Runtime) async throws {
        let logger = runtime.logger
        let (database, keys) = try runtime.openWhole(applicationID: Migrations.applicationID, migrations: Migrations.all)
        let (life, _) = try await runtime.beginLife(of: database, restored: PairTables.forgot)
        let pair = try await PairModule(database, keys: keys, on: runtime)
        let streams = StreamEffects(relays: pair.relays, dispatches: DispatchStreams(runtime, database))
        let store = SOSStore(database, keys: keys, pair: pair.tables, streams: streams, logger: logger)
        let journal = Journal(save: store.save, seal: store.seal, logger: logger)
        let history = EmergencyHistory(store: store, journal: journal)
        let pairState = pair.state(settings, journal)
        let clock = SteadyClock(
            offset: try store.steadyOffset(boot: SteadyClock.boot, fresh: Timestamp.now.milliseconds - SteadyClock.sinceBoot))
        let secrets = try IntegratorSecrets(settings, runtime)
        // Both dispatchers name the same emergency alike.
        let names = try Names(identity: SymmetricKey(bytes: runtime.secret("emergency-identity.key", of: .sosDispatcher)))
        let answers = try runtime.answers(in: database)
        let calling = try await CallingModule(
            settings, secrets, database, answers, pair: pairState, streams: streams.dispatches, on: runtime)
        let tokens = try TokenChecker(store: database, issuer: runtime.settings.publicOrigin)
        let metrics = SOSMetrics()
        let dispatcher = try await calling.dispatcher(
            settings, names: names, store: store, journal: journal, clock: clock, pair: pairState, metrics: metrics)
        let drills = DrillService(
            store: database, keys: keys, journal: journal, dispatcher: dispatcher, registry: calling.registry,
            letterhead: settings.letterhead, names: names, clock: clock, answers: answers)
        let messages = try await PeopleMessages(on: runtime, database: database, keys: keys, names: names, clock: clock)
        let samples = StreamFreshness()
        let supervision = SupervisionService(
            rules: settings.rules, letterhead: settings.letterhead, names: names, keys: keys, store: store,
            journal: journal, dispatcher: dispatcher, clock: clock, pair: pairState, keep: messages.keep,
            ingestSilentFor: { samples.age ?? .seconds(Int64(Int32.max)) }, metrics: metrics, logger: logger)
        await dispatcher.tells(
            acknowledged: { await supervision.acknowledged($0, $1, at: $2) }, rejected: { await supervision.rejected($0, $1) })

        let people = await PeopleModule(
            settings, messages, on: runtime, database: database, store: store, supervision: supervision, pair: pairState, clock: clock)
        let memory = try await store.loadWithoutCanary(pairState, names.synthetic)
        let ingestClient = try await runtime.client(of: .ingest)
        let ingest = IngestClient(ingestClient)
        let anchors = AuditAnchors(store: database, signing: secrets.signing, pair: pairState, file: settings.auditAnchors, logger: logger)
        let participants = [
            AuditAnchors.kind: anchors.participant, ContactReply.kind: people.contacts.participant,
            IntegratorsService.kind: calling.integrators.participant,
        ]
        let link = PairLink(
            on: runtime, supervision: supervision, dispatcher: dispatcher, pair: pairState, keys: keys, participants: participants,
            positions: memory.positions, latest: ingest.latest)
        supervision.events.add(PlaceReading(supervision: supervision, ingest: ingest))
        let cards = CardReading(supervision: supervision, consent: try await runtime.client(of: .consent), logger: logger)
        supervision.events.add(cards)
        await supervision.restore(memory)
        await dispatcher.restore(memory.outboxes, drills: try await database.read { try drills.table.open($0) })
        let fitting = PersonalFitting(supervision: supervision, ingest: ingest, rules: settings.personal, logger: logger)
        let reminders = PauseReminders(
            supervision: supervision, store: store, messages: messages.outbox, names: names, interval: settings.pauseReminder,
            logger: logger)
        let enrolment = Enrolment(
            supervision: supervision, store: store, keys: keys, ingest: ingest, joined: { [wakeUp = fitting.wakeUp] in wakeUp.notify() })
        let subscribers = SubscriberModule(
            settings, supervision: supervision, store: store, history: history, enrolment: enrolment, messages: messages.outbox,
            ingest: ingest)
        supervision.events.add(anchors)
        var methods = Methods(memory: answers)
        pair.source(
            database, store, clock, synthetic: names.synthetic, participants: participants,
            otherIsGone: { Task { await link.otherIsGone() } }
        ).register(in: &methods)
        let probe = CanaryRoutes(secret: .random())
        let routes = DispatchRoutes(
            dispatcher: dispatcher, history: history, registry: calling.registry, publicKey: secrets.signing.publicKey)
        let server = SOSModule.server(
            routes.all + subscribers.routes + people.routes + probe.all, supervision, database, tokens, calling.registry, runtime)
        let watch = WatchModule(
            settings, supervision: supervision, dispatcher: dispatcher, keys: keys, store: database, ingest: ingestClient,
            samples: samples, probe: probe, signing: secrets.signing, on: runtime, port: { await server.boundPort })
        BusRoutes(
            supervision: supervision, store: store, history: history, enrolment: enrolment, answers: answers, canary: watch.canary,
            role: pair.role, anchors: anchors
        ).register(in: &methods)
        calling.routes(dispatcher, answers).register(in: &methods)
        drills.register(in: &methods)
        JobRoutes(database, [messages.outbox.jobs]).register(in: &methods)
        try await runtime.answer(methods)
        // Both ways are open before what was due is done: the other dispatcher may have done it, or called it off.
        let hasForgotten = try await store.hasForgotten()
        await supervision.noteStore(wasPutBack: hasForgotten)
        // A copy may be older than the second dispatcher's first confirmation: who has forgotten asks whether or not it knows of another.
        await link.begin(
            waiting: try await store.hasOther(pair.role), hasForgotten: hasForgotten, isAnybodyUnreadable: !memory.unreadable.isEmpty)
        await dispatcher.resume()
        await supervision.resume(memory)
        await supervision.saySubscriptions(said: memory.saidSubscribed)

        let erasure = SOSDispatcherErasure(
            supervision: supervision, dispatcher: dispatcher, journal: journal, store: store, pair: pairState, messages: messages.outbox,
            forget: people.forget)
        let erasures = try await erasure.follower(on: runtime, keys: keys)
        let hearing = try await SOSModule.hearing(journal, supervision, store, samples, runtime)
        services =
            [
                ClosedLast { await database.close() },
                ClosedLast { await keys.close() },
                Background { await journal.run() },
                Background {
                    try await LogRetention(families: pair.families, store: database, retention: runtime.settings.logRetention).run()
                },
                Background { await link.run() },
                Background { try await streams.dispatches.forget(calling.registry) },
                Background { try await answers.expire() },
                Background(keys.keepBackups),
                Background(store.moveClosed),
                Background(anchors.run),
                Background { try await life?.run(database) },
                Background(Follower.accounts(on: runtime, store: database, tokens: tokens, erasures: erasures).run),
                Background(erasures.run),
                Background(reminders.run),
                Background(cards.run),
                dispatcher,
            ] + people.services + [
                ClosedLast { await supervision.stop() },
                server,
            ] + hearing + (try watch.services(link))
            + (pair.role.speaks ? [Background(fitting.run), Background(drills.keepSchedule)] : [])
        (self.supervision, self.dispatcher, self.journal, self.store) = (supervision, dispatcher, journal, store)
        (self.server, self.people, token, self.pair, canary) = (server, people, secrets.token, pairState, watch.canary)
        (self.tokens, self.messages, self.reminders, self.fitting) = (tokens, messages.outbox, reminders, fitting)
        (self.subscribers, self.anchors, self.samples, self.link) = (subscribers, anchors, samples, link)
    }

    /// What follows ingest, and consent's cards. After a passing fault of the store each goes on from what is stored by then.
    private static func hearing(
        _ journal: Journal, _ supervision: SupervisionService, _ store: SOSStore, _ heard: StreamFreshness, _ runtime: Runtime
    ) async throws -> [any Service] {
        let samples = try await runtime.consumer(of: .samples, freshness: heard)
        let cards = try await runtime.consumer(of: .emergencyCards)
        let urgent = UrgentPeople(supervision: supervision, ingest: try await runtime.client(of: .ingest), logger: runtime.logger)
        return [
            Background(urgent.run),
            Background {
                let begun = try await store.positions(of: .emergencyCards)
                try await cards.run(
                    from: begun, apply: { await supervision.know(CardFacts.states($0), $1) },
                    restart: { await supervision.know(CardFacts.states($0.facts), $0.next.map { [$0] } ?? []) },
                    durable: { journal.durablePositions(of: .emergencyCards, begun: begun) })
            },
            Background {
                let begun = try await store.positions(of: .samples)
                try await samples.run(
                    from: begun, apply: { await supervision.apply($0, $1) },
                    provisional: { await supervision.hear(provisional: $0) }, ahead: { await urgent.hear(ahead: $0) },
                    durable: { journal.durablePositions(of: .samples, begun: begun) })
            },
            Background(DeviceStore(store: store, supervision: supervision).follower(on: runtime).run),
        ]
    }

    private static func server(
        _ routes: [Route], _ supervision: SupervisionService, _ store: Store, _ tokens: TokenChecker, _ registry: IntegratorRegistry,
        _ runtime: Runtime
    ) -> HTTPServer {
        runtime.server(
            .init(
                title: "TrackMe emergencies", version: "1.0.0",
                summary: "Where subscribers look after their supervision, and emergency services acknowledge calls.", prefix: "sos"),
            routes: routes, store: store, tokens: tokens,
            missing: { await supervision.isListening() ? [] : ["nothing received from ingest yet"] },
            authenticate: { credentials, access in
                guard access == .integrator else { return try tokens.caller(for: credentials, access: access) }
                guard let integrator = registry.integrator(withToken: credentials.bearer) else { throw Problem.unauthorised }
                return .integrator(integrator.id)
            })
    }
}

/// Facts of `consent.emergency-cards`.
enum CardFacts {
    /// What cannot be read is skipped: the card that is known stays.
    static func states(_ events: [StreamEvent]) -> [EmergencyCardState] {
        events.compactMap { event in
            event.header.type == EmergencyCardState.type
                ? try? JSONDecoder().decode(EmergencyCardState.self, from: Data(event.payload)) : nil
        }
    }
}
