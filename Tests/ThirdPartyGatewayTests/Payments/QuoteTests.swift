// What requests cost by a price list: data types, period, granularity, persons, tax.

import Contracts
import Testing

@testable import ThirdPartyGateway

private let day: Int64 = 86_400_000

private func scope(
    _ types: [Metric] = [.heartRate], days: Double = 1, _ granularity: GrantGranularity = .minutes
) -> RequestScope {
    RequestScope(
        types: types, from: Timestamp(milliseconds: 0), to: Timestamp(milliseconds: Int64(days * Double(day))), granularity: granularity)
}

private let list = PriceList(
    currency: "EUR", perRequest: 500, usual: .init(seconds: 20, minutes: 10, hours: 5),
    types: ["position": .init(seconds: 40, minutes: 30, hours: 7)],
    rebates: [.init(fromPersons: 10, percent: 15), .init(fromPersons: 100, percent: 50)], taxBasisPoints: 2200)

@Suite("Quotes")
struct QuoteTests {
    @Test(
        "PAY-01: the amount follows from data types, days begun, granularity and persons",
        arguments: [
            (scope(), 1, Int64(510), Int64(112)), (scope(days: 1.01), 1, 520, 114), (scope(days: 30), 1, 800, 176),
            (scope([.heartRate, .position]), 1, 540, 119), (scope([.position], days: 2, .seconds), 1, 580, 128),
            (scope([.position], .hours), 1, 507, 112), (scope(), 9, 510, 112), (scope(), 10, 434, 95), (scope(), 100, 255, 56),
        ])
    func amounts(scope: RequestScope, persons: Int, net: Int64, tax: Int64) {
        let quote = Quote(scope, persons: persons, by: list, version: 3)
        #expect((quote.net, quote.tax) == (net, tax))
        #expect(quote.perPerson == Amount(minor: net + tax, currency: "EUR"))
        #expect(quote.total.minor == (net + tax) * Int64(persons))
        #expect(quote.priceListVersion == 3)
    }

    @Test("CON-25: a price may be 0; until a list is set everything is free")
    func free() {
        let quote = Quote(scope(Metric.all, days: 365, .seconds), persons: 100, by: .free, version: 0)
        #expect(quote.perPerson.isNothing && quote.total.isNothing)
    }

    @Test("PAY-01: the highest prices over the longest period do not overflow, and a reversed period costs a day")
    func extremes() {
        let dear = PriceList(
            currency: "EUR", perRequest: PriceList.highestPrice,
            usual: .init(seconds: PriceList.highestPrice, minutes: 0, hours: 0), taxBasisPoints: 10_000)
        let long = RequestScope(
            types: Metric.all, from: Timestamp(milliseconds: .min), to: Timestamp(milliseconds: .max), granularity: .seconds)
        #expect(Quote(long, persons: Quote.mostPersons, by: dear, version: 1).total.minor > 0)
        let reversed = RequestScope(
            types: [.heartRate], from: Timestamp(milliseconds: day), to: Timestamp(milliseconds: 0), granularity: .minutes)
        #expect(Quote(reversed, persons: 1, by: list, version: 1).net == 510)
    }

    @Test("longer periods, more types and finer steps never cost less", arguments: 0..<50)
    func monotone(seed: Int) {
        let types = Array(Metric.all.prefix(1 + seed % Metric.all.count))
        let one = Quote(scope(types, days: Double(1 + seed)), persons: 1, by: list, version: 1).perPerson.minor
        #expect(Quote(scope(types, days: Double(2 + seed)), persons: 1, by: list, version: 1).perPerson.minor >= one)
        #expect(Quote(scope(types, days: Double(1 + seed), .seconds), persons: 1, by: list, version: 1).perPerson.minor >= one)
        #expect(Quote(scope(Metric.all, days: Double(1 + seed)), persons: 1, by: list, version: 1).perPerson.minor >= one)
    }

    @Test("PAY-01: a list that cannot be used is refused, and every fault of it is named")
    func faults() {
        #expect(list.faults.isEmpty && PriceList.free.faults.isEmpty)
        var wrong = list
        (wrong.currency, wrong.perRequest, wrong.taxBasisPoints) = ("euro", -1, 10_001)
        wrong.types["telepathy"] = .init(seconds: 1, minutes: PriceList.highestPrice + 1, hours: 1)
        wrong.rebates = [.init(fromPersons: 1, percent: 101)]
        let text = wrong.faults.joined(separator: "|")
        for word in ["currency", "perRequest", "taxBasisPoints", "types/telepathy: there is no", "types/telepathy/minutes", "rebates"] {
            #expect(text.contains(word))
        }
    }

    @Test("amounts are written with as many digits as their currency has")
    func decimals() {
        #expect(Amount(minor: 5, currency: "EUR").text == "0.05 EUR")
        #expect(Amount(minor: 1250, currency: "EUR").text == "12.50 EUR")
        #expect(Amount(minor: 1250, currency: "JPY").text == "1250 JPY")
        #expect(Amount(minor: 1250, currency: "KWD").text == "1.250 KWD")
    }

    @Test("PAY-06: numbers of invoices are read exactly as they are written")
    func numbers() {
        let number = InvoiceNumber(year: 2026, number: 42)
        #expect("\(number)" == "2026-000042" && InvoiceNumber("2026-000042") == number)
        for text in ["2026-42", "2026-0000042", "26-000042", "2026-000000", "2026-00004x", "2026_000042", "", "-"] {
            #expect(InvoiceNumber(text) == nil)
        }
        #expect(InvoiceNumber(year: 2026, number: 1_234_567).description == "2026-1234567")
        let restored = InvoiceNumber(year: 2026, series: 1_776_000_000, number: 42)
        #expect(InvoiceNumber("\(restored)") == restored && number < restored && "\(restored)".utf8.count <= 20)
        for text in ["2026-R-000042", "2026-R0-000042", "2026-Rtdzrl3-000042", "2026-XTDZRL3-000042", "2026-R+1-000042"] {
            #expect(InvoiceNumber(text) == nil)
        }
        #expect(Invoice.year(of: Timestamp(milliseconds: 1_767_225_599_999)) == 2025)
        #expect(Invoice.year(of: Timestamp(milliseconds: 1_767_225_600_000)) == 2026)
    }
}
