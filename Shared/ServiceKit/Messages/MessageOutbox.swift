// The messages that a service has decided to send, kept where the decision is kept until the notifier has taken them.

import Bus
package import Contracts
import Foundation
package import GRDB
package import Logging
package import Sealing
package import Storage

/// A message is enqueued in the transaction of what it tells about, so that neither is there without the other. It is handed to
/// the notifier in the background, through restarts of either side, and deleted once the notifier has taken responsibility.
/// Jobs of the kind `message` in a store whose schema holds `JobTable`, sealed under a key of the service's own.
package struct MessageOutbox: Sendable {
    /// Hands one message over; throws `Failure` where it was not taken.
    package typealias Hand = @Sendable (SendMessage) async throws -> Void

    private static let kind = JobKind(
        "message", backoff: Backoff(.seconds(30), upTo: .seconds(30)), silence: Backoff(.milliseconds(100), upTo: .seconds(5)))

    private let queue: JobQueue<SendMessage>
    private let runner: JobRunner<SendMessage, Void>

    /// The key must outlive restarts: what another one sealed can never be sent.
    package init(in store: Store, sealedUnder key: SymmetricKey, logger: Logger, hand: @escaping Hand) {
        // Seals of before there were jobs are bound to their table's name.
        queue = JobQueue(Self.kind, sealed: .under(key) { "message_outbox|\($0.id)" })
        runner = JobRunner(queue, in: store, logger: logger) { job in
            do {
                try await hand(job.body)
            } catch let failure as Failure where failure.code == .conflict {
                // The other of two dispatchers has handed it over, in its own words.
                logger.info("a message of this id was taken before", metadata: ["message": "\(job.id)"])
            } catch let failure as Failure where failure.code == .invalid {
                throw JobGivenUp(failure)
            }
            return { _ in }
        }
    }

    /// The outbox of a running service: its key is the secret `outbox.key`, its messages go to the suite's notifier.
    package init(in store: Store, on runtime: Runtime) async throws {
        let notifier = try await runtime.client(of: .notifier)
        self.init(in: store, sealedUnder: try runtime.key("outbox"), logger: runtime.logger) { message in
            // The notifier answers after its commit, which on a busy disk may take longer than a quick question's 250 ms.
            _ = try await notifier.ask(message, trace: "\(message.message)", deadline: .seconds(2))
        }
    }

    /// Call in the transaction of what the message tells about. The same message again changes nothing.
    package func enqueue(_ db: Database, _ message: SendMessage) throws {
        try queue.enqueue(db, message, id: "\(message.message)", of: message.recipient.person, notAfter: message.notAfter)
    }

    /// Deletes what waits for the person; part of erasing them. What the notifier has taken is its own to erase.
    /// - Returns: how many messages.
    @discardableResult
    package func forget(_ db: Database, _ person: PersonID) throws -> Int {
        try queue.forget(db, person)
    }

    /// How many messages wait.
    package func waiting(_ db: Database) throws -> Int {
        try queue.waiting(db)
    }

    /// Hands over what waits until it is cancelled. A part of the service (`Background`).
    package func run() async throws {
        try await runner.run()
    }

    /// For the service's list.
    package var jobs: any JobRunning { runner }
}

// MARK: Before there were jobs

extension MessageOutbox {
    /// For the migrations of before there were jobs.
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

    /// For the migration that brings `jobs`: what waits goes there as it is sealed.
    package static func moveToJobs(in db: Database) throws {
        for row in try Row.fetchAll(db, sql: "SELECT message, person, sealed, not_after FROM message_outbox ORDER BY number") {
            guard let message: MessageID = row.value(0) else { continue }
            try JobTable().add(
                db,
                JobTable.NewJob(
                    kind: kind.name, id: "\(message)", person: row.value(1), body: [UInt8](row[2] as Data), due: Timestamp(milliseconds: 0),
                    notAfter: row[3], createdAt: .now))
        }
        try db.execute(sql: "DROP TABLE message_outbox")
    }
}
