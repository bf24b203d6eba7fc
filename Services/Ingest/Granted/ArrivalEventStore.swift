// SQL sentences for the stream `ingest.arrivals`: that something came in of somebody who shares it, in the upload's own transaction.

import Contracts
import GRDB
import ServiceKit
import Storage

/// Published with what else follows an upload (`Uploads.publish`), on the writer's thread too: uploads come by the thousand
/// each second, and an effect for each fact (`Database.afterCommit`) would be one more allocation.
struct ArrivalEventStore: Sendable {
    static let stream = StreamFamily.arrivals.streams[0]

    private let people: GrantedPeople
    private let log: FactLog
    private let relay: EventRelay

    init(people: GrantedPeople, epoch: String, relay: EventRelay) {
        (self.people, log, self.relay) = (people, FactLog(stream: Self.stream, epoch: epoch), relay)
    }

    /// A fact's body as it will be if all of a group is new.
    struct Rendered: Sendable {
        let metric: Metric
        let first: Int64
        let last: Int64
        let body: [UInt8]

        fileprivate func matches(_ group: MetricGroup) -> Bool {
            (metric, first, last) == (group.metric, group.first, group.last)
        }
    }

    /// Before the writer's turn: what will most probably be published of an upload of the person.
    func render(_ groups: [MetricGroup], of person: PersonID) throws -> [Rendered] {
        guard let types = people.types(of: person) else { return [] }
        return try groups.filter { types.contains($0.metric) }.map { group in
            Rendered(metric: group.metric, first: group.first, last: group.last, body: try Self.payload(group))
        }
    }

    /// - Parameter groups: what of the upload is new; none is empty.
    /// - Returns: what is to be published after the commit.
    func append(
        _ db: Database, _ groups: [MetricGroup], of upload: ReadyUpload, _ appending: inout StreamLog.Appending
    ) throws -> [EventRelay.Committed] {
        let person = upload.device.person
        guard !groups.isEmpty, let types = people.types(of: person) else { return [] }
        return try groups.filter { types.contains($0.metric) }.map { group in
            let body = try upload.arrivals.first { $0.matches(group) }?.body ?? Self.payload(group)
            return try log.append(
                db, in: &appending, type: DataArrived.type, subject: person, payload: body, at: upload.receivedAt, trace: upload.trace)
        }
    }

    func publish(_ arrived: [EventRelay.Committed]) {
        for fact in arrived { relay.committed(fact) }
    }

    private static func payload(_ group: MetricGroup) throws -> [UInt8] {
        try FactLog.payload(
            DataArrived(metric: group.metric, from: Timestamp(milliseconds: group.first), to: Timestamp(milliseconds: group.last + 1)))
    }
}
