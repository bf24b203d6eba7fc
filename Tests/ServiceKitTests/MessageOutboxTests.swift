// Messages that wait in their sender's own store until the notifier has taken them.

import Contracts
import Foundation
import GRDB
import Sealing
import Storage
import Synchronization
import TestKit
import Testing

@testable import ServiceKit

/// A notifier that does as it is told.
private final class Counterpart: Sendable {
    private let state = Mutex<(taken: [MessageID], asked: Int, failure: Failure?)>(([], 0, nil))

    var taken: [MessageID] { state.withLock { $0.taken } }
    var asked: Int { state.withLock { $0.asked } }

    func fail(_ failure: Failure?) {
        state.withLock { $0.failure = failure }
    }

    func take(_ message: SendMessage) throws {
        try state.withLock { state in
            state.asked += 1
            if let failure = state.failure { throw failure }
            state.taken.append(message.message)
        }
    }
}

private struct Sender {
    let store: Store
    let outbox: MessageOutbox

    init(_ folder: URL, _ counterpart: Counterpart, key: SymmetricKey) throws {
        self.init(
            try Store.open(
                folder.appendingPathComponent("sender.db"), applicationID: 1,
                migrations: [Migration(1, "jobs") { try JobTable.create(in: $0) }], logger: JobHarness.logger), counterpart, key: key)
    }

    init(_ store: Store, _ counterpart: Counterpart, key: SymmetricKey) {
        self.store = store
        outbox = MessageOutbox(in: store, sealedUnder: key, logger: JobHarness.logger) { try counterpart.take($0) }
    }

    func enqueue(_ messages: SendMessage...) async throws {
        let (outbox, messages) = (outbox, messages)
        try await store.write { db in for message in messages { try outbox.enqueue(db, message) } }
    }

    func waiting() async throws -> Int {
        try await store.read { [outbox] in try outbox.waiting($0) }
    }

    /// Runs the background part while `body` does.
    func running(_ body: () async throws -> Void) async throws {
        let task = Task { [outbox] in try await outbox.run() }
        defer { task.cancel() }
        try await body()
        task.cancel()
        _ = await task.result
    }
}

private func message(_ person: PersonID? = nil, notAfter: Timestamp? = nil) -> SendMessage {
    SendMessage(
        message: .random(), recipient: Recipient(person: person, mail: "canary@example.org"), channels: [.mail],
        template: .passwordChanged, language: .english, values: ["name": "Canary", "time": "2026-01-10T00:31:00.000Z"],
        notAfter: notAfter)
}

@Suite("Message outbox")
struct MessageOutboxTests {
    private func play(_ body: (URL, Counterpart, SymmetricKey) async throws -> Void) async throws {
        try await withTemporaryFolder { try await body($0, Counterpart(), .random()) }
    }

    @Test("a message is handed over soon after its transaction, in order, once")
    func handsOver() async throws {
        try await play { folder, counterpart, key in
            let sender = try Sender(folder, counterpart, key: key)
            let messages = [message(), message()]
            try await sender.running {
                try await sender.enqueue(messages[0])
                try await eventually("the first") { counterpart.taken.count == 1 }
                try await sender.enqueue(messages[1], messages[1])
                try await eventually("nothing waits") { try await sender.waiting() == 0 }
            }
            #expect(counterpart.taken == messages.map(\.message))
            await sender.store.close()
        }
    }

    @Test("a transaction that is undone takes its messages with it")
    func undone() async throws {
        try await play { folder, counterpart, key in
            let sender = try Sender(folder, counterpart, key: key)
            let (outbox, lost) = (sender.outbox, message())
            await #expect(throws: CancellationError.self) {
                try await sender.store.write { db in
                    try outbox.enqueue(db, lost)
                    throw CancellationError()
                }
            }
            #expect(try await sender.waiting() == 0)
            await sender.store.close()
        }
    }

    @Test("messages survive a silent notifier and a restart of their sender")
    func survives() async throws {
        try await play { folder, counterpart, key in
            counterpart.fail(Failure(.deadline, "nobody answers"))
            let first = try Sender(folder, counterpart, key: key)
            let waiting = message()
            try await first.running {
                try await first.enqueue(waiting)
                try await eventually("several tries") { counterpart.asked >= 2 }
            }
            await first.store.close()
            counterpart.fail(nil)
            let second = try Sender(folder, counterpart, key: key)
            try await second.running {
                try await eventually("it is taken") { counterpart.taken == [waiting.message] }
            }
            await second.store.close()
        }
    }

    @Test("one message that cannot be taken holds up no other", arguments: [Failure.Code.invalid, .conflict, .internal])
    func poison(code: Failure.Code) async throws {
        try await play { folder, counterpart, key in
            let sender = try Sender(folder, counterpart, key: key)
            counterpart.fail(Failure(code, "no"))
            try await sender.running {
                try await sender.enqueue(message())
                try await eventually("it was tried") { counterpart.asked == 1 }
                try await eventually("it is judged") {
                    let left = try await sender.waiting()
                    return code == .internal || left == 0
                }
                counterpart.fail(nil)
                let next = message()
                try await sender.enqueue(next)
                try await eventually("the next is taken") { counterpart.taken == [next.message] }
            }
            #expect(try await sender.waiting() == (code == .internal ? 1 : 0))
            await sender.store.close()
        }
    }

    @Test("what an earlier version left waiting is handed over once, and is forgotten with its person")
    func migrated() async throws {
        try await play { folder, counterpart, key in
            let old = Migration(1, "outbox") { try MessageOutbox.create(in: $0) }
            let new = Migration(2, "jobs") { db in
                try JobTable.create(in: db)
                try MessageOutbox.moveToJobs(in: db)
            }
            func open(_ migrations: [Migration]) throws -> Store {
                try Store.open(
                    folder.appendingPathComponent("sender.db"), applicationID: 1, migrations: migrations, logger: JobHarness.logger)
            }
            let erased = PersonID.random()
            let (sent, forgotten, late) = (message(.random()), message(erased), message(notAfter: Timestamp(milliseconds: 1)))
            let first = try open([old])
            for message in [sent, forgotten, late] {
                let sealed = try Seal.seal(
                    JSONEncoder().encode(message), key: key, context: Array("message_outbox|\(message.message)".utf8))
                try await first.write { db in
                    try db.execute(
                        sql: "INSERT INTO message_outbox (message, person, sealed, not_after, retry_at) VALUES (?, ?, ?, ?, ?)",
                        arguments: [
                            Data(message.message.bytes), message.recipient.person.map { Data($0.bytes) }, Data(sealed),
                            message.notAfter?.milliseconds, (Timestamp.now + .seconds(3600)).milliseconds,
                        ])
                }
            }
            await first.close()
            for _ in 1...2 {
                let sender = Sender(try open([old, new]), counterpart, key: key)
                let outbox = sender.outbox
                try await sender.store.write { db in _ = try outbox.forget(db, erased) }
                try await sender.running { try await eventually("nothing waits") { try await sender.waiting() == 0 } }
                await sender.store.close()
            }
            #expect(counterpart.taken == [sent.message])
        }
    }

    @Test("what is too late is not sent any more")
    func late() async throws {
        try await play { folder, counterpart, key in
            let sender = try Sender(folder, counterpart, key: key)
            try await sender.running {
                try await sender.enqueue(message(notAfter: Timestamp(milliseconds: 1)))
                try await eventually("nothing waits") { try await sender.waiting() == 0 }
            }
            #expect(counterpart.asked == 0)
            await sender.store.close()
        }
    }

    @Test("ACC-29: forgetting a person deletes what waits for them and nothing else; no address is readable in the file")
    func forgets() async throws {
        try await play { folder, counterpart, key in
            let sender = try Sender(folder, counterpart, key: key)
            let (erased, other) = (PersonID.random(), PersonID.random())
            try await sender.enqueue(message(erased), message(erased), message(other), message())
            let outbox = sender.outbox
            #expect(try await sender.store.write { db in try outbox.forget(db, erased) } == 2)
            #expect(try await sender.waiting() == 2)
            await sender.store.close()
            for file in try FileManager.default.contentsOfDirectory(atPath: folder.path) {
                let bytes = try Data(contentsOf: folder.appendingPathComponent(file))
                #expect(bytes.range(of: Data("anary".utf8)) == nil, "\(file)")
            }
        }
    }
}
