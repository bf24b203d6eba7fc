// SQL sentences for the streams `consent.grants` and `consent.requests`: what is said in the transaction that changes a request.

import Contracts
import GRDB
import Sealing
import ServiceKit
import Storage

/// Of the families `consent.grants` and `consent.requests`.
struct SharingRelays: Sendable {
    let grants: EventRelay
    let requests: EventRelay
}

/// Grants are published in the clear: types, times and ids. What is published of requests holds the signed receipt, which repeats name and
/// purpose, so its rows are sealed under the person's key and opened again at replay.
struct SharingEventStore: Sendable {
    static let grantsStream = StreamFamily.grants.streams[0]
    static let requestsStream = StreamFamily.requests.streams[0]
    /// A receipt has about 3 KB, and a page 1 MiB at most.
    private static let requestsPage = 150

    private let grants: StateStream<GrantState>
    private let requests: StateStream<RequestState>
    private let relays: SharingRelays

    init(epoch: String, keys: PersonKeys, relays: SharingRelays) {
        self.relays = relays
        grants = StateStream(GrantState.type, stream: Self.grantsStream, epoch: epoch)
        requests = StateStream(RequestState.type, stream: Self.requestsStream, epoch: epoch, seal: RequestSeal.seal(keys))
    }

    /// What the request is after the change, with the receipt of it, and its grant where it has one. Without a receipt nothing in it is
    /// personal, and the request's fact names nobody: it outlives the person's erasure, so that the organisation still receives that it is
    /// over. The grant goes first: whoever holds data learns of a withdrawal before anybody else receives it.
    func publish(_ db: Database, _ request: SharingRequest, receipt: String?, at: Timestamp, trace: String) throws {
        if let grant = GrantState(request) {
            relays.grants.publish(try grants.append(db, grant, about: request.person, at: at, trace: trace), afterCommitOf: db)
        }
        let state = RequestState(request, receipt: receipt)
        relays.requests.publish(
            try requests.append(db, state, about: receipt == nil ? nil : request.person, at: at, trace: trace), afterCommitOf: db)
    }

    func render(_ row: StreamRow) throws -> [UInt8]? {
        try row.stream == Self.requestsStream ? requests.render(row) : grants.render(row)
    }

    /// One page of the grants in force, or of all requests as they stand now without their receipts.
    func snapshot(_ db: Database, _ asked: SnapshotStream) throws -> SnapshotStream.Reply {
        let table = SharingStore()
        switch asked.stream {
        case Self.grantsStream:
            return try grants.snapshot(db, asked) { (after: GrantID, limit: Int) in
                try table.pageInForce(db, after: after, limit: limit).compactMap { row in
                    row.request.grant.map { ($0.id, row.request.person, GrantState(row.request)) }
                }
            }
        case Self.requestsStream:
            return try requests.snapshot(db, asked, limit: Self.requestsPage) { (after: Int64, limit: Int) in
                try table.page(db, after: after, limit: limit).map { row in
                    (row.number, row.request.person, RequestState(row.request, receipt: nil))
                }
            }
        default: throw Failure(.notFound, "no such stream here")
        }
    }
}

/// Rows of `consent.requests`: in the clear where they are about nobody, else sealed under the person's key, bound to an id of their own.
private enum RequestSeal {
    private static let clear: UInt8 = 0
    private static let sealed: UInt8 = 1
    private static let idLength = 16

    static func seal(_ keys: PersonKeys) -> FactSeal {
        FactSeal { payload, place in
            guard let person = place.subject else { return [clear] + payload }
            guard let key = try keys.key(of: person) else { throw KeyDestroyed() }
            let id = ReceiptID.random()
            return [sealed] + id.bytes + (try Seal.seal(payload, key: key, context: context(id)))
        } open: { row in
            switch row.body.first {
            case clear: return Array(row.body.dropFirst())
            case sealed:
                guard let person = row.subject, let key = try keys.usableKey(of: person),
                    let id = ReceiptID(bytes: row.body.dropFirst().prefix(idLength))
                else { return nil }
                return try Seal.open(row.body.dropFirst(1 + idLength), key: key, context: context(id))
            default: return nil
            }
        }
    }

    private static func context(_ id: ReceiptID) -> [UInt8] {
        Array("stream_log consent.requests \(id)".utf8)
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
