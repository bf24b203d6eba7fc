// The queue's file through crashes, damage and folding.

import Contracts
import Foundation
import Synchronization
import TestKit
import Testing

@testable import Operator

@Suite("OutboxQueue")
struct OutboxQueueTests {
    private func entry(_ number: Int) -> [UInt8] { Array("{\"number\":\(number)}".utf8) }

    private func all(_ queue: OutboxQueue, partition: String) -> [[UInt8]] {
        queue.oldest(of: partition, count: 1_000_000, bytes: 1 << 30)?.entries ?? []
    }

    private func file(_ folder: URL) -> URL { folder.appendingPathComponent("queue") }

    @Test("ING-14: what waits is there after the process ended, with its token and its id")
    func survives() async throws {
        try await withTemporaryFolder { folder in
            var queue: OutboxQueue? = try OutboxQueue.open(folder, durability: .written)
            let id = try #require(queue?.id)
            try queue?.open(partition: "a", token: "secret")
            for number in 1...10 { try queue?.append([entry(number)], to: "a") }
            let batch = try #require(queue?.oldest(of: "a", count: 4, bytes: 1000))
            try queue?.finished(batch)
            queue = nil

            let again = try OutboxQueue.open(folder, durability: .flushed)

            #expect(again.id == id && again.partitions == ["a": "secret"] && again.waiting == 6)
            #expect(all(again, partition: "a") == (5...10).map(entry))
            #expect(try #require(again.oldest(of: "a", count: 1, bytes: 1000)).first == 5)
        }
    }

    @Test("ING-02: cut off at any byte, the file opens again and holds every record that was whole")
    func tornAnywhere() async throws {
        try await withTemporaryFolder { folder in
            var lengths: [(bytes: Int, waiting: Int)] = []
            var queue: OutboxQueue? = try OutboxQueue.open(folder, durability: .written)
            try queue?.open(partition: "a", token: "t")
            for number in 1...6 {
                lengths.append((try Data(contentsOf: file(folder)).count, number - 1))
                try queue?.append([entry(number)], to: "a")
            }
            queue = nil
            let whole = try Data(contentsOf: file(folder))
            lengths.append((whole.count, 6))
            for cut in lengths[0].bytes...whole.count {
                try whole.prefix(cut).write(to: file(folder))

                let opened = try OutboxQueue.open(folder, durability: .written)
                let expected = try #require(lengths.last { $0.bytes <= cut }).waiting

                #expect(all(opened, partition: "a") == (0..<expected).map { entry($0 + 1) }, "cut at \(cut)")
                try opened.append([entry(99)], to: "a")
                #expect(opened.waiting == expected + 1)
            }
        }
    }

    @Test("a changed or moved record is noticed, not sent")
    func damage() async throws {
        try await withTemporaryFolder { folder in
            var queue: OutboxQueue? = try OutboxQueue.open(folder, durability: .written)
            try queue?.append([entry(1)], to: "a")
            let middle = try Data(contentsOf: file(folder)).count
            try queue?.append([entry(2)], to: "a")
            try queue?.append([entry(3)], to: "a")
            queue = nil
            var bytes = try Data(contentsOf: file(folder))
            bytes[middle + 20] ^= 1
            try bytes.write(to: file(folder))

            #expect { try OutboxQueue.open(folder, durability: .written) } throws: { "\($0)".contains("damaged") }
        }
    }

    @Test("nothing that was queued can be read in the file, and neither file can be read by others")
    func sealed() async throws {
        try await withTemporaryFolder { folder in
            let queue = try OutboxQueue.open(folder, durability: .flushed)
            try queue.open(partition: "dev_x", token: "token-73.28125")
            try queue.append([Array("45.4642137".utf8)], to: "dev_x")

            let bytes = try Data(contentsOf: file(folder))

            for canary in ["73.28125", "45.4642137", "dev_x"] { #expect(bytes.range(of: Data(canary.utf8)) == nil) }
            let paths = try FileManager.default.subpathsOfDirectory(atPath: folder.path).filter {
                !$0.hasSuffix("key") || $0.hasSuffix("queue.key")
            }
            for path in paths {
                let attributes = try FileManager.default.attributesOfItem(atPath: folder.appendingPathComponent(path).path)
                #expect((attributes[.posixPermissions] as? Int ?? 0o777) & 0o077 == 0, "\(path)")
            }
        }
    }

    @Test("a second process is kept out of a queue")
    func locked() async throws {
        try await withTemporaryFolder { folder in
            let queue = try OutboxQueue.open(folder, durability: .written)

            #expect { try OutboxQueue.open(folder, durability: .written) } throws: { "\($0)".contains("another process") }
            #expect(queue.waiting == 0)
        }
    }

    @Test("a long history is folded away, and what waits stays with its places")
    func folds() async throws {
        try await withTemporaryFolder { folder in
            var queue: OutboxQueue? = try OutboxQueue.open(folder, durability: .written)
            try queue?.open(partition: "a", token: "t")
            let large = [UInt8](repeating: 0x61, count: 1 << 20)
            for _ in 0..<12 {
                try queue?.append([large, entry(1)], to: "a")
                try queue?.finished(#require(queue?.oldest(of: "a", count: 1, bytes: 2 << 20)))
                try queue?.finished(#require(queue?.oldest(of: "a", count: 1, bytes: 2 << 20)))
            }
            try queue?.append([entry(7)], to: "a")
            let id = queue?.id
            #expect(try Data(contentsOf: file(folder)).count < 2 << 20)
            queue = nil

            let again = try OutboxQueue.open(folder, durability: .written)

            #expect(all(again, partition: "a") == [entry(7)] && again.id == id && again.partitions == ["a": "t"])
            #expect(try #require(again.oldest(of: "a", count: 1, bytes: 1000)).first == 25)
        }
    }

    @Test("what was delivered before older entries is not sent again after a crash, and the older ones are, also of a folded file")
    func gaps() async throws {
        try await withTemporaryFolder { folder in
            var queue: OutboxQueue? = try OutboxQueue.open(folder, durability: .written)
            try queue?.append((1...10).map(entry), to: "a")
            try queue?.finished(#require(queue?.newest(of: "a", count: 3, bytes: 1000)))
            try queue?.append([entry(11)], to: "a")
            queue = nil
            queue = try OutboxQueue.open(folder, durability: .written)
            #expect(queue?.waiting == 8)
            #expect(queue?.newest(of: "a", count: 5, bytes: 1000) == OutboxBatch(partition: "a", first: 11, last: 11, entries: [entry(11)]))
            // Long enough to be folded, and no place is left to it.
            let large = [UInt8](repeating: 0x61, count: 1 << 20)
            for _ in 0..<9 {
                try queue?.append([large], to: "b")
                try queue?.finished(#require(queue?.newest(of: "b", count: 1, bytes: 1)))
            }
            #expect(try Data(contentsOf: file(folder)).count < 2 << 20)
            queue = nil

            let again = try OutboxQueue.open(folder, durability: .written)

            #expect(all(again, partition: "a") == (1...7).map(entry) && again.waiting == 8)
            #expect(again.newest(of: "a", count: 5, bytes: 1000)?.first == 11 && again.end(of: "a") == 12 && again.end(of: "b") == 10)
        }
    }

    @Test("ING-14: after hours without a server, with more waiting than a record holds, nothing is lost by the folding of the file")
    func foldsLongBacklog() async throws {
        try await withTemporaryFolder { folder in
            var queue: OutboxQueue? = try OutboxQueue.open(folder, durability: .written)
            let large = [UInt8](repeating: 0x61, count: 1 << 20)
            for _ in 0..<18 { try queue?.append([large], to: "a") }
            try queue?.append([entry(1)], to: "a")
            try queue?.finished(#require(queue?.newest(of: "a", count: 1, bytes: 1000)))
            queue = nil

            let again = try OutboxQueue.open(folder, durability: .written)

            #expect(again.waiting == 18 && again.end(of: "a") == 20)
        }
    }

    @Test("a queue of an earlier version is read on: what it had delivered stays so")
    func earlierRecord() {
        let earlier: [UInt8] = [4, 1, 0, 0, 0, 0x61, 7, 0, 0, 0, 0, 0, 0, 0]
        #expect(OutboxRecord(earlier) == .done(partition: "a", 1...7))
        let record = OutboxRecord.done(partition: "a", 3...9)
        #expect(OutboxRecord(record.encoded) == record)
    }
}

@Suite("QueueSender")
struct QueueSenderTests {
    /// A server that answers from a script, then well, and keeps what it got.
    private actor Server {
        private var script: [UploadReply]
        private(set) var requests: [(key: String, body: [UInt8])] = []

        init(_ script: [UploadReply]) { self.script = script }

        func take(_ body: [UInt8], _ key: String) -> UploadReply {
            requests.append((key, body))
            if !script.isEmpty { return script.removeFirst() }
            let count = String(decoding: body, as: UTF8.self).split(separator: "number").count - 1
            return UploadReply(
                outcome: .answered(status: 200, retryAfter: nil), body: Array(#"{"accepted":\#(count),"duplicates":[],"rejected":[]}"#.utf8)
            )
        }
    }

    private func send(
        _ count: Int, to server: Server, in folder: URL, batch: Int = 4
    ) async throws -> (UploadAccount, OutboxQueue) {
        let queue = try OutboxQueue.open(folder, durability: .written)
        try queue.append((0..<count).map { Array("{\"number\":\($0)}".utf8) }, to: "a")
        let account = Account()
        var policy = RetryPolicy()
        policy.backoff = Backoff(.milliseconds(1), upTo: .milliseconds(10))
        let (wakes, wake) = AsyncStream<Void>.makeStream()
        wake.finish()
        let tries = Mutex<Int64>(0)
        let sender = QueueSender(
            partition: "a", token: "t", queue: queue, transport: UploadTransport { body, _, key in await server.take(body, key) },
            policy: policy, batchEntries: batch,
            clock: {
                tries.withLock { number in
                    number += 1
                    return Timestamp(milliseconds: number)
                }
            }
        ) { account.add($0) }
        try await sender.run(wakes)
        return (account.value, queue)
    }

    private final class Account: Sendable {
        private let meter = SimulationMeter()
        func add(_ event: UploadEvent) { meter.change { $0.account.count(event) } }
        var value: UploadAccount { meter.now.account }
    }

    @Test("ING-14: everything is sent in batches, each under its own key: the newest, and behind it the older in order")
    func inOrder() async throws {
        try await withTemporaryFolder { folder in
            let server = Server([])

            let (account, queue) = try await send(10, to: server, in: folder)

            #expect(account.accepted == 10 && account.uploads == 3 && queue.waiting == 0)
            let requests = await server.requests
            #expect(Set(requests.map(\.key)).count == 3)
            #expect(
                requests.map(\.body)
                    == [6..<10, 0..<4, 4..<6].enumerated().map { number, range in
                        UploadBody.batch(
                            range.map { Array("{\"number\":\($0)}".utf8) }, sentAt: Timestamp(milliseconds: Int64(number) + 1))
                    })
        }
    }

    @Test("ING-02: what could not be delivered is sent again, the same bytes under the same key but for the time of sending, told anew")
    func repeats() async throws {
        try await withTemporaryFolder { folder in
            let server = Server([
                UploadReply(outcome: .unreachable, body: []), UploadReply(outcome: .answered(status: 503, retryAfter: .zero), body: []),
                UploadReply(outcome: .answered(status: 429, retryAfter: .zero), body: []),
            ])

            let (account, queue) = try await send(3, to: server, in: folder)

            let requests = await server.requests
            #expect(requests.count == 4 && Set(requests.map(\.key)).count == 1)
            let bodies = requests.map { String(decoding: $0.body, as: UTF8.self) }
            #expect(Set(bodies.map { $0.drop(while: { $0 != "," }) }).count == 1 && Set(bodies).count == 4)
            #expect(account.accepted == 3 && account.pauses == 3 && queue.waiting == 0)
        }
    }

    @Test("a batch that is too large is halved until it fits")
    func halves() async throws {
        try await withTemporaryFolder { folder in
            let tooLarge = UploadReply(outcome: .answered(status: 413, retryAfter: nil), body: [])
            let server = Server([tooLarge, tooLarge])

            let (account, queue) = try await send(4, to: server, in: folder)

            #expect(account.accepted == 4 && account.refused == 0 && queue.waiting == 0)
        }
    }

    @Test("a batch that is refused as a whole is accounted for and does not block the rest")
    func refused() async throws {
        try await withTemporaryFolder { folder in
            let problem = Array(#"{"type":"urn:trackme:problem:malformed-batch","title":"","status":422}"#.utf8)
            let server = Server([UploadReply(outcome: .answered(status: 422, retryAfter: nil), body: problem)])

            let (account, queue) = try await send(6, to: server, in: folder)

            #expect(account.refused == 4 && account.accepted == 2 && queue.waiting == 0)
            #expect(account.reasons == ["422 urn:trackme:problem:malformed-batch": 4])
        }
    }

    @Test("a revoked token and a stranger's 200 stop the partition and lose nothing")
    func stops() async throws {
        for reply in [
            UploadReply(outcome: .answered(status: 401, retryAfter: nil), body: []),
            UploadReply(outcome: .answered(status: 200, retryAfter: nil), body: Array("<html>".utf8)),
        ] {
            try await withTemporaryFolder { folder in
                let (account, queue) = try await send(6, to: Server([reply]), in: folder)

                #expect(account.stopped.count == 1 && queue.waiting == 6)
            }
        }
    }
}
