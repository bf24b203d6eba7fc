// SQL sentences for the streams `consent.grants` and `consent.requests`: what is said in the transaction that changes a request.

import Contracts
import Foundation
import GRDB
import Sealing
import ServiceKit
import Storage

/// Facts that are committed and wait to be told.
struct SharingFacts: Sendable {
    var grants: [EventRelay.Committed] = []
    var requests: [EventRelay.Committed] = []

    mutating func add(_ more: SharingFacts) {
        grants += more.grants
        requests += more.requests
    }
}

/// Grants are said in the clear: types, times and ids. What is said of requests holds the signed receipt, which repeats name and
/// purpose, so its rows are sealed under the person's key and opened again at publication and replay.
struct SharingNews: Sendable {
    static let grantsStream = StreamFamily.grants.streams[0]
    static let requestsStream = StreamFamily.requests.streams[0]
    private static let grantsPage = 1000
    /// A receipt has about 3 KB, and a page 1 MiB at most.
    private static let requestsPage = 150
    private static let clear: UInt8 = 0
    private static let sealed: UInt8 = 1

    let epoch: String
    let keys: PersonKeys
    private let log = StreamLog()

    init(epoch: String, keys: PersonKeys) {
        (self.epoch, self.keys) = (epoch, keys)
    }

    // MARK: Saying

    /// What the grant is after the change; for a request that has one.
    func sayGrant(_ db: Database, of request: SharingRequest, at: Timestamp, trace: String) throws -> EventRelay.Committed? {
        guard let state = GrantState(request) else { return nil }
        let payload = try Self.json(state)
        let sequence = try log.append(
            db, stream: Self.grantsStream, type: GrantState.type, subject: request.person, at: at, trace: trace, body: payload)
        let header = header(Self.grantsStream, GrantState.type, request.person, sequence: sequence, at: at, trace: trace)
        return EventRelay.Committed(header: header) { payload }
    }

    /// What the request is after the change, with the receipt of it. Without a receipt nothing in it is personal, and the fact
    /// names nobody: it outlives the person's erasure, so that the organisation still hears that it is over.
    func sayRequest(
        _ db: Database, _ request: SharingRequest, receipt: (id: ReceiptID, text: String)?, at: Timestamp, trace: String
    ) throws -> EventRelay.Committed {
        let payload = try Self.json(RequestState(request, receipt: receipt?.text))
        let subject = receipt == nil ? nil : request.person
        var body = [Self.clear] + payload
        if let receipt {
            guard let key = try keys.key(of: request.person) else { throw KeyDestroyed() }
            body = [Self.sealed] + receipt.id.bytes + (try Seal.seal(payload, key: key, context: Self.context(receipt.id)))
        }
        let sequence = try log.append(
            db, stream: Self.requestsStream, type: RequestState.type, subject: subject, at: at, trace: trace, body: body)
        let header = header(Self.requestsStream, RequestState.type, subject, sequence: sequence, at: at, trace: trace)
        return EventRelay.Committed(header: header) { payload }
    }

    private func header(
        _ stream: String, _ type: String, _ subject: PersonID?, sequence: Int64, at: Timestamp, trace: String
    ) -> StreamHeader {
        StreamHeader(
            stream: stream, epoch: epoch, sequence: sequence, head: sequence, type: type, subject: subject?.description ?? "", at: at,
            trace: trace)
    }

    // MARK: Saying again

    /// The payload of a row of either stream, byte for byte as it was published; nil where the person's key is gone.
    func render(_ row: StreamRow) throws -> [UInt8]? {
        guard row.stream == Self.requestsStream else { return row.body }
        let idLength = 16
        switch row.body.first {
        case Self.clear: return Array(row.body.dropFirst())
        case Self.sealed:
            guard let person = row.subject, let key = try keys.key(of: person),
                let receipt = ReceiptID(bytes: row.body.dropFirst().prefix(idLength))
            else { return nil }
            return try Seal.open(row.body.dropFirst(1 + idLength), key: key, context: Self.context(receipt))
        default: return nil
        }
    }

    /// One page of the grants in force, or of all requests as they stand now without their receipts.
    func snapshot(_ db: Database, _ asked: SnapshotStream) throws -> SnapshotStream.Reply {
        guard let after = Int64(asked.after ?? "0") else { throw Failure(.invalid, "after is the next of the page before") }
        let isGrants = asked.stream == Self.grantsStream
        guard isGrants || asked.stream == Self.requestsStream else { throw Failure(.notFound, "no such stream here") }
        let limit = isGrants ? Self.grantsPage : Self.requestsPage
        let head = try log.head(db, asked.stream)
        let rows = try SharingTable().page(db, inForceOnly: isGrants, after: after, limit: limit)
        let facts = try rows.map { row in
            let payload = isGrants ? try Self.json(GrantState(row.request)) : try Self.json(RequestState(row.request, receipt: nil))
            let header = header(
                asked.stream, isGrants ? GrantState.type : RequestState.type, row.request.person, sequence: head,
                at: row.request.changedAt, trace: "")
            return ReplayStream.Fact(header: header, payload: String(decoding: payload, as: UTF8.self))
        }
        let next = rows.count == limit ? rows.last.map { String($0.number) } : nil
        return SnapshotStream.Reply(epoch: epoch, sequence: head, facts: facts, next: next)
    }

    private static func context(_ receipt: ReceiptID) -> [UInt8] {
        Array("stream_log consent.requests \(receipt)".utf8)
    }

    private static func json(_ value: some Encodable) throws -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return Array(try encoder.encode(value))
    }
}

extension GrantState {
    /// Nil for a request that nobody accepted.
    init?(_ request: SharingRequest) {
        guard let grant = request.grant else { return nil }
        self.init(
            grant: grant.id, request: request.id, person: request.person, organisation: request.organisation,
            types: grant.scope.listedTypes, from: grant.scope.window.lowerBound, to: grant.scope.window.upperBound,
            granularity: request.granularity, active: request.status == .approved, version: grant.version)
    }
}

extension RequestState {
    init(_ request: SharingRequest, receipt: String?) {
        let allowed = request.grantInForce?.scope ?? request.scope
        self.init(
            request: request.id, organisation: request.organisation, status: request.status, types: allowed.listedTypes,
            from: request.scope.window.lowerBound, to: request.scope.window.upperBound, granularity: request.granularity,
            grant: request.grant?.id, changedAt: request.changedAt, answerBy: request.answerBy, receipt: receipt)
    }
}
