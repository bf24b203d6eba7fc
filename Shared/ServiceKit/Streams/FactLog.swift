// What every stream of JSON facts does with the log of its store: append, seal, render, snapshot by pages.

package import Contracts
import Foundation
package import GRDB
package import Sealing
package import Storage

/// How the rows of a stream keep what was published: sealed where it is personal.
package struct FactSeal: Sendable {
    /// Where a payload stands, so that a seal can be bound to it.
    package struct Place: Sendable {
        package let stream: String
        package let type: String
        package let subject: PersonID?
        package let at: Timestamp
    }

    /// In the transaction of the fact.
    let seal: @Sendable (_ payload: [UInt8], Place) throws -> [UInt8]
    let open: @Sendable (StreamRow) throws -> [UInt8]?

    /// - Parameter open: the payload as it was published, byte for byte; nil where the person's key is gone.
    package init(
        seal: @escaping @Sendable (_ payload: [UInt8], Place) throws -> [UInt8], open: @escaping @Sendable (StreamRow) throws -> [UInt8]?
    ) {
        (self.seal, self.open) = (seal, open)
    }

    /// Rows stand in the file as they are published, which suits facts that tell nothing about anybody but ids.
    package static let clear = FactSeal(seal: { payload, _ in payload }, open: { $0.body })

    /// Under a key of the service's own.
    package static func under(_ key: SymmetricKey) -> FactSeal {
        FactSeal { payload, place in
            try Seal.seal(payload, key: key, context: context(place.stream, place.type, place.subject, place.at))
        } open: { row in
            try Seal.open(row.body, key: key, context: context(row.stream, row.type, row.subject, row.at))
        }
    }

    private static func context(_ stream: String, _ type: String, _ subject: PersonID?, _ at: Timestamp) -> [UInt8] {
        Array("stream_log|\(stream)|\(type)|\(subject?.description ?? "")|\(at.milliseconds)".utf8)
    }
}

/// What tells a consumer of a snapshot where the following page begins: the last row of a page.
package protocol SnapshotPlace: Sendable {
    /// Before the first row.
    static var start: Self { get }
    /// Nil for what no page gave.
    init?(cursor: String)
    var cursor: String { get }
}

extension Int64: SnapshotPlace {
    package static var start: Int64 { 0 }
    package init?(cursor: String) { self.init(cursor) }
    package var cursor: String { String(self) }
}

extension Identifier: SnapshotPlace {
    package static var start: Self { Self(bits: 0) }
    package init?(cursor: String) { self.init(cursor) }
    package var cursor: String { description }
}

extension SnapshotStream {
    /// - Throws: `invalid` for a cursor that no page gave.
    package func place<Place: SnapshotPlace>(_: Place.Type = Place.self) throws -> Place {
        guard let after else { return .start }
        guard let place = Place(cursor: after) else { throw Failure(.invalid, "after is the next of the page before") }
        return place
    }
}

/// One stream's facts in the log of this service's store.
package struct FactLog: Sendable {
    package let stream: String
    package let epoch: String
    private let seal: FactSeal
    private let log = StreamLog()

    package init(stream: String, epoch: String, seal: FactSeal = .clear) {
        (self.stream, self.epoch, self.seal) = (stream, epoch, seal)
    }

    // MARK: Appending

    /// Call in the transaction of the change; give what it returns to the stream's relay (`publish(_:afterCommitOf:)`), every time.
    package func append(
        _ db: Database, type: String, subject: PersonID?, body: some Encodable, at: Timestamp, trace: String = ""
    ) throws -> EventRelay.Committed {
        let payload = try Self.payload(body)
        let stored = try seal.seal(payload, .init(stream: stream, type: type, subject: subject, at: at))
        return try append(db, type: type, subject: subject, stored: stored, at: at, trace: trace) { payload }
    }

    /// Appends one of many facts of one body, in the transaction of the change.
    package func append(
        _ db: Database, in facts: inout StreamLog.Appending, type: String, subject: PersonID?, body: some Encodable, at: Timestamp,
        trace: String
    ) throws -> EventRelay.Committed {
        try append(db, in: &facts, type: type, subject: subject, payload: Self.payload(body), at: at, trace: trace)
    }

    /// Appends a fact whose `payload` was rendered before the transaction.
    package func append(
        _ db: Database, in facts: inout StreamLog.Appending, type: String, subject: PersonID?, payload: [UInt8], at: Timestamp,
        trace: String
    ) throws -> EventRelay.Committed {
        let stored = try seal.seal(payload, .init(stream: stream, type: type, subject: subject, at: at))
        let sequence = try facts.append(db, stream: stream, type: type, subject: subject, at: at, trace: trace, body: stored)
        return EventRelay.Committed(header: header(type, subject, sequence, at, trace)) { payload }
    }

    /// Appends a fact of which the log keeps `stored`, from which the payload is rendered again.
    package func append(
        _ db: Database, type: String, subject: PersonID?, stored: [UInt8], at: Timestamp, trace: String = "",
        payload: @escaping @Sendable () throws -> [UInt8]
    ) throws -> EventRelay.Committed {
        let sequence = try log.append(db, stream: stream, type: type, subject: subject, at: at, trace: trace, body: stored)
        return EventRelay.Committed(header: header(type, subject, sequence, at, trace), payload: payload)
    }

    /// What `StreamSource` renders for this stream: the payload as it was published; nil where the person's key is gone.
    package func render(_ row: StreamRow) throws -> [UInt8]? {
        try seal.open(row)
    }

    // MARK: Snapshots

    /// A fact of a snapshot: it is true now.
    package struct Current: Sendable {
        let type: String
        let subject: PersonID?
        let at: Timestamp
        let payload: [UInt8]

        package init(type: String, subject: PersonID?, body: some Encodable, at: Timestamp = Timestamp(milliseconds: 0)) throws {
            (self.type, self.subject, self.at, payload) = (type, subject, at, try FactLog.payload(body))
        }
    }

    /// One page: what is true now, as if it were published now. Keep pages well under 1 MiB.
    /// - Parameter next: where the following page begins; nil at the end.
    package func page(_ db: Database, _ facts: [Current], next: String?) throws -> SnapshotStream.Reply {
        let head = try log.head(db, stream)
        return SnapshotStream.Reply(
            epoch: epoch, sequence: head,
            facts: facts.map { fact in
                ReplayStream.Fact(
                    header: header(fact.type, fact.subject, head, fact.at, ""), payload: String(decoding: fact.payload, as: UTF8.self))
            }, next: next)
    }

    private func header(_ type: String, _ subject: PersonID?, _ sequence: Int64, _ at: Timestamp, _ trace: String) -> StreamHeader {
        StreamHeader(
            stream: stream, epoch: epoch, sequence: sequence, head: sequence, type: type, subject: subject?.description ?? "", at: at,
            trace: trace)
    }

    /// A fact as it is published.
    package static func payload(_ body: some Encodable) throws -> [UInt8] {
        if let body = body as? any HandWrittenJSON { return body.handWritten }
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return Array(try encoder.encode(body))
    }
}
