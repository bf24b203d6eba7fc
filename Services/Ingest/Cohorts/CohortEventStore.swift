// SQL sentences for the stream `ingest.cohort`: hours that are said in the transaction that notes it, and hours that are closed.

import Contracts
import GRDB
import Logging
import Sealing
import ServiceKit
import Storage

/// Rows of a person are sealed under the person's own key and opened again at replay; that hours are closed is about nobody and clear.
struct CohortEventStore: Sendable {
    static let stream = StreamFamily.cohortHours.streams[0]

    private let keys: PersonKeys
    private let people: CohortPeopleStore
    private let log: FactLog
    private let relay: EventRelay

    /// - Parameter relay: of the family `ingest.cohort`.
    init(keys: PersonKeys, people: CohortPeopleStore, epoch: String, relay: EventRelay, logger: Logger) {
        (self.keys, self.people, self.relay) = (keys, people, relay)
        log = FactLog(stream: Self.stream, epoch: epoch, seal: Self.seal(keys, logger))
    }

    /// Whoever was erased, or shares something else since it was found, is left out, to be looked at again.
    func say(_ db: Database, _ found: [HourSums], at: Timestamp) throws {
        var facts = StreamLog.Appending()
        for sums in found {
            let person = sums.row.person
            if let key = sums.key, !keys.isCurrent(key, of: person) { continue }
            guard try people.move(db, sums.row, to: sums.through) else { continue }
            for payload in sums.payloads {
                let fact = try log.append(
                    db, in: &facts, type: CohortHourSummed.type, subject: person, payload: payload, at: at, trace: "")
                relay.publish(fact, afterCommitOf: db)
            }
        }
        try facts.finish(db)
    }

    /// Says once that all hours before `hour` are closed, where everybody's are said.
    func close(_ db: Database, before hour: Int64, at: Timestamp) throws {
        guard try people.close(db, before: hour) else { return }
        let closed = CohortHoursClosed(through: Timestamp(milliseconds: hour))
        relay.publish(try log.append(db, type: CohortHoursClosed.type, subject: nil, body: closed, at: at), afterCommitOf: db)
    }

    /// The payload as it was published; nil where the person's key is gone, and for a damaged row, which is logged and holds up nobody
    /// else's hours.
    func render(_ row: StreamRow) throws -> [UInt8]? {
        try log.render(row)
    }

    private static func seal(_ keys: PersonKeys, _ logger: Logger) -> FactSeal {
        FactSeal { payload, place in
            guard let person = place.subject else { return payload }
            guard let key = try keys.key(of: person) else { throw KeyDestroyed() }
            return try Seal.seal(payload, key: key, context: context(person, place.at))
        } open: { row in
            guard let person = row.subject else { return row.body }
            guard let key = try keys.usableKey(of: person) else { return nil }
            return try opened(row, of: person, key, logger)
        }
    }

    /// Nil for a row that is not as it was stored.
    private static func opened(
        _ row: StreamRow, of person: PersonID, _ key: SymmetricKey, _ logger: Logger
    ) throws(SealingError) -> [UInt8]? {
        do throws(SealingError) {
            return try Seal.open(row.body, key: key, context: context(person, row.at))
        } catch {
            guard error == .cannotOpen else { throw error }
            logger.error(
                "a row of the stream's log cannot be read and is skipped",
                metadata: ["stream": "\(row.stream)", "sequence": "\(row.sequence)"])
            return nil
        }
    }

    private static func context(_ person: PersonID, _ at: Timestamp) -> [UInt8] {
        Array("stream_log \(stream) \(at.milliseconds) ".utf8) + person.bytes
    }
}
