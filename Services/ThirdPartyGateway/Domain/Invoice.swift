// An invoice or credit note as it was made out: it never changes, whatever becomes of the organisation or the price list.

import Contracts

/// `2026-000042`: the year in UTC, and the number within it, from 1 without gaps.
struct InvoiceNumber: Hashable, Comparable, Sendable, CustomStringConvertible {
    let year: Int
    let number: Int

    private static let digits = 6

    init(year: Int, number: Int) {
        (self.year, self.number) = (year, number)
    }

    /// Nil for everything that `description` does not write.
    init?(_ text: String) {
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 2, parts[0].count == 4, (1...12).contains(parts[1].count), let year = Int(parts[0]),
            let number = Int(parts[1]), year > 0, number > 0
        else { return nil }
        self.init(year: year, number: number)
        guard description == text else { return nil }
    }

    var description: String {
        let text = String(number)
        return "\(year)-" + String(repeating: "0", count: max(0, Self.digits - text.count)) + text
    }

    static func < (one: InvoiceNumber, other: InvoiceNumber) -> Bool {
        (one.year, one.number) < (other.year, other.number)
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

    static func year(of time: Timestamp) -> Int {
        let day = time.milliseconds.flooredQuotientAndRemainder(dividingBy: 86_400_000).quotient
        return Int(CivilDate(daysSince1970: day).year)
    }
}
