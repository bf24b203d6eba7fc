// The ways in which recordings write instants.

import Contracts

enum RecordedTime {
    /// RFC 3339, also with a space for the `T`; without an offset it is taken as UTC; or seconds or milliseconds since 1970.
    static func read(_ text: String) -> Timestamp? {
        let text = text.trimmed
        if let exact = Timestamp(rfc3339: text) { return exact }
        if text.utf8.allSatisfy({ $0 &- 48 <= 9 || $0 == UInt8(ascii: ".") }) { return sinceEpoch(text) }
        var bytes = Array(text.utf8)
        guard bytes.count >= 19 else { return nil }
        if bytes[10] == UInt8(ascii: " ") { bytes[10] = UInt8(ascii: "T") }
        let withT = String(decoding: bytes, as: UTF8.self)
        return Timestamp(rfc3339: withT) ?? Timestamp(rfc3339: withT + "Z")
    }

    /// Thirteen digits are milliseconds (from 2001 on), fewer are seconds.
    private static func sinceEpoch(_ text: String) -> Timestamp? {
        if text.utf8.count == 13, let milliseconds = Int64(text) { return Timestamp(milliseconds: milliseconds) }
        guard let seconds = Double(text), seconds >= 1, seconds < 10_000_000_000 else { return nil }
        return Timestamp(milliseconds: Int64((seconds * 1000).rounded()))
    }
}

extension StringProtocol {
    /// Without blanks at either end.
    var trimmed: String {
        let inside = drop(while: \.isWhitespace)
        guard let last = inside.lastIndex(where: { !$0.isWhitespace }) else { return "" }
        return String(inside[...last])
    }
}
