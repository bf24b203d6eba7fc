// A stream whose facts replace each other: each says what one thing is now, and a snapshot is all that is true now.

package import Contracts
package import GRDB
package import Storage

/// Facts of one type of a stream that keeps state. A stream with several types has one of these for each, over the same log.
package struct StateStream<Fact: Encodable & Sendable>: Sendable {
    package let log: FactLog
    package let type: String

    /// - Parameter type: kind and version of the facts, as `grant-state.v1`.
    package init(_ type: String, in log: FactLog) {
        (self.log, self.type) = (log, type)
    }

    package init(_ type: String, stream: String, epoch: String, seal: FactSeal = .clear) {
        self.init(type, in: FactLog(stream: stream, epoch: epoch, seal: seal))
    }

    /// Call in the transaction of the change; give what it returns to the stream's relay (`publish(_:afterCommitOf:)`), every time.
    package func append(
        _ db: Database, _ fact: Fact, about person: PersonID?, at: Timestamp, trace: String = ""
    ) throws -> EventRelay.Committed {
        try log.append(db, type: type, subject: person, body: fact, at: at, trace: trace)
    }

    package func render(_ row: StreamRow) throws -> [UInt8]? {
        try log.render(row)
    }

    package func current(_ fact: Fact, about person: PersonID?) throws -> FactLog.Current {
        try FactLog.Current(type: type, subject: person, body: fact)
    }

    /// The page of a snapshot that was asked for.
    /// - Parameters:
    ///   - limit: rows of a page, such that their facts are well under 1 MiB.
    ///   - rows: in the order of their places, after a place, at most so many; without a fact where nothing is true of the row any more.
    /// - Throws: `invalid` for a cursor that no page gave.
    package func snapshot<Place: SnapshotPlace>(
        _ db: Database, _ asked: SnapshotStream, limit: Int = 1000,
        _ rows: (_ after: Place, _ limit: Int) throws -> [(place: Place, person: PersonID?, fact: Fact?)]
    ) throws -> SnapshotStream.Reply {
        let found = try rows(asked.place(), limit)
        let facts = try found.compactMap { row in try row.fact.map { try current($0, about: row.person) } }
        return try log.page(db, facts, next: found.count == limit ? found.last?.place.cursor : nil)
    }
}
