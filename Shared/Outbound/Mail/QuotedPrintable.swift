// Quoted-printable (RFC 2045 §6.7): any text in lines of ASCII that no mail system changes on the way.

enum QuotedPrintable {
    /// Characters of a line, the soft line break included.
    private static let longestLine = 76
    private static let digits = Array("0123456789ABCDEF".utf8)

    /// Lines end with CRLF, the last one too. Whatever ended a line in `text` (CRLF, CR, LF) ends one here.
    static func encode(_ text: String) -> [UInt8] {
        var output: [UInt8] = []
        let unified = text.replacing("\r\n", with: "\n").replacing("\r", with: "\n")
        var lines = unified.utf8.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        if lines.last?.isEmpty == true { lines.removeLast() }
        for line in lines { encode(Array(line), into: &output) }
        return output
    }

    private static func encode(_ line: [UInt8], into output: inout [UInt8]) {
        var column = 0
        for (index, byte) in line.enumerated() {
            let isLast = index == line.count - 1
            let isPlain = isPlain(byte, isFirst: column == 0, isLast: isLast)
            let width = isPlain ? 1 : 3
            if column + width > (isLast ? longestLine : longestLine - 1) {
                output += Array("=\r\n".utf8)
                column = 0
                // What begins a line now may no longer stand as it is.
                encodeOne(byte, Self.isPlain(byte, isFirst: true, isLast: isLast), into: &output, &column)
            } else {
                encodeOne(byte, isPlain, into: &output, &column)
            }
        }
        output += Array("\r\n".utf8)
    }

    private static func encodeOne(_ byte: UInt8, _ isPlain: Bool, into output: inout [UInt8], _ column: inout Int) {
        if isPlain {
            output.append(byte)
        } else {
            output += [UInt8(ascii: "="), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
        }
        column += isPlain ? 1 : 3
    }

    /// A full stop at the beginning would have to be doubled on the wire, and "From " is changed by old mail boxes.
    private static func isPlain(_ byte: UInt8, isFirst: Bool, isLast: Bool) -> Bool {
        switch byte {
        case UInt8(ascii: "="): false
        case UInt8(ascii: "."), UInt8(ascii: "F"): !isFirst
        case UInt8(ascii: " "), UInt8(ascii: "\t"): !isLast
        case 0x21...0x7E: true
        default: false
        }
    }
}
