// Two services in one process on real sockets: what one commits, the other gets once and in order.

import Bus
import Contracts
import Foundation
import GRDB
import Logging
import ServiceKit
import Storage
import Synchronization
import TestKit
import Testing

@Suite("Streams of a store", .timeLimit(.minutes(2)))
struct StreamsTests {
    private static let migrations = [
        Migration(1, "streams") { db in
            try StreamLog.create(in: db)
            try Confirmations.create(in: db)
            try AnswerTable.create(in: db)
        }
    ]

    private func header(_ sequence: Int64, epoch: String) -> StreamHeader {
        StreamHeader(
            stream: "ingest.devices", epoch: epoch, sequence: sequence, head: sequence, type: DeviceState.type, subject: "",
            at: Timestamp(milliseconds: 1), trace: "")
    }

    @Test(
        "facts committed before, during and without a listener arrive once, in order, whatever order commits resume in",
        arguments: StreamUnderTest.all)
    func replayThenLive(streams: StreamUnderTest) async throws {
        try await withTemporaryFolder { folder in
            for peer in Peer.suite { _ = try KeyFiles(folder: folder.appendingPathComponent("k")).busKeys(of: peer) }
            let said = try streams.runtime(.ingest, folder, nil)
            let heard = try streams.runtime(.sosDispatcher, folder, nil)
            let store = try said.openStore(applicationID: 1, migrations: StreamsTests.migrations)
            let epoch = try await store.read { try StreamLog().epoch($0) }
            let family = StreamFamily.devices
            let relay = EventRelay(publisher: try await said.publisher(of: family, epoch: epoch, heads: [:]), heads: [:])
            var methods = Methods(memory: try said.answers(in: store))
            StreamSource(
                families: [family], store: store, render: { _, row in row.body },
                snapshot: { _ in
                    SnapshotStream.Reply(epoch: epoch, sequence: 0, facts: [], next: nil)
                }
            ).register(in: &methods)
            try await said.answer(methods)

            @Sendable func commit(_ range: ClosedRange<Int64>, shuffled: Bool) async throws {
                try await store.write { db in
                    for number in range {
                        try StreamLog().append(
                            db, stream: "ingest.devices", type: DeviceState.type, subject: nil, at: Timestamp(milliseconds: 1),
                            body: Array("\(number)".utf8))
                    }
                }
                for sequence in shuffled ? range.shuffled() : Array(range) {
                    relay.committed(.init(header: header(sequence, epoch: epoch), payload: { Array("\(sequence)".utf8) }))
                }
            }
            try await commit(1...50, shuffled: true)

            let payloads = Mutex<[String]>([])
            let consumer = try await heard.consumer(of: family)
            let running = Task {
                try await consumer.run(from: []) { events, _ in
                    payloads.withLock { $0 += events.map { String(decoding: $0.payload, as: UTF8.self) } }
                } restart: { _ in
                }
            }
            try await eventually("the first fifty are replayed") { payloads.withLock { $0.count } == 50 }
            try await commit(51...300, shuffled: true)
            try await eventually("all three hundred are there") { payloads.withLock { $0.count } >= 300 }

            #expect(payloads.withLock { $0 } == (1...300).map(String.init))
            running.cancel()
            _ = try? await running.value
            await heard.bus.shutdown()
            await said.bus.shutdown()
            await store.close()
        }
    }

    @Test("a log is not kept for ever for the operator's tool, which may hear its stream and confirms nothing")
    func releasedWithoutTool() async throws {
        try await withTemporaryFolder { folder in
            let runtime = try Runtime.test(.sosDispatcher, in: folder)
            let store = try runtime.openStore(applicationID: 1, migrations: StreamsTests.migrations)
            let families: [(family: StreamFamily, hearer: Peer)] = [
                (.emergencies, .ingest), (.subscriptions, .consent), (.requests, .thirdPartyGateway),
            ]
            try await store.write { db in
                let epoch = try StreamLog().epoch(db)
                for (family, hearer) in families {
                    #expect(family.consumers == [hearer, .trackme])
                    for _ in 1...3 {
                        try StreamLog().append(
                            db, stream: family.name, type: "fact.v1", subject: nil, at: Timestamp(milliseconds: 1), body: [1])
                    }
                    // Two of three: the last is what the hearer has not applied yet.
                    try Confirmations().save(db, of: hearer, [StreamPosition(stream: family.name, epoch: epoch, next: 3)])
                }
            }
            let retention = LogRetention(families: families.map(\.family), store: store, retention: .seconds(1))
            let running = Task { try await retention.run() }
            try await eventually("only what was not confirmed is left") {
                try await store.read { db in try families.allSatisfy { try StreamLog().oldest(db, $0.family.name) == 3 } }
            }
            running.cancel()
            _ = await running.result
            await runtime.bus.shutdown()
            await store.close()
        }
    }

    @Test(
        "a mistyped consumer was forgotten with success, and a running one without a word: the one is unknown, the other needs a word",
        arguments: StreamUnderTest.all)
    func forgettingConsumers(streams: StreamUnderTest) async throws {
        try await withTemporaryFolder { folder in
            for peer in Peer.suite { _ = try KeyFiles(folder: folder.appendingPathComponent("k")).busKeys(of: peer) }
            let said = try streams.runtime(.ingest, folder, nil)
            let (heard, tool) = (try streams.runtime(.sosDispatcher, folder, nil), try streams.runtime(.trackme, folder, nil))
            let store = try said.openStore(applicationID: 1, migrations: StreamsTests.migrations)
            let epoch = try await store.read { try StreamLog().epoch($0) }
            let gone = Peer("gone")
            let position = StreamPosition(stream: StreamFamily.devices.streams[0], epoch: epoch, next: 1)
            try await store.write { try Confirmations().save($0, of: gone, [position]) }
            var methods = Methods(memory: try said.answers(in: store))
            StreamSource(families: [.devices], store: store, render: { _, row in row.body }).register(in: &methods)
            // Who may hear the stream may confirm it.
            _ = try await said.publisher(of: .devices, epoch: epoch, heads: [:])
            try await said.answer(methods)
            let (confirming, operating) = (try await heard.client(of: .ingest), try await tool.client(of: .ingest))
            @Sendable func forget(_ consumer: Peer, evenRunning: Bool? = nil) async throws -> Bool? {
                try await operating.forget(ForgetConsumer(consumer: consumer, evenRunning: evenRunning), deadline: .seconds(5)).wasForgotten
            }

            let unknown = await failure { _ = try await forget(Peer("sos-dispacher")) }
            #expect(unknown?.code == .notFound && unknown?.reason.contains("gone, sos-deputy, sos-dispatcher") == true)
            #expect(try await forget(.sosDeputy) == false, "it never was here, and the log no longer waits for it")
            #expect(try await forget(gone) == false)
            #expect(try await forget(gone) == true, "once more is no fault")

            try await confirming.confirm(ConfirmPositions(positions: [position]), deadline: .seconds(5))
            let running = await failure { _ = try await forget(.sosDispatcher) }
            #expect(running?.code == .conflict)
            #expect(try await store.read { try Confirmations().positions($0, of: .sosDispatcher) } == [position])
            #expect(try await forget(.sosDispatcher, evenRunning: true) == false)
            #expect(try await store.read { try Confirmations().isForgotten($0, .sosDispatcher) })
            for runtime in [tool, heard, said] { await runtime.bus.shutdown() }
            await store.close()
        }
    }

    @Test("a repeated question id gets its first answer from the store, which does not show it in the clear")
    func storedAnswers() async throws {
        try await withTemporaryFolder { folder in
            let runtime = try Runtime.test(.ingest, in: folder)
            let store = try runtime.openStore(applicationID: 1, migrations: StreamsTests.migrations)
            let answers = try runtime.answers(in: store)
            let asked = RequestContext(
                peer: .trackme, id: "abc", method: "add-device", deadline: Timestamp(milliseconds: 0), trace: "")

            try await store.write { try answers.remember(["token": "tmd_secret"], to: asked, in: $0) }

            let answer = try #require(try await answers.answer(to: .trackme, id: "abc"))
            #expect(String(decoding: answer, as: UTF8.self).contains("tmd_secret"))
            #expect(try await answers.answer(to: .sosDispatcher, id: "abc") == nil)
            let sealed = try await store.read { try AnswerTable().answer($0, to: .trackme, id: "abc") }
            #expect(!String(decoding: try #require(sealed), as: UTF8.self).contains("tmd_secret"))
            await runtime.bus.shutdown()
            await store.close()
        }
    }
}
