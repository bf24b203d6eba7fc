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
            let (scope, persons) = try Self.scope(asked, at: exchange.receivedAt)
            return try .json(QuoteItem(try await store.read { [repository] db in try repository.quote(db, scope, persons: persons) }))
        }
    }

    private static func scope(_ asked: QuoteBody, at now: Timestamp) throws(Problem) -> (RequestScope, persons: Int) {
        var faults: [Problem.FieldError] = []
        func fault(_ field: String, _ fault: FieldFault) { faults.append(.init(pointer: field, fault)) }
        let period = TypedPeriod(from: asked.from, to: asked.to, length: asked.length).read(at: now, fault)
        if Set(asked.types).count != asked.types.count { fault("/types", .namedTwice) }
        guard let period, faults.isEmpty else { throw .invalidBody(faults) }
        let scope = RequestScope(types: asked.types, from: period.lowerBound, to: period.upperBound, granularity: asked.granularity)
        return (scope, asked.persons ?? 1)
    }
}
