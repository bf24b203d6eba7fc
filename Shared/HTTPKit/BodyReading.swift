// A body read whole into a type of the service's: what does not fit is named, member by member.

package import Contracts
package import Foundation
import NIOCore

extension Exchange {
    /// The JSON body. It is checked (`CheckedJSON`) and held against the schema that the route declares, which refuses unknown members
    /// too, before it is decoded.
    /// - Throws: `invalid-body`, with a pointer for each fault.
    package func json<Body: Decodable & Sendable>(_: Body.Type = Body.self) async throws -> Body {
        try await json(Body.self, in: Data(try await body().readableBytesView))
    }

    /// As `json()`, of a body that has been read already: its signature had to be verified first.
    package func json<Body: Decodable & Sendable>(_: Body.Type = Body.self, in bytes: Data) async throws -> Body {
        let content = shape?.contents.first { $0.mediaType == mediaType }
        // Tests hold the declared type against the schema: another one would be held against nothing. No caller can bring this about.
        assert(content?.type.map { $0 == Body.self } ?? true, "the route declares another type than \(Body.self)")
        let schema = isFit ? nil : content?.schema ?? .anything
        return try await LongBodies.work(onBytes: bytes.count, of: self) {
            if let refusal = schema.flatMap({ schema in bytes.withUnsafeBytes { schema.refusal(of: $0) } }) { throw refusal }
            return try JSONSchema.decode(Body.self, from: bytes)
        }
    }

    /// The JSON body as a tree, for readers that judge it field by field, and its bytes.
    /// - Throws: `invalid-body` where it is not JSON.
    package func jsonTree() async throws -> (tree: JSONTree, bytes: [UInt8]) {
        let bytes = Array(try await body().readableBytesView)
        let tree = try await LongBodies.work(onBytes: bytes.count, of: self) {
            do throws(JSONFault) {
                return try JSONTree(bytes)
            } catch {
                throw Problem.invalidBody([.init(pointer: "", .notJSON(error))])
            }
        }
        return (tree, bytes)
    }

    /// The fields of a page's form.
    /// - Throws: `invalid-body` where it cannot be read.
    package func form() async throws -> FormFields {
        let bytes = try await body()
        guard let fields = FormFields(Array(bytes.readableBytesView)) else {
            throw Problem.invalidBody([.init(pointer: "", .notAForm)])
        }
        return fields
    }
}

extension JSONSchema {
    private static let decoder = JSONDecoder()

    /// `invalid-body`, with everything that does not fit; nil where all does.
    func refusal(of bytes: UnsafeRawBufferPointer) -> Problem? {
        do throws(JSONFault) {
            let faults = try faults(in: bytes)
            return faults.isEmpty ? nil : .invalidBody(faults)
        } catch {
            return .invalidBody([.init(pointer: "", .notJSON(error))])
        }
    }

    /// Of a text that fits the schema.
    /// - Throws: `invalid-body` for what the schema does not say.
    static func decode<Body: Decodable>(_: Body.Type, from bytes: Data) throws -> Body {
        do {
            return try Self.decoder.decode(Body.self, from: bytes)
        } catch let error as DecodingError {
            throw Problem.invalidBody([.init(pointer: error.pointer, .wrongFormat)])
        }
    }
}

extension DecodingError {
    /// JSON Pointer of the member that did not fit.
    fileprivate var pointer: String {
        let (path, last): ([any CodingKey], (any CodingKey)?) =
            switch self {
            case .keyNotFound(let key, let context): (context.codingPath, key)
            case .typeMismatch(_, let context), .valueNotFound(_, let context), .dataCorrupted(let context): (context.codingPath, nil)
            @unknown default: ([], nil)
            }
        return (path + [last].compactMap { $0 }).map { JSONPointer.step($0.intValue.map(String.init) ?? $0.stringValue) }.joined()
    }
}

/// RFC 6901.
enum JSONPointer {
    /// One reference token with its slash. Names that were sent are cut, so that an answer does not echo a book.
    static func step(_ name: String) -> String {
        // By code points: one character can be made of any number of them.
        var step = "/"
        for point in name.unicodeScalars.prefix(64) {
            switch point {
            case "~": step += "~0"
            case "/": step += "~1"
            default: step.unicodeScalars.append(point)
            }
        }
        return step
    }
}

/// What a form sent, `application/x-www-form-urlencoded` (WHATWG URL §5.1).
package struct FormFields: Sendable {
    /// Fields of one form.
    package static let most = 100
    /// Bytes of a name.
    private static let longestName = 256
    private let values: [String: String]

    /// nil for broken escapes, what is not UTF-8, a name that is long or comes twice, U+0000, text that is not stream-safe, or more
    /// than `most` fields.
    init?(_ bytes: [UInt8]) {
        guard let text = String(validating: bytes, as: UTF8.self) else { return nil }
        let pairs = text.utf8.split(separator: UInt8(ascii: "&"))
        guard pairs.count <= Self.most else { return nil }
        var values: [String: String] = [:]
        for pair in pairs {
            let parts = pair.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
            guard let name = Self.decode(parts[0]), let value = parts.count == 2 ? Self.decode(parts[1]) : "",
                name.utf8.count <= Self.longestName, StreamSafeText.isSafe(value), !value.unicodeScalars.contains("\0"),
                values.updateValue(value, forKey: name) == nil
            else { return nil }
        }
        self.values = values
    }

    /// By bytes: where the characters of a text of combining marks end takes longer to find than all else.
    private static func decode(_ text: Substring.UTF8View) -> String? {
        let (plus, space) = (UInt8(ascii: "+"), UInt8(ascii: " "))
        return PercentCoding.decode(Substring(String(decoding: text.map { $0 == plus ? space : $0 }, as: UTF8.self)))
    }

    /// The field's value without white space around it; nil where it was not sent or is empty.
    package subscript(name: String) -> String? {
        guard let value = values[name]?.trimmingCharacters(in: .whitespacesAndNewlines), !value.isEmpty else { return nil }
        return value
    }

    /// As it was sent: for passwords.
    package func exactly(_ name: String) -> String? {
        values[name]
    }

    /// A ticked box sends something.
    package func isTicked(_ name: String) -> Bool {
        values[name] != nil
    }
}
