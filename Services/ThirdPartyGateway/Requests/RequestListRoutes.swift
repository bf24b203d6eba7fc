// The doors of lists: several people are asked at once, each is decided on its own (SHR-19).

import Contracts
import Foundation
import HTTPKit
import HTTPTypes
import NIOCore
import ServiceKit
import Storage

struct RequestListRoutes: Sendable {
    static let csv = "text/csv"
    private static let bodyLimit = 2 << 20

    let store: Store
    let service: RequestService
    let admit: Admit
    private let pending = PendingRequestStore()

    init(store: Store, service: RequestService, admit: @escaping Admit) {
        (self.store, self.service, self.admit) = (store, service, admit)
    }

    var all: [Route] { [send, find] }

    private var send: Route {
        Route(
            .post, "/thirdparty/v1/requests/lists", as: "createRequestList", access: .organisation, scopes: [Right.requestsWrite.rawValue],
            summary: "Asks several people at once",
            description: """
                Needs `requests:write`. \
                At most \(PersonList.most) people. As JSON: one form and many fiscal codes. As CSV: one form a line, with the header \
                `\(PersonList.columns.joined(separator: ","))`; types are separated by spaces, `to` may be a length like P3M. The whole list \
                is refused where a field is wrong; after that each request is sent, answered and paid by itself.
                """,
            body: BodyShape(
                [
                    .init(MediaType.json, NewRequestsBody.schema, of: NewRequestsBody.self, examples: [Self.example]),
                    .init(Self.csv, .string(), examples: [Examples.personList]),
                ], limit: Self.bodyLimit, inflatedLimit: Self.bodyLimit, isChecked: true),
            answers: [
                .json(202, "Kept, being sent", RequestListItem.self, example: Examples.requestList).sending(.location), .noAdmission,
                .problem(409, Problem.priceChanged.name),
                .problem(422, "invalid-body"),
            ], takesIdempotencyKey: true
        ) { exchange in
            let standing = try await admit(exchange, .requestsWrite)
            let bytes = Array(try await exchange.body().readableBytesView)
            let (list, version) = try await Self.read(exchange, bytes)
            let (id, isRepeated) = try await service.send(
                list.forms, of: standing, priceListVersion: version, try RepeatableRequest(exchange, bytes, "send-list"))
            service.wake()
            guard let item = try await item(id, of: standing.id, from: 0, limit: PageLimits.usual) else { throw Problem.absent }
            let answer = try HTTPAnswer.json(item, status: 202).with(.location, "/thirdparty/v1/requests/lists/\(id)")
            return isRepeated ? answer.with(.idempotencyReplayed, "true") : answer
        }
    }

    private static let example: JSONValue = [
        "fiscalCodes": ["RSSMRA80A01H501U", "VRDLGI75C12F205U"], "types": ["heart-rate"], "from": "2026-01-01T00:00:00Z", "length": "P3M",
        "granularity": "hours", "purpose": "Study of resting heart rate",
    ]

    private static func read(_ exchange: Exchange, _ bytes: [UInt8]) async throws -> (PersonList, priceListVersion: Int?) {
        let now = exchange.receivedAt
        guard exchange.mediaType != csv else {
            return (try RequestRoutes.reading { () throws(FormFaults) in try PersonList(csv: bytes, at: now) }, nil)
        }
        let body: NewRequestsBody = try await exchange.json(in: Data(bytes))
        let list = try RequestRoutes.reading { () throws(FormFaults) in
            try PersonList(body.form, fiscalCodes: body.fiscalCodes, at: now)
        }
        return (list, body.priceListVersion)
    }

    private var find: Route {
        Route(
            .get, "/thirdparty/v1/requests/lists/{list}", as: "getRequestList", access: .organisation,
            scopes: [Right.requestsRead.rawValue], summary: "What came of a list",
            description: "Needs `requests:read`. "
                + "Kept for \(RequestService.listKept.wholeMilliseconds / 86_400_000) days; what was opened stands under requests.",
            parameters: [.path("list", .identifier(Job.self), "The list's id."), .limit, .after],
            answers: [
                .json(200, "One page", RequestListItem.self, example: Examples.requestList), .noAdmission, .problem(404, "not-found"),
            ]
        ) { exchange in
            let standing = try await admit(exchange, .requestsRead)
            let from = try exchange.cursor(Int.init) ?? 0
            guard let item = try await item(exchange.identifier("list"), of: standing.id, from: from, limit: exchange.pageLimit) else {
                throw Problem.absent
            }
            return try .json(item)
        }
    }

    private func item(_ id: JobID, of organisation: OrganisationID, from place: Int, limit: Int) async throws -> RequestListItem? {
        try await store.read { [pending] db in
            guard let batch = try pending.batch(db, id, of: organisation) else { return nil }
            let rows = try pending.requests(db, of: id, from: place, limit: limit + 1)
            return RequestListItem(
                list: id, persons: batch.persons, sending: try pending.waitingCount(db, of: id), createdAt: batch.createdAt.rfc3339,
                items: rows.prefix(limit).map(ListedFormItem.init), next: rows.count > limit ? String(rows[limit].place) : nil)
        }
    }
}
