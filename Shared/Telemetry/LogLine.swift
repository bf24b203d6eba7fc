// The text of one log line.

import Logging

struct LogLine {
    private(set) var bytes: [UInt8] = []
    private static let fixed: Set<String> = ["time", "level", "service", "label", "message"]
    /// Of one text; the rest is cut off, so that a line has an end.
    static let longestText = 8192

    init() {
        bytes.reserveCapacity(256)
    }

    mutating func begin(_ time: String, _ level: String, _ service: String, _ label: String, _ message: String) {
        bytes.append(UInt8(ascii: "{"))
        member("time", time)
        member("level", level)
        member("service", service)
        member("label", label)
        member("message", message)
    }

    mutating func add(_ key: String, _ value: Logger.MetadataValue) {
        switch value {
        case .dictionary(let members):
            for (inner, value) in members.sorted(by: { $0.key < $1.key }) { add(key + "." + inner, value) }
        case .array(let values):
            for (index, value) in values.enumerated() { add(key + "." + String(index), value) }
        case .string(let text):
            member(Self.fixed.contains(key) ? "metadata." + key : key, text)
        case .stringConvertible(let value):
            member(Self.fixed.contains(key) ? "metadata." + key : key, value.description)
        }
    }

    mutating func end() {
        bytes += [UInt8(ascii: "}"), UInt8(ascii: "\n")]
    }

    private mutating func member(_ name: String, _ value: String) {
        if bytes.count > 1 { bytes.append(UInt8(ascii: ",")) }
        string(name)
        bytes.append(UInt8(ascii: ":"))
        string(value)
    }

    private mutating func string(_ text: String) {
        bytes.append(UInt8(ascii: "\""))
        var written = 0
        for scalar in text.unicodeScalars {
            if written >= Self.longestText { break }
            written += 1
            switch scalar.value {
            case 0x22: bytes += [0x5C, 0x22]
            case 0x5C: bytes += [0x5C, 0x5C]
            case 0x0A: bytes += [0x5C, UInt8(ascii: "n")]
            // C0, DEL, C1 and the separators that some viewers take for ends of lines.
            case 0..<0x20, 0x7F...0x9F, 0x2028, 0x2029: escape(UInt16(scalar.value))
            // Most of a line: no collection is made for it.
            case 0x20...0x7E: bytes.append(UInt8(truncatingIfNeeded: scalar.value))
            default: bytes += Array(UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter)
            }
        }
        bytes.append(UInt8(ascii: "\""))
    }

    private mutating func escape(_ unit: UInt16) {
        let digits = Array("0123456789abcdef".utf8)
        bytes += [0x5C, UInt8(ascii: "u")]
        for shift in stride(from: 12, through: 0, by: -4) { bytes.append(digits[Int(unit >> UInt16(shift)) & 15]) }
    }
}
