// What stands before a document's root element: the place where a document type would be, and the only one.

import Foundation

/// Looks at a document before the library does: another encoding could hide a document type from this look, so there is none.
enum XMLProlog {
    /// - Throws: `notUTF8`, `documentType`, `processingInstruction`, or `malformed` where there is no root element.
    static func check(_ bytes: [UInt8]) throws(XMLFault) {
        // A byte 0 is no character of XML; it is how UTF-16 and UTF-32 would look.
        guard !bytes.contains(0), String(validating: bytes, as: UTF8.self) != nil else { throw .notUTF8 }
        var at = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0
        if bytes[at...].starts(with: "<?xml".utf8), at + 5 < bytes.count, Self.blanks.contains(bytes[at + 5]) {
            let end = try end(of: bytes, after: at + 5, mark: "?>")
            try checkDeclaration(bytes[at..<end])
            at = end
        }
        guard !hasInstruction(bytes[at...]) else { throw .processingInstruction }
        while true {
            while at < bytes.count, Self.blanks.contains(bytes[at]) { at += 1 }
            guard at + 1 < bytes.count, bytes[at] == UInt8(ascii: "<") else { throw .malformed(line: 1) }
            if bytes[at...].starts(with: "<!--".utf8) {
                at = try end(of: bytes, after: at + 4, mark: "-->")
            } else if bytes[at + 1] == UInt8(ascii: "!") {
                throw .documentType
            } else {
                return
            }
        }
    }

    private static let blanks: [UInt8] = [0x20, 0x09, 0x0A, 0x0D]

    /// The library does not survive an instruction without content. Nothing that is read here needs one, so none is let through, be
    /// it only in a comment.
    private static func hasInstruction(_ bytes: ArraySlice<UInt8>) -> Bool {
        zip(bytes, bytes.dropFirst()).contains { $0 == UInt8(ascii: "<") && $1 == UInt8(ascii: "?") }
    }

    private static func end(of bytes: [UInt8], after start: Int, mark: StaticString) throws(XMLFault) -> Int {
        let mark = Array(mark.description.utf8)
        var at = start
        while at + mark.count <= bytes.count {
            if bytes[at..<at + mark.count].elementsEqual(mark) { return at + mark.count }
            at += 1
        }
        throw .malformed(line: 1)
    }

    /// `<?xml … encoding="…"?>` may say UTF-8, or ASCII, which is part of it.
    private static func checkDeclaration(_ instruction: ArraySlice<UInt8>) throws(XMLFault) {
        let text = String(decoding: instruction, as: UTF8.self).lowercased()
        guard let key = text.range(of: "encoding") else { return }
        let value = text[key.upperBound...].drop { $0 == " " || $0 == "=" || $0 == "\"" || $0 == "'" }
        guard value.hasPrefix("utf-8") || value.hasPrefix("us-ascii") else { throw .notUTF8 }
    }
}
