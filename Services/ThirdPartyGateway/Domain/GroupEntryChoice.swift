// Which entries of a release are read, and how their numbers and words are written (ANO-17).

import Contracts

/// What a delivered set is cut down to.
struct GroupEntryChoice: Hashable, Sendable {
    static let hours = 0...24
    private static let millisecondsPerHour: Int64 = 3_600_000

    let type: String?
    /// Hours of the day in UTC in which an entry begins: from the first, before the second; over midnight where the first is the later
    /// one. Both nil for all.
    let hourFrom: Int?
    let hourTo: Int?

    func contains(_ entry: GroupEntry) -> Bool {
        if let type, entry.type != type { return false }
        guard hourFrom != nil || hourTo != nil else { return true }
        let (first, last) = (hourFrom ?? Self.hours.lowerBound, hourTo ?? Self.hours.upperBound)
        let ofDay = entry.from.milliseconds.flooredQuotientAndRemainder(dividingBy: 24 * Self.millisecondsPerHour).remainder
        let hour = Int(ofDay / Self.millisecondsPerHour)
        return first <= last ? first <= hour && hour < last : hour >= first || hour < last
    }
}

/// Whole thousandths as a decimal, exactly: `67.5` of 67,500.
enum Thousandths {
    static func text(_ thousandths: Int) -> String {
        let (whole, rest) = thousandths.magnitude.quotientAndRemainder(dividingBy: 1000)
        var text = (thousandths < 0 ? "-" : "") + String(whole)
        guard rest > 0 else { return text }
        var digits = String(rest)
        digits = String(repeating: "0", count: 3 - digits.count) + digits
        while digits.hasSuffix("0") { digits.removeLast() }
        text += "." + digits
        return text
    }
}

/// Words in a table that a spreadsheet opens.
enum SpreadsheetCell {
    /// What begins as a formula does is led by an apostrophe, so that it stays text.
    static func text(_ words: String) -> String {
        guard let first = words.unicodeScalars.first, "=+-@\t\r\n\u{FF1D}\u{FF0B}\u{FF0D}\u{FF20}".unicodeScalars.contains(first) else {
            return words
        }
        return "'" + words
    }
}
