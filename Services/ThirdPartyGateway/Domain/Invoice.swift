// An invoice or credit note as it was made out: it never changes, whatever becomes of the organisation or the price list.

import Contracts

/// `2026-000042`: the year in UTC, and the number within it, from 1 without gaps. `2026-RTDZRL3-000001` where the store was restored from
/// a copy in that year: numbers that were given after the copy are not known, so that a series of its own begins.
struct InvoiceNumber: Hashable, Comparable, Sendable, CustomStringConvertible {
    let year: Int
    /// The second of the restore since 1970; 0 in a year without one.
    let series: Int64
    let number: Int

    private static let digits = 6
    /// Of a series: 6 figures, 7 from 2038 on. The whole stays within the 20 characters that an electronic invoice has for its number.
    private static let radix = 36

    init(year: Int, series: Int64 = 0, number: Int) {
        (self.year, self.series, self.number) = (year, series, number)
    }

    /// Nil for everything that `description` does not write.
    init?(_ text: String) {
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        guard (2...3).contains(parts.count), parts[0].count == 4, (1...12).contains(parts[parts.count - 1].count), let year = Int(parts[0]),
            let number = Int(parts[parts.count - 1]), let series = parts.count == 2 ? 0 : Int64(parts[1].dropFirst(), radix: Self.radix),
            year > 0, number > 0
        else { return nil }
        self.init(year: year, series: series, number: number)
        guard description == text else { return nil }
    }

    var description: String {
        let text = String(number)
        let series = series == 0 ? "" : "R\(String(series, radix: Self.radix, uppercase: true))-"
        return "\(year)-" + series + String(repeating: "0", count: max(0, Self.digits - text.count)) + text
    }

    static func < (one: InvoiceNumber, other: InvoiceNumber) -> Bool {
        (one.year, one.series, one.number) < (other.year, other.series, other.number)
    }
}

/// Who makes invoices out.
struct Seller: Hashable, Codable, Sendable {
    var name: String
    /// In one line.
    var address: String
    var vatNumber: String
}

struct Invoice: Hashable, Sendable {
    enum Kind: String, Codable, Sendable, CaseIterable {
        case invoice
        /// Takes an invoice back; its amounts are what goes back.
        case creditNote = "credit-note"
    }

    struct Content: Hashable, Codable, Sendable {
        var seller: Seller
        var buyer: BillingAddress
        var request: RequestID
        var scope: RequestScope
        var quote: Quote
        var method: PaymentMethod
        /// Of the invoice that a credit note takes back.
        var takesBack: String?
    }

    let number: InvoiceNumber
    let kind: Kind
    let payment: PaymentID
    let issuedAt: Timestamp
    let content: Content

    /// In which series an invoice of this year is made out. In a year after the restore none can have been given before it.
    static func series(of year: Int, restoredAt: Timestamp?) -> Int64 {
        guard let restoredAt, year <= Self.year(of: restoredAt) else { return 0 }
        return restoredAt.milliseconds / 1000
    }

    static func year(of time: Timestamp) -> Int {
        let day = time.milliseconds.flooredQuotientAndRemainder(dividingBy: 86_400_000).quotient
        return Int(CivilDate(daysSince1970: day).year)
    }
}
