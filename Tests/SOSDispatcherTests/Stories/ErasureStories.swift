// The dispatcher's part in an erasure: a call under way is finished first, supervision ends or goes on as the person wanted.

import Contracts
import Foundation
import GRDB
import ServiceKit
import Storage
import Synchronization
import TestKit
import Testing

@testable import SOSDispatcher

@Suite("Erasure in the dispatcher", .timeLimit(.minutes(2)))
struct ErasureStories {
    /// Carries out an order as the service does, and gives what it would confirm to consent.
    private func erase(
        _ scope: ErasureScope, of person: PersonID, in dispatcher: Stage.Dispatcher, at now: Timestamp = .now,
        meanwhile body: () async throws -> Void = {}
    ) async throws -> ConfirmErasure {
        let (parts, confirmed) = (dispatcher.parts, Confirmed())
        let database = parts.store.store
        let keys = await parts.supervision.keys
        let steps = SOSDispatcherErasure(
            supervision: parts.supervision, dispatcher: parts.dispatcher, journal: parts.journal, store: parts.store, pair: parts.pair,
            messages: parts.messages
        ).steps
        let follower = ErasureFollower(
            of: .sosDispatcher, store: database, keys: keys, steps: steps, logger: Running.quiet
        ) { confirmed.take($0) }
        let order = PersonErased(erasure: .random(), person: person, scope: scope, orderedAt: now)
        try await database.write { try follower.add($0, order) }
        let running = Task { try await follower.run() }
        defer { running.cancel() }
        try await body()
        return try await eventually("the erasure is confirmed") { confirmed.last }
    }

    private final class Confirmed: Sendable {
        private let all = Mutex<[ConfirmErasure]>([])
        var last: ConfirmErasure? { all.withLock { $0.last } }
        func take(_ confirmation: ConfirmErasure) { all.withLock { $0.append(confirmation) } }
    }

    private func rows(of person: PersonID, in dispatcher: Stage.Dispatcher) async throws -> [String: Int] {
        try await dispatcher.parts.store.store.read { db in
            var counts: [String: Int] = [:]
            for table in [
                "subscribers", "emergencies", "dispatch_outbox", "devices", "monitoring_pauses", "subscriptions", "pause_reminders",
            ] {
                counts[table] = try Int.fetchOne(db, sql: "SELECT count(*) FROM \(table) WHERE person = ?", arguments: [person.data])
            }
            counts["stream_log"] = try Int.fetchOne(db, sql: "SELECT count(*) FROM stream_log WHERE subject = ?", arguments: [person.data])
            return counts.filter { $0.value > 0 }
        }
    }

    @Test("ACC-31, SOS-03: the end of an account ends supervision, but a call under way is made first; then nothing of the person is left")
    func account() async throws {
        let desk = Desk(.acknowledges(.accepted))
        try await Stage.play(desk) { stage in
            let (anna, bruno) = (PersonID.random(), PersonID.random())
            let dispatcher = try await stage.start()
            try await stage.subscribe(bruno)
            try await stage.ingest.say(DeviceState(device: .random(), person: anna, active: true, intervalMs: 1000))
            try await stage.subscribe(anna)
            try await stage.ingest.say(anna, [Sample(type: .heartRate, at: .now, value: 31)])
            try await eventually("the alert") { await dispatcher.parts.supervision.people[anna]?.subscriber.supervision.episode != nil }

            let confirmation = try await erase(.account, of: anna, in: dispatcher) {
                try await eventually("the call is made all the same") { !desk.receipts.isEmpty }
            }
            #expect(confirmation.stores.first?.kept == PersonErasureStore.kept)
            #expect(try await rows(of: anna, in: dispatcher).isEmpty)
            #expect(await dispatcher.parts.supervision.people[anna] == nil)
            let others = try await rows(of: bruno, in: dispatcher).filter { $0.key != "stream_log" }
            #expect(others == ["subscribers": 1, "subscriptions": 1])
            // What ingest says of the person's devices later finds nobody.
            try await stage.ingest.say(DeviceState(device: .random(), person: anna, active: true, intervalMs: 1000))
            try await stage.ingest.say(DeviceState(device: .random(), person: bruno, active: true, intervalMs: 1000))
            try await eventually("the other's device is known") { try await rows(of: bruno, in: dispatcher)["devices"] == 1 }
            #expect(try await rows(of: anna, in: dispatcher).isEmpty)
            await #expect(throws: Failure.self) { try await stage.subscribe(anna) }
            #expect(try await stage.question(VerifyAudit()).firstBroken == nil)
        }
    }

    @Test("ACC-31: an emergency that nobody ends does not keep an account for ever")
    func patience() async throws {
        try await Stage.play(Desk(.silent)) { stage in
            let anna = PersonID.random()
            let dispatcher = try await stage.start()
            _ = try await stage.callForHelp(anna)
            let longAgo = Timestamp.now - SOSDispatcherErasure.longestWait - .seconds(1)
            _ = try await erase(.account, of: anna, in: dispatcher, at: longAgo)
            #expect(try await rows(of: anna, in: dispatcher).isEmpty)
        }
    }

    @Test("SOS-25: nobody was warned of the silence of a device that was lost as its person's data were erased")
    func silenceAfterErasure() async throws {
        try await Stage.play { stage in
            let dispatcher = try await stage.start(["TRACKME_SOS_SIGNAL_LOST_S": "5"])
            let anna = try await stage.subscriber()
            try await stage.ingest.say(anna, [Sample(type: .heartRate, at: .now, value: 70)])
            try await eventually("the heart is heard") {
                await dispatcher.parts.supervision.subscriber(of: anna)?.supervision.sources.isEmpty == false
            }
            _ = try await erase(.data, of: anna, in: dispatcher)
            try await eventually("the warning") { try await stage.standing(anna) == "signal-lost" }
        }
    }

    @Test("ACC-29, SOS-28: with the data alone erased the person is watched on, by their own bounds, also after a restart")
    func dataOnly() async throws {
        try await Stage.play(Desk(.acknowledges(.accepted))) { stage in
            var dispatcher = try await stage.start()
            let anna = try await stage.subscriber(bounds: ["heart-rate": Bounds(low: 40, high: 100)])
            let place = Position(latitude: 45.4642, longitude: 9.19)
            let running = dispatcher
            try await stage.ingest.say(anna, [Sample(type: .position, at: .now, value: nil, position: place)])
            try await eventually("the place is known") { await running.parts.supervision.knowsPlace(of: anna) }

            _ = try await erase(.data, of: anna, in: dispatcher)
            #expect(await !dispatcher.parts.supervision.knowsPlace(of: anna))
            await dispatcher.stop()
            dispatcher = try await stage.start()
            #expect(await dispatcher.parts.supervision.isSubscribed(anna))
            #expect(await !dispatcher.parts.supervision.knowsPlace(of: anna))
            // Within the usual bounds, beyond the person's own.
            try await stage.ingest.say(anna, [Sample(type: .heartRate, at: .now, value: 110)])
            try await eventually("the alert") {
                try await !stage.question(ListEmergencies(person: anna, limit: 1)).emergencies.isEmpty
            }
        }
    }
}
