// The doors of single-person requests: one is made, looked at, watched, stopped.

import Contracts
import Foundation
import HTTPKit
import HTTPTypes
import NIOCore
import Sealing
import ServiceKit

/// Who comes in for which organisation; G1's door, as the routes see it.
typealias Admit = @Sendable (Exchange, Right) async throws -> Standing

extension Exchange {
    /// Whether somebody who listens may go on: a member while the role lasts (of the session the server knows by itself), a client while its
    /// token does.
    func isStillAdmitted(by admit: Admit, _ right: Right) async -> Bool {
        do {
            if case .client = caller { _ = try await admit(provedAnew(), right) } else { _ = try await admit(self, right) }
            return true
        } catch {
            // Whoever comes again is told why.
            return false
        }
    }
}

struct RequestRoutes: Sendable {
    let repository: RequestRepository
    let service: RequestService
    let watchers: Watchers<OrganisationID>
    let admit: Admit

    var all: [Route] { [open, list, find, events, end, dataTypes] }

    static let requestID = Parameter.path("request", .identifier(DataRequest.self), "The request's id.")

    // MARK: Making one

    private var open: Route {
        Route(
            .post, "/thirdparty/v1/requests", access: .organisation, scopes: [Right.requestsWrite.rawValue],
            summary: "Asks one person for data",
            description: """
                Needs `requests:write`. \
                The person is notified at once and has until `answerBy` to accept. 201: it is before the person. 202: it is kept and being \
                sent; look at its list. A period that ends after now makes it a subscription.
                """,
            body: .json(NewRequestBody.self, examples: [Self.example], limit: 64 << 10, inflatedLimit: 64 << 10),
            answers: [
                .json(201, "The request", MadeRequestItem.self, example: Examples.madeRequest).sending(.location),
                .json(202, "Kept, being sent", RequestListItem.self, example: Examples.requestList).sending(.location), .noAdmission,
                .problem(
                    409, Problem.openRequestCovers.name, Problem.requestRefused.name,
                    Problem.priceChanged.name),
                .problem(422, Problem.noSuchPerson.name, "invalid-body"),
                .problem(429, Problem.tooManyUnknownCodes.name),
            ], takesIdempotencyKey: true
        ) { exchange in
            let standing = try await admit(exchange, .requestsWrite)
            let bytes = Array(try await exchange.body().readableBytesView)
            let body: NewRequestBody = try await exchange.json(in: Data(bytes))
            let form = try Self.reading { () throws(FormFaults) in
                try body.form.read(fiscalCode: body.fiscalCode, at: exchange.receivedAt)
            }
            let (list, isRepeated) = try await service.send(
                [form], of: standing, priceListVersion: body.priceListVersion,
                try RepeatableRequest(exchange, bytes, "open-request"))
            guard let entry = try await service.askNow(list) else { throw Problem.absent }
            let answer = try await self.answer(entry, standing, exchange)
            return isRepeated ? answer.with(.idempotencyReplayed, "true") : answer
        }
    }

    private static let example: JSONValue = [
        "fiscalCode": "RSSMRA80A01H501U", "types": ["heart-rate"], "from": "2026-01-01T00:00:00Z", "length": "P3M",
        "granularity": "minutes", "purpose": "Study of resting heart rate",
    ]

    private func answer(_ entry: PendingRequest, _ standing: Standing, _ exchange: Exchange) async throws -> HTTPAnswer {
        switch entry.outcome {
        case nil:
            let item = RequestListItem(
                list: entry.batch, persons: 1, sending: 1, createdAt: entry.createdAt.rfc3339, items: [ListedFormItem(entry)], next: nil)
            return try .json(item, status: 202).with(.location, "/thirdparty/v1/requests/lists/\(entry.batch)")
        case .opened:
            guard let request = entry.request, let shown = try await repository.find(request, of: standing.id) else {
                throw Problem.absent
            }
            return try .json(MadeRequestItem(shown), status: 201).with(.location, "/thirdparty/v1/requests/\(request)")
        case .noSuchPerson:
            throw Problem.noSuchPerson.saying(
                "Nobody was notified. Check the fiscal code and send the request again.",
                italian: "Nessuno è stato avvisato. Controlli il codice fiscale e invii di nuovo la richiesta.",
                errors: [.init(pointer: "/fiscalCode", .noSuchPerson)])
        case .tooManyUnknown:
            throw Refusal(
                Problem.tooManyUnknownCodes.saying(
                    "Whether this code is somebody's is not said today any more. Send the request again tomorrow."),
                retryAfter: Self.untilTomorrow(exchange.receivedAt))
        case .covered:
            throw Problem.openRequestCovers.saying(
                "An open request already covers this: \(entry.request.map { "/thirdparty/v1/requests/\($0)" } ?? "see your requests")."
                    + " Ask for other types or times, or stop that one first.")
        case .refused:
            throw Problem.requestRefused.saying("It cannot be asked now: \(entry.detail ?? "try again later").")
        }
    }

    /// Days are counted in UTC.
    private static func untilTomorrow(_ now: Timestamp) -> Duration {
        let day: Int64 = 86_400_000
        return .milliseconds(day - now.milliseconds.flooredQuotientAndRemainder(dividingBy: day).remainder)
    }

    static func reading<Value>(_ read: () throws(FormFaults) -> Value) throws(Problem) -> Value {
        do {
            return try read()
        } catch {
            throw .invalidBody(error.faults)
        }
    }

    // MARK: Looking

    private enum Shown: String, CaseIterable {
        case requests, acquired
    }

    private var list: Route {
        Route(
            .get, "/thirdparty/v1/requests", access: .organisation, scopes: [Right.requestsRead.rawValue],
            summary: "The requests of the organisation, newest first",
            description: "Needs `requests:read`.",
            parameters: [
                .query("show", .oneOf(Shown.allCases.map(\.rawValue)), "`acquired`: only those that were accepted and paid."),
                .query("status", RequestSchemas.status, "Only those in this state."),
                .query("subscription", .boolean, "Only subscriptions, or only the others."),
                .query("month", .string(pattern: "^[0-9]{4}-[0-9]{2}$"), "Only those made in this month, like 2026-01 (UTC)."),
                .query("type", RequestSchemas.metricCode, "Only those that name this data type."), .limit, .after,
            ],
            answers: [.json(200, "One page", Page<MadeRequestItem>.self, example: Examples.page(Examples.madeRequest)), .noAdmission]
        ) { exchange in
            let standing = try await admit(exchange, .requestsRead)
            var filter = RequestFilter()
            filter.status = try exchange.queryChoice("status")
            filter.isSubscription = try exchange.queryFlag("subscription")
            filter.month = try exchange.query("month", orElse: .notAMonth, Self.month)
            filter.type = try exchange.query("type", orElse: .notAMetric(listedAt: "/thirdparty/v1/data-types")) { Metric(code: $0) }
            filter.isAcquired = try exchange.queryChoice("show", of: Shown.self) == .acquired
            let (items, next) = try await repository.list(
                of: standing.id, filter, before: try exchange.cursor(Int64.init), limit: try exchange.pageLimit)
            return try .json(Page(items: items.map(MadeRequestItem.init), next: next.map(String.init)))
        }
    }

    static func month(_ text: String) -> Range<Timestamp>? {
        guard text.utf8.count == 7, let from = Timestamp(rfc3339: text + "-01T00:00:00Z"),
            let to = PeriodLength("P1M")?.end(from: from)
        else { return nil }
        return from..<to
    }

    private var find: Route {
        Route(
            .get, "/thirdparty/v1/requests/{request}", access: .organisation, scopes: [Right.requestsRead.rawValue], summary: "One request",
            description: "Needs `requests:read`. "
                + "With an `ETag`: whoever polls sends it as `If-None-Match` and gets 304 while nothing has changed.",
            parameters: [Self.requestID, .header("If-None-Match", .string(), "The `ETag` of the answer before.")],
            answers: [
                .json(200, "The request", MadeRequestItem.self, example: Examples.madeRequest).sending(.eTag),
                Answer(304, "Nothing has changed").sending(.eTag), .noAdmission,
                .problem(404, "not-found"),
            ]
        ) { exchange in
            let standing = try await admit(exchange, .requestsRead)
            guard let shown = try await repository.find(exchange.identifier("request"), of: standing.id) else { throw Problem.absent }
            return try TaggedAnswer.json(MadeRequestItem(shown), for: exchange)
        }
    }

    private var events: Route {
        .events(
            "/thirdparty/v1/requests/events", access: .organisation, scopes: [Right.requestsRead.rawValue],
            summary: "The organisation's requests as they change",
            description: """
                Needs `requests:read`. \
                Events `request` with a request as it is after a change. Begins with the next change; with `Last-Event-ID` (or `after`) \
                with the last state of everything that has changed since.
                """,
            parameters: [.header("Last-Event-ID", .string(), "The id of the event that came last."), .after],
            events: "A request, as `Request`.", refusals: [.noAdmission, .problem(429, "too-many-requests")]
        ) { exchange in
            let standing = try await admit(exchange, .requestsRead)
            let seen: Int64
            if let last = exchange.lastEventID {
                guard let number = Int64(last) else {
                    throw Problem.invalidParameter("header:Last-Event-ID", .notAnEventID)
                }
                seen = number
            } else {
                seen = try await repository.lastChange()
            }
            guard let feed = RequestFeed(of: standing.id, seen: seen, repository: repository, watchers: watchers) else {
                throw Refusal(.tooManyRequests, retryAfter: .seconds(5))
            }
            return EventSource(whileAdmitted: { await exchange.isStillAdmitted(by: admit, .requestsRead) }) {
                guard let shown = try await feed.next() else { return nil }
                return ServerEvent(
                    id: String(shown.stored.change), event: "request",
                    data: String(decoding: try TaggedAnswer.bytes(MadeRequestItem(shown)), as: UTF8.self))
            }
        }
    }

    // MARK: Stopping

    private var end: Route {
        Route(
            .post, "/thirdparty/v1/requests/{request}/end", as: "endRequest", access: .organisation, scopes: [Right.requestsWrite.rawValue],
            summary: "Stops an approved request",
            description: "Needs `requests:write`. "
                + "Nothing more is delivered; amounts that are due stay due. Again is the same as once.",
            parameters: [Self.requestID],
            answers: [
                .json(200, "The request as it is now", MadeRequestItem.self, example: Examples.madeRequest), .noAdmission,
                .problem(404, "not-found"),
                .problem(409, Problem.requestNotApproved.name), .problem(503, "unavailable"),
            ]
        ) { exchange in
            let standing = try await admit(exchange, .requestsWrite)
            let id: RequestID = try exchange.identifier("request")
            guard try await repository.find(id, of: standing.id) != nil else { throw Problem.absent }
            do {
                try await service.end(id, of: standing.id)
            } catch let failure as Failure {
                switch failure.code {
                case .notFound: throw Problem.absent
                case .conflict, .invalid, .forbidden:
                    throw Problem.requestNotApproved.saying("Only an approved request can be stopped; look at its status.")
                case .unavailable, .deadline, .internal, .unknownMethod: throw Refusal(.unavailable, retryAfter: .seconds(2))
                }
            }
            guard let shown = try await repository.find(id, of: standing.id) else { throw Problem.absent }
            return try .json(MadeRequestItem(shown))
        }
    }

    // MARK: What can be asked for

    private var dataTypes: Route {
        Route(
            .get, "/thirdparty/v1/data-types", access: .anyone, summary: "The kinds of data that can be asked for",
            answers: [.json(200, "All of them", Page<DataTypeItem>.self, example: Examples.dataTypes)]
        ) { exchange in
            try .json(Page(items: Metric.all.map { DataTypeItem($0, exchange.language) }, next: nil))
        }
    }
}

extension RepeatableRequest {
    init(_ exchange: Exchange, _ body: [UInt8], _ operation: String) throws {
        self.init(key: try exchange.idempotencyKey, body: body, scope: IdempotencyRule.scope(exchange.caller, operation))
    }
}

// MARK: Answers that can be asked for again

/// JSON with an `ETag` over its bytes, so that whoever polls is told quickly that nothing has changed (RFC 9110 §8.8.3).
enum TaggedAnswer {
    static func bytes(_ value: some Encodable) throws -> Data {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return try encoder.encode(value)
    }

    static func json(_ value: some Encodable, for exchange: Exchange) throws -> HTTPAnswer {
        let bytes = try bytes(value)
        let mark = "\"\(Hex.encode(Digest.sha256(bytes).prefix(16)))\""
        let isKnown = (exchange.header("If-None-Match") ?? "").split(separator: ",").contains { part in
            let known = part.filter { $0 != " " }
            return known == mark || known == "W/" + mark || known == "*"
        }
        let answer = isKnown ? HTTPAnswer.empty(status: 304) : HTTPAnswer.bytes(bytes, contentType: MediaType.json)
        return answer.with(.eTag, mark).with(.cacheControl, "private, no-cache")
    }
}
