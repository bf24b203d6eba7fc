// Saying facts: a row of the stream's log in the transaction of the change, and the frame after its commit.

import Bus
package import Contracts
import Foundation
package import GRDB
package import Sealing
package import Storage

/// One stream of this service whose facts are JSON and stored as they are said.
package struct FactStream: Sendable {
    package let stream: String
    private let epoch: String
    private let relay: EventRelay
    private let key: SymmetricKey?
    private let log = StreamLog()

    /// - Parameter key: seals the stored bodies; without one they stand in the file as they are said, which suits facts that tell
    ///   nothing about anybody.
    package init(stream: String, epoch: String, relay: EventRelay, sealedUnder key: SymmetricKey? = nil) {
        (self.stream, self.epoch, self.relay, self.key) = (stream, epoch, relay, key)
    }

    /// Call in the transaction of the change; hand what it gives to `publish` once that is committed, every time.
    package func append(
        _ db: Database, type: String, subject: PersonID?, body: some Encodable, at: Timestamp, trace: String = ""
    ) throws -> EventRelay.Committed {
        var appending = StreamLog.Appending()
        let fact = try append(db, in: &appending, type: type, subject: subject, body: body, at: at, trace: trace)
        try appending.finish(db)
        return fact
    }

    /// As the other, among many facts of one body.
    package func append(
        _ db: Database, in facts: inout StreamLog.Appending, type: String, subject: PersonID?, body: some Encodable, at: Timestamp,
        trace: String
    ) throws -> EventRelay.Committed {
        let payload = try FactStream.payload(body)
        let stored = try key.map { try Seal.seal(payload, key: $0, context: context(type, subject, at)) } ?? payload
        let sequence = try facts.append(db, stream: stream, type: type, subject: subject, at: at, trace: trace, body: stored)
        return EventRelay.Committed(header: header(type, subject, sequence, at, trace)) { payload }
    }

    /// After the commit, in any order; each fact once.
    package func publish(_ facts: [EventRelay.Committed]) {
        for fact in facts { relay.committed(fact) }
    }

    package func publish(_ facts: EventRelay.Committed...) {
        publish(facts)
    }

    /// What `StreamSource` renders for this stream: the payload as it was said.
    package func render(_ row: StreamRow) throws -> [UInt8]? {
        try key.map { try Seal.open(row.body, key: $0, context: context(row.type, row.subject, row.at)) } ?? row.body
    }

    /// One page of a snapshot: what is true now, as if it were said now. Keep pages well under 1 MiB.
    /// - Parameter next: where the following page begins; nil at the end.
    package func snapshot<Body: Encodable>(
        _ db: Database, type: String, facts: [(subject: PersonID?, body: Body)], next: String?
    ) throws -> SnapshotStream.Reply {
        let head = try log.head(db, stream)
        let facts = try facts.map { fact in
            ReplayStream.Fact(
                header: header(type, fact.subject, head, Timestamp(milliseconds: 0), ""),
                payload: String(decoding: try FactStream.payload(fact.body), as: UTF8.self))
        }
        return SnapshotStream.Reply(epoch: epoch, sequence: head, facts: facts, next: next)
    }

    private func header(_ type: String, _ subject: PersonID?, _ sequence: Int64, _ at: Timestamp, _ trace: String) -> StreamHeader {
        StreamHeader(
            stream: stream, epoch: epoch, sequence: sequence, head: sequence, type: type, subject: subject?.description ?? "", at: at,
            trace: trace)
    }

    private func context(_ type: String, _ subject: PersonID?, _ at: Timestamp) -> [UInt8] {
        Array("stream_log|\(stream)|\(type)|\(subject?.description ?? "")|\(at.milliseconds)".utf8)
    }

    private static func payload(_ body: some Encodable) throws -> [UInt8] {
        if let body = body as? any HandWrittenJSON { return body.handWritten }
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        return Array(try encoder.encode(body))
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
