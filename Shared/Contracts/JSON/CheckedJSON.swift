// What comes from outside, held to bounds before any decoder sees it: then no decoder, dictionary or comparison of texts that follows
// can be made to take more than linear time.

package import Foundation

/// JSON of somebody outside the suite. One pass checks the whole text: UTF-8, the grammar, at most `JSONCursor.maximumDepth` arrays
/// and objects inside one another, names that are short and stand once in their object, and texts that are stream-safe.
/// How long a text may be, who reads it bounds before.
package enum CheckedJSON {
    /// In bytes as written. Dictionaries normalise a name to hash it; nothing that is read here has longer ones.
    package static let longestName = 256

    /// Whose texts they are.
    package enum Source: Sendable {
        case stranger
        /// A peer of the bus, which may pass on texts that were stored before they had to be stream-safe.
        case suite
    }

    /// - Throws: the first fault.
    package static func check(_ bytes: UnsafeRawBufferPointer, from source: Source = .stranger) throws(JSONFault) {
        if let offset = firstInvalidUTF8(bytes, in: 0..<bytes.count) { throw JSONFault(kind: .badUTF8, offset: offset) }
        var cursor = JSONCursor(bytes, range: 0..<bytes.count)
        var inspector = BoundedTexts(source)
        try cursor.passValue(depth: 0, &inspector)
        try cursor.finish()
    }

    /// Checks, then decodes.
    /// - Throws: `JSONFault` for what may not be read, `DecodingError` for what does not fit the type.
    package static func decode<Value: Decodable>(
        _: Value.Type = Value.self, from bytes: Data, of source: Source = .stranger
    ) throws -> Value {
        try bytes.withUnsafeBytes { try check($0, from: source) }
        return try JSONDecoder().decode(Value.self, from: bytes)
    }

    /// As of `Data`.
    package static func decode<Value: Decodable>(
        _: Value.Type = Value.self, from bytes: [UInt8], of source: Source = .stranger
    ) throws -> Value {
        try decode(Value.self, from: Data(bytes), of: source)
    }
}

/// Refuses names that are long or repeated, and texts that are not stream-safe.
private struct BoundedTexts: JSONTextInspector {
    private let source: CheckedJSON.Source
    /// Those of the object that is open at each level; left there when it ends.
    private var names = [NameSet](repeating: NameSet(), count: JSONCursor.maximumDepth + 1)

    init(_ source: CheckedJSON.Source) {
        self.source = source
    }

    mutating func begin(level: Int) {
        names[level].clear()
    }

    mutating func name(_ name: JSONText, level: Int, _ cursor: JSONCursor) throws(JSONFault) {
        guard name.range.count <= CheckedJSON.longestName else { throw JSONFault(kind: .longName, offset: name.range.lowerBound) }
        guard names[level].insert(cursor.decoded(name)) else { throw JSONFault(kind: .repeatedName, offset: name.range.lowerBound) }
    }

    mutating func value(_ value: JSONText, _ cursor: JSONCursor) throws(JSONFault) {
        guard source == .stranger, value.escaped || firstNonASCII(cursor.bytes, in: value.range) != nil else { return }
        guard StreamSafeText.isSafe(cursor.string(value)) else { throw JSONFault(kind: .unsafeText, offset: value.range.lowerBound) }
    }
}

/// Few names are compared one by one, many are hashed.
private struct NameSet {
    private static let few = 8
    private var listed: [[UInt8]] = []
    private var hashed: Set<[UInt8]> = []

    /// Costs what is in it, not what once was.
    mutating func clear() {
        listed.removeAll(keepingCapacity: true)
        if !hashed.isEmpty { hashed = [] }
    }

    /// False where it is there already.
    mutating func insert(_ name: [UInt8]) -> Bool {
        if listed.contains(name) { return false }
        guard listed.count == Self.few else {
            listed.append(name)
            return true
        }
        return hashed.insert(name).inserted
    }
}

/// Texts in which no run of combining marks is so long that normalising it, to hash or compare it, becomes a burden: Swift's strings
/// take time quadratic in the run.
package enum StreamSafeText {
    /// As of the Stream-Safe Text Format (UAX #15 §13), which no language's own writing exceeds.
    package static let mostNonStarters = 30

    /// In time linear in the text's length.
    package static func isSafe(_ text: String) -> Bool {
        var run = 0
        for scalar in text.unicodeScalars {
            run = isNonStarter(scalar) ? run + 1 : 0
            if run > mostNonStarters { return false }
        }
        return true
    }

    private static func isNonStarter(_ scalar: Unicode.Scalar) -> Bool {
        guard scalar.value >= 0x300 else { return false }
        // Three Tibetan vowel signs are starters themselves that are taken apart into marks.
        return scalar.properties.canonicalCombiningClass != .notReordered || [0xF73, 0xF75, 0xF81].contains(scalar.value)
    }
}
