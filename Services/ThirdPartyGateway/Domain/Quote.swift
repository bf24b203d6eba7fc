// What a request costs by a price list, computed before anybody commits to it (PAY-01).

import Contracts

/// What prices follow from: the same words that a request is made with.
struct RequestScope: Hashable, Codable, Sendable {
    /// Each once.
    var types: [Metric]
    var from: Timestamp
    /// Not included.
    var to: Timestamp
    var granularity: GrantGranularity

    /// Days that are paid for: each that was begun, at least one.
    var days: Int64 {
        let day: Int64 = 86_400_000
        let (length, overflows) = to.milliseconds.subtractingReportingOverflow(from.milliseconds)
        guard !overflows, length > day else { return 1 }
        return min(RequestScope.mostDays, length / day + (length % day > 0 ? 1 : 0))
    }

    /// Longer periods cost no more: sums stay far from overflowing.
    static let mostDays: Int64 = 100_000
}

/// The price of one request, and how it came about.
struct Quote: Hashable, Codable, Sendable {
    struct Line: Hashable, Codable, Sendable {
        /// A metric's code, or `request` for what each request costs by itself.
        var what: String
        var perDay: Int64?
        var days: Int64?
        /// Minor units, without rebate and tax.
        var price: Int64
    }

    /// Most persons that one quote is for.
    static let mostPersons = 10_000

    var priceListVersion: Int
    var lines: [Line]
    var rebatePercent: Int
    /// Of one person; minor units.
    var net: Int64
    var tax: Int64
    var taxBasisPoints: Int
    /// What one accepted request costs.
    var perPerson: Amount
    var persons: Int
    /// If everybody accepts.
    var total: Amount

    /// - Parameter persons: 1 to `mostPersons`.
    init(_ scope: RequestScope, persons: Int, by prices: PriceList, version: Int) {
        let days = scope.days
        var lines = prices.perRequest > 0 ? [Line(what: "request", price: prices.perRequest)] : []
        for metric in scope.types {
            let perDay = (prices.types[metric.code] ?? prices.usual).perDay(scope.granularity)
            lines.append(Line(what: metric.code, perDay: perDay, days: days, price: perDay * days))
        }
        let rebate = prices.rebates.filter { $0.fromPersons <= persons }.map(\.percent).max() ?? 0
        let gross = lines.reduce(0) { $0 + $1.price }
        net = Quote.rounded(gross * Int64(100 - rebate), by: 100)
        tax = Quote.rounded(net * Int64(prices.taxBasisPoints), by: 10_000)
        (priceListVersion, self.lines, rebatePercent, taxBasisPoints) = (version, lines, rebate, prices.taxBasisPoints)
        perPerson = Amount(minor: net + tax, currency: prices.currency)
        self.persons = persons
        total = Amount(minor: (net + tax) * Int64(persons), currency: prices.currency)
    }

    /// Halves are rounded up.
    private static func rounded(_ value: Int64, by divisor: Int64) -> Int64 {
        value / divisor + (value % divisor * 2 >= divisor ? 1 : 0)
    }
}
