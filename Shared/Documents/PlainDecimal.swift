// Numbers as XML Schema and spreadsheets want them: digits and a point, never an exponent.

/// The shortest decimal that reads back as the same Double, written without an exponent.
package enum PlainDecimal {
    /// - Parameter value: finite.
    package static func text(_ value: Double) -> String {
        let written = value.description
        guard let mark = written.firstIndex(where: { $0 == "e" || $0 == "E" }), let exponent = Int(written[written.index(after: mark)...])
        else { return written.hasSuffix(".0") ? String(written.dropLast(2)) : written }
        var digits = written[..<mark]
        let sign = digits.hasPrefix("-") ? "-" : ""
        digits = digits.drop { $0 == "-" }
        let parts = digits.split(separator: ".", maxSplits: 1)
        let whole = parts.first ?? "0"
        let fraction = parts.count > 1 && parts[1] != "0" ? parts[1] : ""
        let all = String(whole + fraction)
        let point = whole.count + exponent
        if point <= 0 { return sign + "0." + String(repeating: "0", count: -point) + all }
        if point >= all.count { return sign + all + String(repeating: "0", count: point - all.count) }
        return sign + all.prefix(point) + "." + all.dropFirst(point)
    }
}
