// Publishing facts: a row of the stream's log in the transaction of the change, and the frame after its commit.

import Bus
package import Contracts
package import GRDB
package import Sealing
package import Storage

/// One stream of this service with its way to the wire; its facts are JSON, and are published by the transaction that appends them.
package struct FactStream: Sendable {
    package let log: FactLog
    private let relay: EventRelay

    /// - Parameter key: seals the stored bodies; without one they stand in the file as they are published.
    package init(stream: String, epoch: String, relay: EventRelay, sealedUnder key: SymmetricKey? = nil) {
        (log, self.relay) = (FactLog(stream: stream, epoch: epoch, seal: key.map(FactSeal.under) ?? .clear), relay)
    }

    package var stream: String { log.stream }

    /// Appends the fact in the transaction of the change, and publishes it once that is on disk.
    package func publish(
        _ db: Database, type: String, subject: PersonID?, body: some Encodable, at: Timestamp, trace: String = ""
    ) throws {
        relay.publish(try log.append(db, type: type, subject: subject, body: body, at: at, trace: trace), afterCommitOf: db)
    }

    /// Appends one of many facts of one body, and publishes it once the transaction is on disk.
    package func publish(
        _ db: Database, in facts: inout StreamLog.Appending, type: String, subject: PersonID?, body: some Encodable, at: Timestamp,
        trace: String
    ) throws {
        relay.publish(try log.append(db, in: &facts, type: type, subject: subject, body: body, at: at, trace: trace), afterCommitOf: db)
    }

    package func render(_ row: StreamRow) throws -> [UInt8]? {
        try log.render(row)
    }

    /// As `FactLog.page`.
    package func snapshot<Body: Encodable>(
        _ db: Database, type: String, facts: [(subject: PersonID?, body: Body)], next: String?
    ) throws -> SnapshotStream.Reply {
        try log.page(db, facts.map { try FactLog.Current(type: type, subject: $0.subject, body: $0.body) }, next: next)
    }
}

extension Runtime {
    /// Publishes a family of this service from where its log stands.
    package func relay(of family: StreamFamily, in store: Store) async throws -> (relay: EventRelay, epoch: String) {
        let log = StreamLog()
        let (epoch, heads) = try await store.read { db in
            (try log.epoch(db), try family.streams.map { ($0, try log.head(db, $0)) })
        }
        let known = Dictionary(uniqueKeysWithValues: heads)
        return (EventRelay(publisher: try await publisher(of: family, epoch: epoch, heads: known), heads: known), epoch)
    }
}
