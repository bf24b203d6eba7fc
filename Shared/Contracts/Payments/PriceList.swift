// What data cost: the list that the operator maintains and third parties see before they commit (PAY-01).

/// Prices of data, of one person unless told. All of them may be 0 (CON-25).
package struct PriceList: Hashable, Codable, Sendable {
    /// Of one data type for each day that was begun, by the finest step that is handed out; minor units, without tax.
    package struct Rate: Hashable, Codable, Sendable {
        package var seconds: Int64
        package var minutes: Int64
        package var hours: Int64

        package init(seconds: Int64, minutes: Int64, hours: Int64) {
            (self.seconds, self.minutes, self.hours) = (seconds, minutes, hours)
        }

        package func perDay(_ granularity: GrantGranularity) -> Int64 {
            switch granularity {
            case .seconds: seconds
            case .minutes: minutes
            case .hours: hours
            }
        }
    }

    /// Of a group's data, which are released or cost nothing.
    package struct GroupRate: Hashable, Codable, Sendable {
        /// For each request that is accepted; minor units, without tax.
        package var perRequest: Int64
        /// For each thousand entries that was begun; minor units, without tax.
        package var perThousandEntries: Int64

        package init(perRequest: Int64, perThousandEntries: Int64) {
            (self.perRequest, self.perThousandEntries) = (perRequest, perThousandEntries)
        }
    }

    /// For many persons asked for at once: from so many on, so many per cent of the price.
    package struct Rebate: Hashable, Codable, Sendable {
        /// 2 or more.
        package var fromPersons: Int
        /// 0 to 100.
        package var percent: Int

        package init(fromPersons: Int, percent: Int) {
            (self.fromPersons, self.percent) = (fromPersons, percent)
        }
    }

    /// ISO 4217, three capital letters.
    package var currency: String
    /// For each request, whatever it asks for; minor units, without tax.
    package var perRequest: Int64
    /// Of every type that `types` does not name.
    package var usual: Rate
    /// By the metric's code.
    package var types: [String: Rate]
    /// Best one that applies; none where it is empty.
    package var rebates: [Rebate]
    /// Value added tax on top, in hundredths of a per cent: 2200 is 22 %.
    package var taxBasisPoints: Int
    /// Absent where the data of groups are free of charge.
    package var groups: GroupRate?

    package init(
        currency: String, perRequest: Int64, usual: Rate, types: [String: Rate] = [:], rebates: [Rebate] = [], taxBasisPoints: Int = 0,
        groups: GroupRate? = nil
    ) {
        (self.currency, self.perRequest, self.usual, self.types) = (currency, perRequest, usual, types)
        (self.rebates, self.taxBasisPoints, self.groups) = (rebates, taxBasisPoints, groups)
    }

    /// Everything is free of charge: what holds until the operator has set a list.
    package static let free = PriceList(currency: "EUR", perRequest: 0, usual: Rate(seconds: 0, minutes: 0, hours: 0))

    /// Of one price in the list, in minor units; far below where sums could overflow.
    package static let highestPrice: Int64 = 100_000_000
    package static let mostRebates = 20

    /// What is wrong with the list, in words for the operator; empty where it can be used.
    package var faults: [String] {
        var faults: [String] = []
        if !Amount.isCurrency(currency) { faults.append("currency: expected three capital letters, such as EUR") }
        func check(_ name: String, _ price: Int64) {
            if !(0...PriceList.highestPrice).contains(price) {
                faults.append("\(name): expected 0 to \(PriceList.highestPrice) minor units")
            }
        }
        check("perRequest", perRequest)
        if let groups {
            check("groups/perRequest", groups.perRequest)
            check("groups/perThousandEntries", groups.perThousandEntries)
        }
        for (name, rate) in [("usual", usual)] + types.sorted(by: { $0.key < $1.key }).map({ ("types/\($0.key)", $0.value) }) {
            for granularity in GrantGranularity.allCases { check("\(name)/\(granularity.rawValue)", rate.perDay(granularity)) }
        }
        for code in types.keys.sorted() where Metric(code: code) == nil {
            faults.append("types/\(code.prefix(64)): there is no such data type")
        }
        if rebates.count > PriceList.mostRebates { faults.append("rebates: expected at most \(PriceList.mostRebates)") }
        for rebate in rebates where rebate.fromPersons < 2 || !(0...100).contains(rebate.percent) {
            faults.append("rebates: expected fromPersons of 2 or more and percent from 0 to 100")
        }
        if !(0...10_000).contains(taxBasisPoints) { faults.append("taxBasisPoints: expected 0 to 10000") }
        return faults
    }
}

/// The price list in force; nobody has set one where `version` is 0.
package struct ReadPrices: BusRequest {
    package static let method = "read-prices"
    package static let owner = Peer.thirdPartyGateway
    package static let clients: Set<Peer> = [.trackme]
    package static let mutates = false

    package init() {}

    package struct Reply: Codable, Sendable {
        /// Counts up from 1 with every list that was set; quotes and payments name it.
        package var version: Int
        /// Since when it holds; absent where nobody has set one.
        package var from: Timestamp?
        package var prices: PriceList

        package init(version: Int, from: Timestamp?, prices: PriceList) {
            (self.version, self.from, self.prices) = (version, from, prices)
        }
    }
}

/// Puts another price list in force at once; what was asked for before keeps its price. `invalid` with every fault of the list.
package struct SetPrices: BusRequest {
    package static let method = "set-prices"
    package static let owner = Peer.thirdPartyGateway
    package static let clients: Set<Peer> = [.trackme]
    package static let mutates = true
    package typealias Reply = ReadPrices.Reply

    package var prices: PriceList

    package init(prices: PriceList) {
        self.prices = prices
    }
}
