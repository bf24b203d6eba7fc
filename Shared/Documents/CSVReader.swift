// Reads comma-separated values as RFC 4180 writes them; also takes bare line feeds, a byte-order mark and a last line without end.

/// Why a file is not CSV. Lines count from 1; a quoted field may span lines.
package enum CSVFault: Error, Hashable, Sendable, CustomStringConvertible {
    case notUTF8(line: Int)
    /// A quote inside an unquoted field, or text after a closing quote.
    case strayQuote(line: Int)
    case unterminatedQuote(line: Int)
    case fieldTooLong(line: Int)
    case tooManyFields(line: Int)

    /// From 1; of an unterminated quote, the line on which it opens.
    package var line: Int {
        switch self {
        case .notUTF8(let line), .strayQuote(let line), .unterminatedQuote(let line), .fieldTooLong(let line), .tooManyFields(let line):
            line
        }
    }

    /// Says where and what, never the contents.
    package var description: String {
        switch self {
        case .notUTF8: "line \(line): not UTF-8 text"
        case .strayQuote: "line \(line): a quote inside an unquoted field, or text after a closing quote"
        case .unterminatedQuote: "line \(line): a quoted field that never ends"
        case .fieldTooLong: "line \(line): a field of more than \(CSVReader.fieldBytes) bytes"
        case .tooManyFields: "line \(line): more than \(CSVReader.fields) fields"
        }
    }
}

/// Gives one record after the other; lines without any character are skipped.
package struct CSVReader: Sendable {
    /// Longest field in bytes: what is exchanged here are numbers, times and codes.
    package static let fieldBytes = 65_536
    /// Most of one record.
    package static let fields = 1024

    package struct Record: Hashable, Sendable {
        /// On which it begins.
        package var line: Int
        /// Quotes resolved, nothing trimmed; at least one.
        package var fields: [String]
    }

    private let bytes: [UInt8]
    private var index: Int
    private var line = 1

    /// The whole file; nothing of it is checked before `next`.
    package init(_ bytes: [UInt8]) {
        self.bytes = bytes
        index = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0
    }

    /// Nil at the end. After an error nothing more can be read.
    package mutating func next() throws(CSVFault) -> Record? {
        skipEmptyLines()
        guard index < bytes.count else { return nil }
        let first = line
        var fields: [String] = []
        while true {
            guard fields.count < CSVReader.fields else { throw .tooManyFields(line: line) }
            fields.append(try field())
            guard index < bytes.count else { break }
            let separator = bytes[index]
            index += 1
            if separator == UInt8(ascii: ",") { continue }
            if separator == UInt8(ascii: "\r"), index < bytes.count, bytes[index] == UInt8(ascii: "\n") { index += 1 }
            line += 1
            break
        }
        return Record(line: first, fields: fields)
    }

    private mutating func skipEmptyLines() {
        while index < bytes.count, bytes[index] == UInt8(ascii: "\n") || bytes[index] == UInt8(ascii: "\r") {
            if bytes[index] == UInt8(ascii: "\n") { line += 1 }
            index += 1
        }
    }

    /// Ends before the separator or at the end of the file.
    private mutating func field() throws(CSVFault) -> String {
        index < bytes.count && bytes[index] == UInt8(ascii: "\"") ? try quotedField() : try plainField()
    }

    private mutating func plainField() throws(CSVFault) -> String {
        let start = index
        while index < bytes.count, !CSVReader.isSeparator(bytes[index]) {
            if bytes[index] == UInt8(ascii: "\"") { throw .strayQuote(line: line) }
            index += 1
        }
        return try text(bytes[start..<index])
    }

    private mutating func quotedField() throws(CSVFault) -> String {
        let opened = line
        var content: [UInt8] = []
        index += 1
        while index < bytes.count {
            let byte = bytes[index]
            index += 1
            guard byte == UInt8(ascii: "\"") else {
                if byte == UInt8(ascii: "\n") { line += 1 }
                content.append(byte)
                continue
            }
            if index < bytes.count, bytes[index] == UInt8(ascii: "\"") {
                content.append(byte)
                index += 1
                continue
            }
            guard index == bytes.count || CSVReader.isSeparator(bytes[index]) else { throw .strayQuote(line: line) }
            return try text(content[...])
        }
        throw .unterminatedQuote(line: opened)
    }

    private func text(_ content: ArraySlice<UInt8>) throws(CSVFault) -> String {
        guard content.count <= CSVReader.fieldBytes else { throw .fieldTooLong(line: line) }
        guard let text = String(validating: content, as: UTF8.self) else { throw .notUTF8(line: line) }
        return text
    }

    private static func isSeparator(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: ",") || byte == UInt8(ascii: "\n") || byte == UInt8(ascii: "\r")
    }
}
