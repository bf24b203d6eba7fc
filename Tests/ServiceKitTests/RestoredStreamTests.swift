// Followers of a store that was put back from a copy: each goes on behind what it has heard, and hears everything that is new.

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

@Suite("Following a store that was put back", .timeLimit(.minutes(2)))
struct RestoredStreamTests {
    private static let family = StreamFamily.deliveries
    private static let migrations = [
        Migration(1, "streams") { db in
            try StreamLog.create(in: db)
            try Confirmations.create(in: db)
            try AnswerTable.create(in: db)
            try StoreLife.create(in: db)
            try StreamLog.createFormerEpochs(in: db)
        }
    ]

    /// One run of the publishing service.
    private struct Speaker {
        let runtime: Runtime
        let opened: OpenedStore
        let facts: FactStream

        /// - Parameter ended: instead of the end of the process.
        init(over streams: StreamUnderTest, in folder: URL, ended: @escaping @Sendable () -> Void = {}) async throws {
            runtime = try streams.runtime(.notifier, folder) { _ in ended() }
            opened = try await OpenedStore(on: runtime, applicationID: 1, migrations: RestoredStreamTests.migrations)
            let relay = try await opened.relay(of: RestoredStreamTests.family)
            facts = FactStream(stream: RestoredStreamTests.family.streams[0], epoch: opened.epoch, relay: relay)
            var methods = Methods(memory: opened.answers)
            StreamSource(families: [RestoredStreamTests.family], store: opened.store, render: { [facts] in try facts.render($1) })
                .register(in: &methods)
            try await runtime.answer(methods)
        }

        func say(_ words: String...) async throws {
            for word in words {
                try await opened.store.write { [facts] db in
                    try facts.publish(db, type: "word.v1", subject: nil, body: word, at: .now)
                }
            }
        }

        func stop(cleanly: Bool = true) async throws {
            await runtime.bus.shutdown()
            // As the last of its parts does.
            if cleanly { try await StoreLife(beside: runtime.storeFile).goOn(opened.store) }
            await opened.store.close()
            await opened.keys.close()
        }
    }

    /// A follower with what it would have on disk.
    private final class Hearer: Sendable {
        private let runtime: Runtime
        private let heard = Mutex<[String]>([])
        private let positions = Mutex<[StreamPosition]>([])
        private let task = Mutex<Task<Void, any Error>?>(nil)

        init(_ peer: Peer, over streams: StreamUnderTest, in folder: URL) throws {
            runtime = try streams.runtime(peer, folder, nil)
        }

        var words: [String] { heard.withLock { $0 } }
        var isPlaced: Bool { positions.withLock { !$0.isEmpty } }

        func listen() async throws {
            let consumer = try await runtime.consumer(of: RestoredStreamTests.family)
            let from = positions.withLock { $0 }
            let running = Task { [self] in
                try await consumer.run(from: from) { [self] events, next in
                    let words = try events.map { try JSONDecoder().decode(String.self, from: Data($0.payload)) }
                    heard.withLock { $0 += words }
                    positions.withLock { $0 = next }
                }
            }
            task.withLock { $0 = running }
        }

        func stopListening() async {
            let running = task.withLock { $0 }
            running?.cancel()
            _ = await running?.result
        }

        func end() async {
            await stopListening()
            await runtime.bus.shutdown()
        }
    }

    @Test(
        "S4: a volume put back with everything on it was not noticed, and its consumers were deaf to what it said: now they hear it",
        arguments: StreamUnderTest.all)
    func volume(streams: StreamUnderTest) async throws {
        try await withTemporaryFolder { folder in
            for peer in Peer.suite { _ = try KeyFiles(folder: folder.appendingPathComponent("k")).busKeys(of: peer) }
            let (snapshot, volume) = (folder.appendingPathComponent("snapshot"), folder.appendingPathComponent("notifier"))
            var speaker = try await Speaker(over: streams, in: folder)
            let hearer = try Hearer(.consent, over: streams, in: folder)
            try await hearer.listen()
            try await eventually("it knows where to begin") { hearer.isPlaced }
            try await speaker.say("one", "two")
            try await eventually("it has heard") { hearer.words.count == 2 }
            try await speaker.stop()
            try FileManager.default.copyItem(at: volume, to: snapshot)
            speaker = try await Speaker(over: streams, in: folder)
            try await speaker.say("lost", "lost too")
            try await eventually("everything is heard") { hearer.words.count == 4 }
            try await speaker.stop()

            try FileManager.default.removeItem(at: volume)
            try FileManager.default.copyItem(at: snapshot, to: volume)
            let hasEnded = Mutex(false)
            speaker = try await Speaker(over: streams, in: folder) { hasEnded.withLock { $0 = true } }
            let epoch = speaker.opened.epoch
            try await speaker.say("four")
            try await eventually("a consumer has shown it, and the process ends") { hasEnded.withLock { $0 } }
            try await speaker.stop(cleanly: false)
            speaker = try await Speaker(over: streams, in: folder)
            #expect(speaker.opened.epoch != epoch)
            try await speaker.say("five")
            try await eventually("what was said since is heard, before and after the new epoch") { hearer.words.count >= 6 }
            #expect(hearer.words == ["one", "two", "lost", "lost too", "four", "five"])
            await hearer.end()
            try await speaker.stop()
        }
    }

    @Test(
        "who was ahead of the copy hears what is new and nothing twice; who was away hears what it missed as well",
        arguments: StreamUnderTest.all)
    func putBack(streams: StreamUnderTest) async throws {
        try await withTemporaryFolder { folder in
            for peer in Peer.suite { _ = try KeyFiles(folder: folder.appendingPathComponent("k")).busKeys(of: peer) }
            let (copy, store) = (folder.appendingPathComponent("copy.db"), folder.appendingPathComponent("notifier/notifier.db"))
            var speaker = try await Speaker(over: streams, in: folder)
            let (awake, away) = (try Hearer(.consent, over: streams, in: folder), try Hearer(.sosDispatcher, over: streams, in: folder))
            for hearer in [awake, away] { try await hearer.listen() }
            try await eventually("both know where to begin") { awake.isPlaced && away.isPlaced }
            try await speaker.say("one", "two")
            try await eventually("both have heard") { [awake, away].allSatisfy { $0.words == ["one", "two"] } }
            await away.stopListening()
            try await speaker.say("three")
            // As every consumer does every five seconds.
            let confirmed = StreamPosition(stream: Self.family.streams[0], epoch: speaker.opened.epoch, next: 4)
            try await speaker.opened.store.write { db in try Confirmations().save(db, of: .consent, [confirmed]) }
            try await speaker.opened.store.copy(to: copy)
            try await speaker.say("lost", "lost too")
            try await eventually("everything is heard") { awake.words.count == 5 }

            for expected in [["four", "five"], ["six", "seven"]] {
                try await speaker.stop()
                for suffix in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: store.path + suffix) }
                try FileManager.default.copyItem(at: copy, to: store)
                speaker = try await Speaker(over: streams, in: folder)
                // Fewer than were lost: their sequences were all given before.
                try await speaker.say(expected[0])
                try await speaker.say(expected[1])
                try await eventually("what is new is heard") { awake.words.suffix(2) == expected[...] }
                guard expected[0] == "four" else { continue }
                try await away.listen()
                try await eventually("who was away hears it too") { away.words == ["one", "two", "three", "four", "five"] }
            }
            // The copy knew nothing of the epoch before the second restore: it went by what had been confirmed.
            #expect(awake.words == ["one", "two", "three", "lost", "lost too", "four", "five", "six", "seven"])
            await awake.end()
            await away.end()
            try await speaker.stop()
        }
    }
}
