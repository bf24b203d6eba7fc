// The messages that a service has decided to send, kept where the decision is kept until the notifier has taken them.

import Bus
package import Contracts
import Foundation
package import GRDB
package import Logging
import Metrics
package import Sealing
package import Storage

/// A message is enqueued in the transaction of what it tells about, so that neither is there without the other. It is handed to
/// the notifier in the background, through restarts of either side, and deleted once the notifier has taken responsibility.
/// Rows are sealed under a key of the service's own, so that they can be sent after a restart; erasing a person deletes them.
package struct MessageOutbox: Sendable {
    /// Hands one message over; throws `Failure` where it was not taken.
    package typealias Hand = @Sendable (SendMessage) async throws -> Void

    /// Messages that are asked about at the same time.
    private static let atOnce = 8
    /// Pauses while the notifier does not answer: doubled from the first to the last.
    private static let pauses = Duration.milliseconds(100)...Duration.seconds(5)
    /// How long a message waits that the notifier could not take although it answers.
    private static let setAside = Duration.seconds(30)
    /// Without a ring the table is looked at all the same.
    private static let look = Duration.seconds(10)

    private let store: Store
    private let key: SymmetricKey
    private let hand: Hand
    private let logger: Logger
    private let bell = Bell()

    /// The key must outlive restarts: what another one sealed can never be sent, and is dropped and counted.
    package init(in store: Store, sealedUnder key: SymmetricKey, logger: Logger, hand: @escaping Hand) {
        (self.store, self.key, self.logger, self.hand) = (store, key, logger, hand)
    }

    /// The outbox of a running service: its key is the secret `outbox.key`, its messages go to the suite's notifier.
    package init(in store: Store, on runtime: Runtime) async throws {
        let notifier = try await runtime.client(of: .notifier)
        self.init(in: store, sealedUnder: try runtime.key("outbox"), logger: runtime.logger) { message in
            // The notifier answers after its commit, which on a busy disk may take longer than a quick question's 250 ms.
            _ = try await notifier.ask(message, trace: "\(message.message)", deadline: .seconds(2))
        }
    }

    /// For a migration.
    package static func create(in db: Database) throws {
        try db.execute(
            sql: """
                CREATE TABLE message_outbox (
                    number INTEGER PRIMARY KEY AUTOINCREMENT,
                    message BLOB NOT NULL UNIQUE,
                    person BLOB,
                    sealed BLOB NOT NULL,
                    not_after INTEGER,
                    retry_at INTEGER NOT NULL DEFAULT 0
                ) STRICT;
                CREATE INDEX message_outbox_by_person ON message_outbox (person);
                """)
    }

    /// Call in the transaction of what the message tells about. The same message again changes nothing.
    package func enqueue(_ db: Database, _ message: SendMessage) throws {
        let plain = try JSONEncoder().encode(message)
        let sealed = try Seal.seal(plain, key: key, context: MessageOutbox.context(message.message))
        try db.cachedStatement(
            sql: "INSERT INTO message_outbox (message, person, sealed, not_after) VALUES (?, ?, ?, ?) ON CONFLICT (message) DO NOTHING"
        ).execute(arguments: [
            Data(message.message.bytes), message.recipient.person.map { Data($0.bytes) }, Data(sealed), message.notAfter?.milliseconds,
        ])
        db.afterNextTransaction { [bell] _ in bell.ring() }
    }

    /// Deletes what waits for the person; part of erasing them. What the notifier has taken is its own to erase.
    /// - Returns: how many messages.
    @discardableResult
    package func forget(_ db: Database, _ person: PersonID) throws -> Int {
        try db.execute(sql: "DELETE FROM message_outbox WHERE person = ?", arguments: [Data(person.bytes)])
        return db.changesCount
    }

    /// How many messages wait.
    package func waiting(_ db: Database) throws -> Int {
        try Int.fetchOne(db, sql: "SELECT count(*) FROM message_outbox") ?? 0
    }

    // MARK: Sending

    /// Hands over what waits, oldest first, until it is cancelled. A part of the service (`Background`).
    package func run() async throws {
        var pause = MessageOutbox.pauses.lowerBound
        while !Task.isCancelled {
            let rows = try await due()
            guard !rows.isEmpty else {
                await bell.wait(atMost: MessageOutbox.look)
                continue
            }
            if try await handOver(rows) {
                pause = MessageOutbox.pauses.lowerBound
            } else {
                try await Task.sleep(for: pause * Double.random(in: 0.5...1))
                pause = min(pause * 2, MessageOutbox.pauses.upperBound)
            }
        }
        throw CancellationError()
    }

    private struct Waiting: Sendable {
        var id: MessageID
        var sealed: [UInt8]
    }

    private enum Fate: Sendable {
        case taken
        case refused(Failure)
        case later(Failure)
        /// The notifier is not there: the others need not be tried either.
        case silence
    }

    private func due() async throws -> [Waiting] {
        try await store.read { db in
            let now = Timestamp.now.milliseconds
            let rows = try Row.fetchAll(
                db, sql: "SELECT message, sealed FROM message_outbox WHERE retry_at <= ? ORDER BY number LIMIT ?",
                arguments: [now, MessageOutbox.atOnce])
            return rows.compactMap { row in
                MessageID(bytes: row["message"] as Data).map { Waiting(id: $0, sealed: Array(row["sealed"] as Data)) }
            }
        }
    }

    /// Returns whether the notifier answered.
    private func handOver(_ rows: [Waiting]) async throws -> Bool {
        let fates = await withTaskGroup(of: (MessageID, Fate).self) { group in
            for row in rows { group.addTask { (row.id, await fate(of: row)) } }
            return await group.reduce(into: []) { $0.append($1) }
        }
        let retryAt = (Timestamp.now + MessageOutbox.setAside).milliseconds
        try await store.write { db in
            for (id, fate) in fates {
                switch fate {
                case .taken, .refused:
                    try db.execute(sql: "DELETE FROM message_outbox WHERE message = ?", arguments: [Data(id.bytes)])
                case .later:
                    try db.execute(
                        sql: "UPDATE message_outbox SET retry_at = ? WHERE message = ?", arguments: [retryAt, Data(id.bytes)])
                case .silence: break
                }
            }
        }
        return !fates.contains { if case .silence = $0.1 { true } else { false } }
    }

    private func fate(of row: Waiting) async -> Fate {
        do {
            let plain = try Seal.open(row.sealed, key: key, context: MessageOutbox.context(row.id))
            let message = try JSONDecoder().decode(SendMessage.self, from: Data(plain))
            if let notAfter = message.notAfter, notAfter < .now {
                return refused(row.id, Failure(.deadline, "too late to be sent"))
            }
            try await hand(message)
            return .taken
        } catch let failure as Failure {
            switch failure.code {
            case .unavailable, .deadline: return .silence
            case .conflict:
                // The other of two dispatchers has handed it over, in its own words.
                logger.info("a message of this id was taken before", metadata: ["message": "\(row.id)"])
                return .taken
            case .invalid: return refused(row.id, failure)
            case .notFound, .forbidden, .unknownMethod, .internal:
                logger.warning("a message waits", metadata: ["message": "\(row.id)", "code": "\(failure.code.rawValue)"])
                return .later(failure)
            }
        } catch is SealingError {
            return refused(row.id, Failure(.internal, "cannot be opened"))
        } catch is DecodingError {
            return refused(row.id, Failure(.internal, "cannot be read"))
        } catch {
            return .silence
        }
    }

    private func refused(_ id: MessageID, _ failure: Failure) -> Fate {
        Counter(label: "messages_dropped_total", dimensions: [("code", failure.code.rawValue)]).increment()
        logger.error("a message will never be sent", metadata: ["message": "\(id)", "code": "\(failure.code.rawValue)"])
        return .refused(failure)
    }

    /// Binds a seal to its row.
    private static func context(_ id: MessageID) -> [UInt8] {
        Array("message_outbox|\(id)".utf8)
    }
}
