// The doors of prices over HTTP: the list in force, and what a request would cost.

import Contracts
import HTTPKit
import Storage

struct PriceRoutes: Sendable {
    let store: Store
    let repository: PaymentRepository

    var all: [Route] { [prices, quotes] }

    private var prices: Route {
        Route(
            .get, "/thirdparty/v1/prices", as: "getPrices", access: .anyone, summary: "What data cost",
            description: "Quotes and payments name the version of the list that they follow; earlier versions are kept.",
            parameters: [.query("version", .integer(in: 0...Int(Int32.max)), "Another list than the one in force.")],
            answers: [.json(200, "The price list", PriceListItem.self, example: Examples.priceList), .problem(404, "not-found")]
        ) { exchange in
            let version = try exchange.queryInteger("version", in: 0...Int(Int32.max))
            let found = try await store.read { [table = repository.prices.table] db in
                if let version { try table.find(db, version) } else { try table.current(db) }
            }
            guard let found else { throw Problem.absent }
            return try .json(PriceListItem(found))
        }
    }

    private var quotes: Route {
        Route(
            .post, "/thirdparty/v1/quotes", access: .anyone, summary: "What a request would cost",
            description: "Nothing is kept and nothing is owed. Send `priceListVersion` with the request to be sure of this price.",
            body: .json(QuoteBody.self, examples: [QuoteBody.example]),
            answers: [.json(200, "The price", QuoteItem.self, example: Examples.quote)]
        ) { exchange in
            let asked: QuoteBody = try await exchange.json()
            let (scope, persons) = try Self.scope(asked)
            return try .json(QuoteItem(try await store.read { [repository] db in try repository.quote(db, scope, persons: persons) }))
        }
    }

    private static func scope(_ asked: QuoteBody) throws(Problem) -> (RequestScope, persons: Int) {
        var faults: [Problem.FieldError] = []
        func time(_ name: String, _ text: String) -> Timestamp? {
            let time = Timestamp(rfc3339: text)
            if time == nil { faults.append(.init(pointer: "/\(name)", .notATime)) }
            return time
        }
        let from = time("from", asked.from)
        let to: Timestamp?
        switch (asked.to, asked.length) {
        case (let end?, nil): to = time("to", end)
        case (nil, let length?):
            to = from.flatMap { PeriodLength(length)?.end(from: $0) }
            if PeriodLength(length) == nil {
                faults.append(.init(pointer: "/length", .notALengthOfTime))
            }
        default:
            to = nil
            faults.append(.init(pointer: "/to", .endOrLength))
        }
        if let from, let to, from >= to { faults.append(.init(pointer: "/to", .notAfter("from"))) }
        if Set(asked.types).count != asked.types.count { faults.append(.init(pointer: "/types", .namedTwice)) }
        guard let from, let to, faults.isEmpty else { throw .invalidBody(faults) }
        return (RequestScope(types: asked.types, from: from, to: to, granularity: asked.granularity), asked.persons ?? 1)
    }
}
