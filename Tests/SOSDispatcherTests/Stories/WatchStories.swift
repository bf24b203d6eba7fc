// The watchdogs at work: the canary through the whole chain, and the sign of life to the outside.

import Contracts
import Foundation
import GRDB
import HTTPKit
import NIOCore
import Sealing
import ServiceKit
import Storage
import Synchronization
import TestKit
import Testing

@testable import SOSDispatcher

@Suite("Watchdogs, whole service")
struct WatchStories {
    @Test(
        "NFR-05, NFR-23: a test emergency goes through ingest, supervision and dispatch, is acknowledged, counted, and leaves nothing behind"
    )
    func canary() async throws {
        let desk = Desk(.acknowledges(.accepted))
        try await Stage.play(desk) { stage in
            let dispatcher = try await stage.start(["TRACKME_SOS_CANARY": "true", "TRACKME_SOS_DISPATCH_AT_S": "3"])
            // On a loaded machine one may come late, or be given up.
            let counted = try await eventually("a flight", within: .seconds(60)) {
                let reply = try await stage.question(ReadAvailability(hours: 24))
                return reply.ok + reply.late == 0 ? nil : reply
            }
            #expect(counted.since != nil && counted.dispatcher == .sosDispatcher)
            #expect(desk.receipts.isEmpty)
            #expect(try await stage.question(ListEmergencies(person: nil, limit: 10)).emergencies.isEmpty)
            try await eventually("nothing is left behind") {
                try await dispatcher.parts.store.store.read { db in
                    // Anchors of the audit are on the stream to the other dispatcher, about nobody.
                    let tables = ["dispatch_outbox", "emergencies", "audit", "stream_log WHERE subject IS NOT NULL", "subscribers"]
                    return try tables.allSatisfy { try Int.fetchOne(db, sql: "SELECT count(*) FROM \($0)") == 0 }
                }
            }
            await #expect(throws: Failure.self) { try await stage.question(ReadAvailability(hours: 0)) }
        }
    }

    @Test(
        "R18: in two of five clean restarts changes could not be stored for 3.5 s: the test emergency that the stop cut off stood in the way"
    )
    func stoppedInFlight() async throws {
        try await Stage.play(Desk(.acknowledges(.accepted))) { stage in
            let settings = ["TRACKME_SOS_CANARY": "true", "TRACKME_SOS_DISPATCH_AT_S": "3"]
            @Sendable func open(_ dispatcher: Stage.Dispatcher) async throws -> Data? {
                try await dispatcher.parts.store.store.read { db in
                    try Data.fetchOne(db, sql: "SELECT emergency FROM emergencies WHERE closed_at IS NULL")
                }
            }
            let first = try await stage.start(settings)
            let cut = try await eventually("a flight is under way", within: .seconds(60)) { try await open(first) }
            await first.stop()
            let second = try await stage.start(settings)
            #expect(try await open(second) != cut, "the one that was cut off is gone")
            let next = try await eventually("the next flight is under way, and everything is stored meanwhile", within: .seconds(60)) {
                try await second.parts.journal.commit()
                return try await open(second)
            }
            #expect(next != cut)
            try await second.parts.journal.commit()
        }
    }

    @Test(
        "NFR-05: test emergencies that a full disk did not take were missing from the figure: they count, and are stored when there is room"
    )
    func uncounted() async throws {
        try await Stage.play(Desk(.acknowledges(.accepted))) { stage in
            let dispatcher = try await stage.start(["TRACKME_SOS_CANARY": "true", "TRACKME_SOS_DISPATCH_AT_S": "3"])
            let store = dispatcher.parts.store.store
            @Sendable func total(_ reply: ReadAvailability.Reply) -> Int { reply.ok + reply.late + reply.missed }
            let before = try await eventually("one is counted", within: .seconds(60)) {
                let reply = try await stage.question(ReadAvailability(hours: 24))
                return total(reply) > 0 && reply.uncounted == 0 ? reply : nil
            }
            try await store.write { db in
                try db.execute(
                    sql: "CREATE TRIGGER no_room BEFORE INSERT ON canary_hours BEGIN SELECT RAISE(ABORT, 'no room'); END")
            }
            let refused = try await eventually("one could not be stored", within: .seconds(60)) {
                let reply = try await stage.question(ReadAvailability(hours: 24))
                return reply.uncounted ?? 0 > 0 ? reply : nil
            }
            #expect(total(refused) > total(before) && refused.lastAt != nil)
            try await store.write { db in try db.execute(sql: "DROP TRIGGER no_room") }
            try await eventually("all are stored", within: .seconds(60)) {
                let reply = try await stage.question(ReadAvailability(hours: 24))
                let stored = try await store.read { db in try CanaryStore().counts(db, since: 0).total }
                return reply.uncounted == 0 && total(reply) > total(refused) && stored >= total(reply)
            }
        }
    }

    @Test("A sign of life goes to whoever watches from outside, signed, and says whether ingest is heard")
    func heartbeat() async throws {
        let received = Mutex<[(WebhookSignature, [UInt8])]>([])
        let route = Route(
            .post, "/watch/v1/beats", access: .anyone, summary: "Take a heartbeat", body: BodyShape([.init(MediaType.json, .anything)]),
            answers: [Answer(204, "Taken")]
        ) { exchange in
            let signature = exchange.webhookSignature
            let body = Array(try await exchange.body().readableBytesView)
            received.withLock { $0.append((signature, body)) }
            return .empty(status: 204)
        }
        let server = HTTPServer(
            .init(title: "Watch", version: "1", summary: "Somebody outside.", prefix: "watch"), routes: [route], port: 0,
            health: Health(missing: { [] }, metrics: { "" }), authenticate: { _, _ in throw Problem.unauthorised }, logger: Running.quiet)
        let running = Running([server])
        let url = "http://127.0.0.1:\(await server.boundPort)/watch/v1/beats"
        try await Stage.play { stage in
            _ = try await stage.start(["TRACKME_SOS_HEARTBEAT_URL": url])
            let (signature, body) = try await eventually("a heartbeat") { received.withLock { $0.first } }
            let files = KeyFiles(folder: stage.folder.appendingPathComponent("keys"))
            let secret = try WebhookSecret(files.readSecret(files.file("heartbeat.secret", of: .sosDispatcher)))
            try signature.verify(body: body, secrets: [secret], now: .now)
            let message = try JSONDecoder().decode(OutsideHeartbeat.Message.self, from: Data(body))
            #expect(message.service == "sos-dispatcher")
            #expect(message.canary == nil)
        }
        await running.stop()
    }
}
