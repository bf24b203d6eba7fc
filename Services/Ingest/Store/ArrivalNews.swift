// SQL sentences for the stream `ingest.arrivals`: that something came in of somebody who shares it, in the upload's own transaction.

import Contracts
import Foundation
import GRDB
import ServiceKit
import Storage

struct ArrivalNews: Sendable {
    static let stream = StreamFamily.arrivals.streams[0]

    let people: GrantedPeople
    let epoch: String
    let relay: EventRelay

    /// - Parameter groups: what of the upload is new; none is empty.
    /// - Returns: what is to be published after the commit.
    func append(
        _ db: Database, _ groups: [MetricGroup], of upload: ReadyUpload, _ news: inout StreamLog.Appending
    ) throws -> [EventRelay.Committed] {
        let person = upload.device.person
        guard !groups.isEmpty, let types = people.types(of: person) else { return [] }
        return try groups.filter { types.contains($0.metric) }.map { group in
            let body = try Self.payload(
                DataArrived(
                    metric: group.metric, from: Timestamp(milliseconds: group.first), to: Timestamp(milliseconds: group.last + 1)))
            let sequence = try news.append(
                db, stream: Self.stream, type: DataArrived.type, subject: person, at: upload.receivedAt, trace: upload.trace, body: body)
            let header = StreamHeader(
                stream: Self.stream, epoch: epoch, sequence: sequence, head: sequence, type: DataArrived.type,
                subject: upload.device.subject, at: upload.receivedAt, trace: upload.trace)
            return EventRelay.Committed(header: header) { body }
        }
    }

    func publish(_ facts: [EventRelay.Committed]) {
        for fact in facts { relay.committed(fact) }
    }

    private static func payload(_ fact: DataArrived) throws -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        return Array(try encoder.encode(fact))
    }
}
