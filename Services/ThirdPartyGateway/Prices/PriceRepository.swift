// What things cost: the list in force, and those that quotes may still name.

import Contracts
import GRDB

struct PriceRepository: Sendable {
    let table = PriceListStore()

    /// - Parameters:
    ///   - when: where nothing is ever to be paid, everything costs 0.
    ///   - version: of a quote; one that was replaced is honoured for `honoured` more.
    /// - Throws: `price-changed`.
    func quote(
        _ db: Database, _ scope: RequestScope, persons: Int, _ when: PaymentSettings.When, version: Int? = nil,
        honoured: Duration = .zero, at now: Timestamp = Timestamp(milliseconds: 0)
    ) throws -> Quote {
        let current = try table.current(db)
        var list = current
        if let version, version != current.version {
            guard let found = try table.find(db, version), let replaced = try table.replaced(db, version), now < replaced + honoured else {
                throw Problem.priceChanged.saying(
                    "That price list is not in force any more. Ask for a new quote, and send the request with its priceListVersion.",
                    italian:
                        "Quel listino non è più in vigore. Chieda un nuovo preventivo e invii la richiesta con la sua priceListVersion.",
                    errors: [.init(pointer: "/priceListVersion", .otherPriceList(current.version))])
            }
            list = found
        }
        var prices = list.prices
        if when == .free { prices = PriceList(currency: prices.currency, perRequest: 0, usual: PriceList.free.usual) }
        return Quote(scope, persons: persons, by: prices, version: list.version)
    }
}
