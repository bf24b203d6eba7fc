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
    /// Whose data, and how many entries of them, where they are a group's; nil for one person's.
    var group: GroupScope? = nil

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

/// A group request as far as its price goes.
struct GroupScope: Hashable, Codable, Sendable {
    let request: GroupRequestID
    let entries: Int
}

extension GroupRequestID {
    /// Under what it is billed: the same bits. No request for one person's data has them.
    var billed: RequestID { RequestID(bits: bits) }
}

/// The price of one request, and how it came about.
struct Quote: Hashable, Codable, Sendable {
    struct Line: Hashable, Codable, Sendable {
        static let request = "request"
        static let groupRequest = "group-request"
        static let groupEntries = "group-entries"

        /// A metric's code, or one of the above: what each request costs by itself, and the entries of a group's data.
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
        let lines = scope.group.map { Self.lines($0, by: prices) } ?? Self.lines(scope, by: prices)
        // Rebates are for persons who are asked one by one.
        let rebate = scope.group == nil ? prices.rebates.filter { $0.fromPersons <= persons }.map(\.percent).max() ?? 0 : 0
        let gross = lines.reduce(0) { $0 + $1.price }
        net = Quote.rounded(gross * Int64(100 - rebate), by: 100)
        tax = Quote.rounded(net * Int64(prices.taxBasisPoints), by: 10_000)
        (priceListVersion, self.lines, rebatePercent, taxBasisPoints) = (version, lines, rebate, prices.taxBasisPoints)
        perPerson = Amount(minor: net + tax, currency: prices.currency)
        self.persons = persons
        total = Amount(minor: (net + tax) * Int64(persons), currency: prices.currency)
    }

    private static func lines(_ scope: RequestScope, by prices: PriceList) -> [Line] {
        let days = scope.days
        let request = prices.perRequest > 0 ? [Line(what: Line.request, price: prices.perRequest)] : []
        return request
            + scope.types.map { metric in
                let perDay = (prices.types[metric.code] ?? prices.usual).perDay(scope.granularity)
                return Line(what: metric.code, perDay: perDay, days: days, price: perDay * days)
            }
    }

    /// More entries cost no more: sums stay far from overflowing.
    private static let mostEntries = 1_000_000_000

    private static func lines(_ group: GroupScope, by prices: PriceList) -> [Line] {
        guard let rate = prices.groups else { return [] }
        let thousands = Int64((min(max(0, group.entries), mostEntries) + 999) / 1000)
        let lines = [
            Line(what: Line.groupRequest, price: rate.perRequest),
            Line(what: Line.groupEntries, price: rate.perThousandEntries * thousands),
        ]
        return lines.filter { $0.price > 0 }
    }

    /// Halves are rounded up.
    private static func rounded(_ value: Int64, by divisor: Int64) -> Int64 {
        value / divisor + (value % divisor * 2 >= divisor ? 1 : 0)
    }
}
