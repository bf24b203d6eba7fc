// Writes comma-separated values as RFC 4180 has them: records end with CR LF, fields are quoted where they must be.

/// One record at a time; nothing is kept.
package enum CSVWriter {
    /// Appends one record.
    package static func append(_ fields: some Collection<String>, to bytes: inout [UInt8]) {
        for (place, field) in fields.enumerated() {
            if place > 0 { bytes.append(UInt8(ascii: ",")) }
            append(field, to: &bytes)
        }
        bytes.append(contentsOf: [0x0D, 0x0A])
    }

    private static func append(_ field: String, to bytes: inout [UInt8]) {
        guard field.utf8.contains(where: { $0 == 0x22 || $0 == 0x2C || $0 == 0x0D || $0 == 0x0A }) else {
            return bytes.append(contentsOf: field.utf8)
        }
        bytes.append(0x22)
        for byte in field.utf8 {
            if byte == 0x22 { bytes.append(0x22) }
            bytes.append(byte)
        }
        bytes.append(0x22)
    }
}
