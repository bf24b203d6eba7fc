// A problem as bytes of JSON. Refusing costs little: a general encoder takes several times as long, most of all for many wrong fields.

import Contracts
import NIOCore

extension Problem {
    /// What `JSONEncoder` makes of it; optional members that are absent are left out.
    var json: ByteBuffer {
        var bytes = ByteBuffer()
        bytes.reserveCapacity(256 + 128 * (errors?.count ?? 0))
        bytes.writeMember("{", "type", type)
        bytes.writeMember(",", "title", title)
        bytes.writeStaticString(",\"status\":")
        bytes.writeString(String(status))
        if let detail { bytes.writeMember(",", "detail", detail) }
        if let errors {
            bytes.writeStaticString(",\"errors\":[")
            for (number, error) in errors.enumerated() {
                if number > 0 { bytes.writeStaticString(",") }
                bytes.writeMember("{", "pointer", error.pointer)
                bytes.writeMember(",", "code", error.code)
                bytes.writeMember(",", "detail", error.detail)
                bytes.writeStaticString("}")
            }
            bytes.writeStaticString("]")
        }
        if let requestId { bytes.writeMember(",", "requestId", requestId) }
        bytes.writeStaticString("}")
        return bytes
    }
}

extension ByteBuffer {
    fileprivate mutating func writeMember(_ before: StaticString, _ name: StaticString, _ text: String) {
        writeStaticString(before)
        writeStaticString("\"")
        writeStaticString(name)
        writeStaticString("\":\"")
        writeEscaped(text)
        writeStaticString("\"")
    }

    /// RFC 8259 §7: quotes, backslashes and control characters; everything else stands as it is.
    private mutating func writeEscaped(_ text: String) {
        guard text.utf8.contains(where: { $0 < 0x20 || $0 == UInt8(ascii: "\"") || $0 == UInt8(ascii: "\\") }) else {
            writeString(text)
            return
        }
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"):
                writeInteger(UInt8(ascii: "\\"))
                writeInteger(byte)
            case 0..<0x20:
                let digits = String(byte, radix: 16)
                writeString("\\u" + String(repeating: "0", count: 4 - digits.count) + digits)
            default: writeInteger(byte)
            }
        }
    }
}
