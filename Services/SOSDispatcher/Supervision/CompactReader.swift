// Reads the compact form back into values.

/// Takes bytes apart; every step stays inside them.
struct CompactReader {
    indirect enum Value {
        case null
        case truth(Bool)
        case integer(Int64)
        case number(Double)
        case text(String)
        case list([Value])
        case members([String: Value])
    }

    private let bytes: ArraySlice<UInt8>
    private var index: Int
    private var words: [String]

    private init(_ bytes: ArraySlice<UInt8>) throws {
        (self.bytes, index, words) = (bytes, bytes.startIndex, [])
        let count = try size()
        guard count <= CompactForm.words.count else { throw CompactReader.unreadable }
        words = Array(CompactForm.words.prefix(count))
    }

    static func read(_ bytes: [UInt8]) throws -> Value {
        guard bytes.first == CompactForm.version else { throw unreadable }
        var reader = try CompactReader(bytes.dropFirst())
        let value = try reader.value(depth: 0)
        guard reader.index == bytes.endIndex else { throw unreadable }
        return value
    }

    static var unreadable: DecodingError {
        .dataCorrupted(.init(codingPath: [], debugDescription: "not the compact form"))
    }

    private mutating func value(depth: Int) throws -> Value {
        guard let mark = CompactForm.Mark(rawValue: try byte()), let value = try value(mark, depth: depth) else {
            throw CompactReader.unreadable
        }
        return value
    }

    /// nil for the end of a container.
    private mutating func value(_ mark: CompactForm.Mark, depth: Int) throws -> Value? {
        guard depth <= CompactForm.deepest else { throw CompactReader.unreadable }
        switch mark {
        case .end: return nil
        case .null: return .null
        case .no: return .truth(false)
        case .yes: return .truth(true)
        case .integer:
            let zigzag = try unsigned()
            return .integer(Int64(bitPattern: zigzag >> 1) ^ -Int64(bitPattern: zigzag & 1))
        case .number:
            var pattern: UInt64 = 0
            for shift in stride(from: UInt64(0), to: 64, by: 8) { pattern |= UInt64(try byte()) << shift }
            return .number(Double(bitPattern: pattern))
        case .text:
            guard let text = try word() else { throw CompactReader.unreadable }
            return .text(text)
        case .list:
            var list: [Value] = []
            while true {
                guard let mark = CompactForm.Mark(rawValue: try byte()) else { throw CompactReader.unreadable }
                guard let value = try value(mark, depth: depth + 1) else { return .list(list) }
                list.append(value)
            }
        case .members:
            var members: [String: Value] = [:]
            while let name = try word() { members[name] = try value(depth: depth + 1) }
            return .members(members)
        }
    }

    /// nil for the end of members.
    private mutating func word() throws -> String? {
        let number = try size()
        switch number {
        case Int(CompactForm.Mark.end.rawValue): return nil
        case CompactForm.spelledOut:
            let count = try size()
            guard count <= bytes.endIndex - index else { throw CompactReader.unreadable }
            let word = String(decoding: bytes[index..<index + count], as: UTF8.self)
            index += count
            words.append(word)
            return word
        default:
            guard number - CompactForm.known < words.count else { throw CompactReader.unreadable }
            return words[number - CompactForm.known]
        }
    }

    private mutating func byte() throws -> UInt8 {
        guard index < bytes.endIndex else { throw CompactReader.unreadable }
        defer { index += 1 }
        return bytes[index]
    }

    private mutating func unsigned() throws -> UInt64 {
        var number: UInt64 = 0
        for shift in stride(from: UInt64(0), to: 64, by: 7) {
            let byte = try byte()
            let part = UInt64(byte & 0x7F)
            guard shift < 63 || part <= 1 else { throw CompactReader.unreadable }
            number |= part << shift
            if byte < 0x80 { return number }
        }
        throw CompactReader.unreadable
    }

    private mutating func size() throws -> Int {
        guard let size = Int(exactly: try unsigned()) else { throw CompactReader.unreadable }
        return size
    }
}

struct CompactDecoder: Decoder {
    let value: CompactReader.Value
    var codingPath: [any CodingKey] = []
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    init(value: CompactReader.Value, at codingPath: [any CodingKey] = []) {
        (self.value, self.codingPath) = (value, codingPath)
    }

    func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        guard case .members(let members) = value else { throw mismatch(type) }
        return KeyedDecodingContainer(Members<Key>(members: members, codingPath: codingPath))
    }

    func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
        guard case .list(let list) = value else { throw mismatch([CompactReader.Value].self) }
        return List(list: list, codingPath: codingPath)
    }

    func singleValueContainer() -> any SingleValueDecodingContainer {
        Single(decoder: self)
    }

    fileprivate func mismatch(_ type: Any.Type) -> DecodingError {
        .typeMismatch(type, .init(codingPath: codingPath, debugDescription: "something else stands there"))
    }

    fileprivate var isNull: Bool {
        if case .null = value { true } else { false }
    }
}

private struct Members<Key: CodingKey>: KeyedDecodingContainerProtocol {
    let members: [String: CompactReader.Value]
    let codingPath: [any CodingKey]

    var allKeys: [Key] { members.keys.compactMap { Key(stringValue: $0) } }

    func contains(_ key: Key) -> Bool { members[key.stringValue] != nil }

    private func decoder(_ key: some CodingKey) throws -> CompactDecoder {
        guard let value = members[key.stringValue] else {
            throw DecodingError.keyNotFound(key, .init(codingPath: codingPath, debugDescription: "no such member"))
        }
        return CompactDecoder(value: value, at: codingPath + [key])
    }

    func decodeNil(forKey key: Key) throws -> Bool { try decoder(key).isNull }

    func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value { try Value(from: decoder(key)) }

    func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type, forKey key: Key) throws -> KeyedDecodingContainer<Nested> {
        try decoder(key).container(keyedBy: type)
    }

    func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer { try decoder(key).unkeyedContainer() }

    func superDecoder() throws -> any Decoder { CompactDecoder(value: members["super"] ?? .null, at: codingPath) }

    func superDecoder(forKey key: Key) throws -> any Decoder { try decoder(key) }
}

private struct List: UnkeyedDecodingContainer {
    let list: [CompactReader.Value]
    let codingPath: [any CodingKey]
    private(set) var currentIndex = 0

    init(list: [CompactReader.Value], codingPath: [any CodingKey]) {
        (self.list, self.codingPath) = (list, codingPath)
    }

    var count: Int? { list.count }
    var isAtEnd: Bool { currentIndex == list.count }

    private mutating func next() throws -> CompactDecoder {
        guard !isAtEnd else {
            throw DecodingError.valueNotFound(
                CompactReader.Value.self, .init(codingPath: codingPath, debugDescription: "the list is at its end"))
        }
        defer { currentIndex += 1 }
        return CompactDecoder(value: list[currentIndex], at: codingPath)
    }

    mutating func decodeNil() throws -> Bool {
        guard !isAtEnd, case .null = list[currentIndex] else { return false }
        currentIndex += 1
        return true
    }

    mutating func decode<Value: Decodable>(_ type: Value.Type) throws -> Value { try Value(from: next()) }

    mutating func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type) throws -> KeyedDecodingContainer<Nested> {
        try next().container(keyedBy: type)
    }

    mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer { try next().unkeyedContainer() }

    mutating func superDecoder() throws -> any Decoder { try next() }
}

private struct Single: SingleValueDecodingContainer {
    let decoder: CompactDecoder
    var codingPath: [any CodingKey] { decoder.codingPath }

    func decodeNil() -> Bool { decoder.isNull }

    func decode(_ type: Bool.Type) throws -> Bool {
        guard case .truth(let isSo) = decoder.value else { throw decoder.mismatch(type) }
        return isSo
    }

    func decode(_ type: String.Type) throws -> String {
        guard case .text(let text) = decoder.value else { throw decoder.mismatch(type) }
        return text
    }

    func decode(_ type: Double.Type) throws -> Double {
        switch decoder.value {
        case .number(let number): number
        case .integer(let whole): Double(whole)
        default: throw decoder.mismatch(type)
        }
    }

    func decode(_ type: Float.Type) throws -> Float { Float(try decode(Double.self)) }
    func decode(_ type: Int.Type) throws -> Int { try integer() }
    func decode(_ type: Int8.Type) throws -> Int8 { try integer() }
    func decode(_ type: Int16.Type) throws -> Int16 { try integer() }
    func decode(_ type: Int32.Type) throws -> Int32 { try integer() }
    func decode(_ type: Int64.Type) throws -> Int64 { try integer() }
    func decode(_ type: UInt.Type) throws -> UInt { try integer() }
    func decode(_ type: UInt8.Type) throws -> UInt8 { try integer() }
    func decode(_ type: UInt16.Type) throws -> UInt16 { try integer() }
    func decode(_ type: UInt32.Type) throws -> UInt32 { try integer() }
    func decode(_ type: UInt64.Type) throws -> UInt64 { try integer() }
    func decode<Value: Decodable>(_ type: Value.Type) throws -> Value { try Value(from: decoder) }

    private func integer<Whole: FixedWidthInteger>() throws -> Whole {
        guard case .integer(let integer) = decoder.value, let exact = Whole(exactly: integer) else { throw decoder.mismatch(Whole.self) }
        return exact
    }
}
