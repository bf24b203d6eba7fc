// Bytes as text.

import Foundation

/// Lower-case hexadecimal.
package enum Hex {
    package static func encode(_ bytes: some Collection<UInt8>) -> String {
        let digits = Array("0123456789abcdef".utf8)
        return String(decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }

    /// Either case; `nil` for an odd length or another character.
    package static func decode(_ text: some StringProtocol) -> [UInt8]? {
        let nibbles = text.utf8.map(nibble)
        guard nibbles.count.isMultiple(of: 2), !nibbles.contains(nil) else { return nil }
        let values = nibbles.compactMap { $0 }
        return stride(from: 0, to: values.count, by: 2).map { values[$0] << 4 | values[$0 + 1] }
    }

    private static func nibble(_ character: UInt8) -> UInt8? {
        switch character {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): character - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): character - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): character - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}

/// RFC 4648 §4, with padding.
package enum Base64 {
    package static func encode(_ bytes: some Collection<UInt8>) -> String {
        Data(bytes).base64EncodedString()
    }

    /// `nil` for anything but the one right spelling.
    package static func decode(_ text: some StringProtocol) -> [UInt8]? {
        let text = String(text)
        guard let data = Data(base64Encoded: text), data.base64EncodedString() == text else { return nil }
        return Array(data)
    }
}

/// RFC 4648 §5, without padding: for tokens, which travel in headers and addresses.
package enum Base64URL {
    package static func encode(_ bytes: some Collection<UInt8>) -> String {
        let digits = Base64.encode(bytes).utf8.filter { $0 != UInt8(ascii: "=") }
        return String(decoding: digits.map(forAddresses), as: UTF8.self)
    }

    /// `nil` for anything but the one right spelling.
    package static func decode(_ text: some StringProtocol) -> [UInt8]? {
        guard !text.utf8.contains(where: "+/=".utf8.contains) else { return nil }
        let padding = String(repeating: "=", count: (4 - text.utf8.count % 4) % 4)
        return Base64.decode(String(decoding: text.utf8.map(forMail), as: UTF8.self) + padding)
    }

    private static func forAddresses(_ digit: UInt8) -> UInt8 {
        switch digit {
        case UInt8(ascii: "+"): UInt8(ascii: "-")
        case UInt8(ascii: "/"): UInt8(ascii: "_")
        default: digit
        }
    }

    private static func forMail(_ digit: UInt8) -> UInt8 {
        switch digit {
        case UInt8(ascii: "-"): UInt8(ascii: "+")
        case UInt8(ascii: "_"): UInt8(ascii: "/")
        default: digit
        }
    }
}
