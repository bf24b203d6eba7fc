// What a type reads of JSON, found out by letting it: its initialiser runs over a decoder that hands out samples and takes notes.

/// What a decoder hands out at one place.
package indirect enum DecodingSample: Sendable {
    case flag
    case number(Double)
    case text(String)
    case list(of: DecodingSample)
    /// Members that it does not name are absent.
    case object([String: DecodingSample])
    /// An object whose member names are data.
    case map(of: DecodingSample)
    /// There, and of any kind.
    case anything
}

/// What a type reads at one place.
package indirect enum DecodedShape: Hashable, Sendable {
    case flag
    case whole
    case number
    case text
    case list(of: DecodedShape)
    case object([String: Member])
    /// Whatever members there are.
    case map(of: DecodedShape)
    /// Not looked into.
    case unread

    package struct Member: Hashable, Sendable {
        /// Whether the type does without it: it asks first whether the member is there.
        package var isOptional: Bool
        package var shape: DecodedShape
    }

    /// - Returns: with `fault` where the type does not take the sample; the shape then ends where it gave up.
    package static func of(_ type: any Decodable.Type, reading sample: DecodingSample) -> (shape: DecodedShape, fault: (any Error)?) {
        let notes = DecodingNotes()
        do {
            _ = try type.init(from: RecordingDecoder(notes: notes, sample: sample, codingPath: []))
            return (notes.shape, nil)
        } catch {
            return (notes.shape, error)
        }
    }
}

/// What was asked for at one place.
private final class DecodingNotes {
    enum Kind {
        case unread, flag, whole, number, text, list, object, map
    }

    /// Of the one member of a map, and of the one item of a list.
    static let onlyName = "any"

    var kind = Kind.unread
    var isOptional = false
    private var places: [String: DecodingNotes] = [:]

    func inner(_ name: String) -> DecodingNotes {
        if let known = places[name] { return known }
        let new = DecodingNotes()
        places[name] = new
        return new
    }

    var shape: DecodedShape {
        switch kind {
        case .unread: .unread
        case .flag: .flag
        case .whole: .whole
        case .number: .number
        case .text: .text
        case .list: .list(of: places[Self.onlyName]?.shape ?? .unread)
        case .map: .map(of: places[Self.onlyName]?.shape ?? .unread)
        case .object: .object(places.mapValues { .init(isOptional: $0.isOptional, shape: $0.shape) })
        }
    }
}

private struct RecordingDecoder: Decoder {
    let notes: DecodingNotes
    /// Nil where nothing is there.
    let sample: DecodingSample?
    let codingPath: [any CodingKey]
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(keyedBy _: Key.Type) -> KeyedDecodingContainer<Key> {
        if notes.kind != .map { notes.kind = .object }
        return KeyedDecodingContainer(RecordingMembers<Key>(decoder: self))
    }

    func unkeyedContainer() -> any UnkeyedDecodingContainer {
        notes.kind = .list
        return RecordingItems(decoder: self)
    }

    func singleValueContainer() -> any SingleValueDecodingContainer {
        RecordingValue(decoder: self)
    }

    func inner(_ name: String, _ sample: DecodingSample?, at path: [any CodingKey]) -> RecordingDecoder {
        RecordingDecoder(notes: notes.inner(name), sample: sample, codingPath: path)
    }

    // MARK: Values without values in them

    func flag() -> Bool {
        notes.kind = .flag
        return true
    }

    func text() -> String {
        notes.kind = .text
        return if case .text(let text)? = sample { text } else { "" }
    }

    func whole<Value: FixedWidthInteger>() -> Value {
        notes.kind = .whole
        return if case .number(let number)? = sample { Value(exactly: number) ?? 1 } else { 1 }
    }

    func number<Value: BinaryFloatingPoint>() -> Value {
        notes.kind = .number
        return if case .number(let number)? = sample { Value(number) } else { 1 }
    }
}

private struct RecordingMembers<Key: CodingKey>: KeyedDecodingContainerProtocol {
    let decoder: RecordingDecoder
    var codingPath: [any CodingKey] { decoder.codingPath }

    /// Who asks for the names takes whatever there is.
    var allKeys: [Key] {
        decoder.notes.kind = .map
        return [Key(stringValue: DecodingNotes.onlyName)].compactMap(\.self)
    }

    private func sample(of key: Key) -> DecodingSample? {
        switch decoder.sample {
        case .object(let members)?: members[key.stringValue]
        case .map(let member)?: member
        case .anything?: .anything
        default: nil
        }
    }

    private func member(_ key: Key) -> RecordingDecoder {
        decoder.inner(key.stringValue, sample(of: key), at: codingPath + [key])
    }

    func contains(_ key: Key) -> Bool {
        decoder.notes.inner(key.stringValue).isOptional = true
        return sample(of: key) != nil
    }

    func decodeNil(forKey key: Key) -> Bool { !contains(key) }
    func decode<Value: Decodable>(_: Value.Type, forKey key: Key) throws -> Value { try Value(from: member(key)) }

    func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type, forKey key: Key) -> KeyedDecodingContainer<Nested> {
        member(key).container(keyedBy: type)
    }

    func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedDecodingContainer { member(key).unkeyedContainer() }
    func superDecoder() -> any Decoder { decoder }
    func superDecoder(forKey key: Key) -> any Decoder { member(key) }
    func decode(_: Bool.Type, forKey key: Key) -> Bool { member(key).flag() }
    func decode(_: String.Type, forKey key: Key) -> String { member(key).text() }
    func decode(_: Double.Type, forKey key: Key) -> Double { member(key).number() }
    func decode(_: Float.Type, forKey key: Key) -> Float { member(key).number() }
    func decode(_: Int.Type, forKey key: Key) -> Int { member(key).whole() }
    func decode(_: Int8.Type, forKey key: Key) -> Int8 { member(key).whole() }
    func decode(_: Int16.Type, forKey key: Key) -> Int16 { member(key).whole() }
    func decode(_: Int32.Type, forKey key: Key) -> Int32 { member(key).whole() }
    func decode(_: Int64.Type, forKey key: Key) -> Int64 { member(key).whole() }
    func decode(_: UInt.Type, forKey key: Key) -> UInt { member(key).whole() }
    func decode(_: UInt8.Type, forKey key: Key) -> UInt8 { member(key).whole() }
    func decode(_: UInt16.Type, forKey key: Key) -> UInt16 { member(key).whole() }
    func decode(_: UInt32.Type, forKey key: Key) -> UInt32 { member(key).whole() }
    func decode(_: UInt64.Type, forKey key: Key) -> UInt64 { member(key).whole() }
}

/// One item.
private struct RecordingItems: UnkeyedDecodingContainer {
    let decoder: RecordingDecoder
    private(set) var currentIndex = 0
    var codingPath: [any CodingKey] { decoder.codingPath }
    var count: Int? { 1 }
    var isAtEnd: Bool { currentIndex > 0 }

    init(decoder: RecordingDecoder) {
        self.decoder = decoder
    }

    private mutating func element() -> RecordingDecoder {
        currentIndex += 1
        let sample: DecodingSample? =
            switch decoder.sample {
            case .list(let item)?: item
            case .anything?: .anything
            default: nil
            }
        return decoder.inner(DecodingNotes.onlyName, sample, at: codingPath)
    }

    func decodeNil() -> Bool { false }
    mutating func decode<Value: Decodable>(_: Value.Type) throws -> Value { try Value(from: element()) }

    mutating func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type) -> KeyedDecodingContainer<Nested> {
        element().container(keyedBy: type)
    }

    mutating func nestedUnkeyedContainer() -> any UnkeyedDecodingContainer { element().unkeyedContainer() }
    mutating func superDecoder() -> any Decoder { element() }
    mutating func decode(_: Bool.Type) -> Bool { element().flag() }
    mutating func decode(_: String.Type) -> String { element().text() }
    mutating func decode(_: Double.Type) -> Double { element().number() }
    mutating func decode(_: Float.Type) -> Float { element().number() }
    mutating func decode(_: Int.Type) -> Int { element().whole() }
    mutating func decode(_: Int8.Type) -> Int8 { element().whole() }
    mutating func decode(_: Int16.Type) -> Int16 { element().whole() }
    mutating func decode(_: Int32.Type) -> Int32 { element().whole() }
    mutating func decode(_: Int64.Type) -> Int64 { element().whole() }
    mutating func decode(_: UInt.Type) -> UInt { element().whole() }
    mutating func decode(_: UInt8.Type) -> UInt8 { element().whole() }
    mutating func decode(_: UInt16.Type) -> UInt16 { element().whole() }
    mutating func decode(_: UInt32.Type) -> UInt32 { element().whole() }
    mutating func decode(_: UInt64.Type) -> UInt64 { element().whole() }
}

private struct RecordingValue: SingleValueDecodingContainer {
    let decoder: RecordingDecoder
    var codingPath: [any CodingKey] { decoder.codingPath }

    func decodeNil() -> Bool { decoder.sample == nil }
    func decode<Value: Decodable>(_: Value.Type) throws -> Value { try Value(from: decoder) }
    func decode(_: Bool.Type) -> Bool { decoder.flag() }
    func decode(_: String.Type) -> String { decoder.text() }
    func decode(_: Double.Type) -> Double { decoder.number() }
    func decode(_: Float.Type) -> Float { decoder.number() }
    func decode(_: Int.Type) -> Int { decoder.whole() }
    func decode(_: Int8.Type) -> Int8 { decoder.whole() }
    func decode(_: Int16.Type) -> Int16 { decoder.whole() }
    func decode(_: Int32.Type) -> Int32 { decoder.whole() }
    func decode(_: Int64.Type) -> Int64 { decoder.whole() }
    func decode(_: UInt.Type) -> UInt { decoder.whole() }
    func decode(_: UInt8.Type) -> UInt8 { decoder.whole() }
    func decode(_: UInt16.Type) -> UInt16 { decoder.whole() }
    func decode(_: UInt32.Type) -> UInt32 { decoder.whole() }
    func decode(_: UInt64.Type) -> UInt64 { decoder.whole() }
}
