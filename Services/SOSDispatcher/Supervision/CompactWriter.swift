// Writes the compact form while a value says what it consists of.

/// Values come one after the other, each with all that belongs to it: a container that something was written after is closed.
final class CompactWriter {
    private static let numbers = Dictionary(uniqueKeysWithValues: zip(CompactForm.words, 0...))

    private(set) var bytes: [UInt8] = []
    /// Lists and members that have begun and not ended.
    private var depth = 0
    /// Texts that were spelled out.
    private var spelled: [String: Int] = [:]

    init() {
        bytes.reserveCapacity(512)
        bytes.append(CompactForm.version)
        put(UInt64(CompactForm.words.count))
    }

    func write(_ value: some Encodable) throws {
        let (start, depth) = (bytes.count, depth)
        try value.encode(to: CompactEncoder(writer: self))
        // A value without anything in it opens nothing.
        if bytes.count == start { _ = begin(.members) }
        end(downTo: depth)
    }

    // MARK: Containers

    /// - Returns: the depth at which what it holds is written.
    func begin(_ mark: CompactForm.Mark) -> Int {
        put(mark)
        depth += 1
        return depth
    }

    private func end(downTo wanted: Int) {
        while depth > wanted {
            put(.end)
            depth -= 1
        }
    }

    /// Goes on with the container at this depth.
    func resume(_ wanted: Int) throws {
        end(downTo: wanted)
        guard depth == wanted else {
            throw EncodingError.invalidValue(wanted, .init(codingPath: [], debugDescription: "written to after it was closed"))
        }
    }

    // MARK: Values

    func put(_ mark: CompactForm.Mark) {
        bytes.append(mark.rawValue)
    }

    func put(_ isSo: Bool) {
        put(isSo ? .yes : .no)
    }

    func put(_ number: Double) {
        if let whole = Int64(exactly: number), whole != 0 || number.sign == .plus { return put(whole) }
        put(.number)
        withUnsafeBytes(of: number.bitPattern.littleEndian) { bytes.append(contentsOf: $0) }
    }

    func put(_ integer: Int64) {
        put(.integer)
        put(UInt64(bitPattern: (integer << 1) ^ (integer >> 63)))
    }

    func put(exactly integer: some BinaryInteger) throws {
        guard let exact = Int64(exactly: integer) else {
            throw EncodingError.invalidValue(integer, .init(codingPath: [], debugDescription: "beyond 64 bits with a sign"))
        }
        put(exact)
    }

    func put(_ text: String) {
        put(.text)
        put(word: text)
    }

    func put(word: String) {
        if let number = Self.numbers[word] ?? spelled[word] {
            put(UInt64(number + CompactForm.known))
        } else {
            put(UInt64(CompactForm.spelledOut))
            spelled[word] = CompactForm.words.count + spelled.count
            var word = word
            word.withUTF8 { text in
                put(UInt64(text.count))
                bytes.append(contentsOf: text)
            }
        }
    }

    private func put(_ number: UInt64) {
        var rest = number
        while rest >= 0x80 {
            bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        bytes.append(UInt8(rest))
    }
}

private struct CompactEncoder: Encoder {
    let writer: CompactWriter
    var codingPath: [any CodingKey] { [] }
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        KeyedEncodingContainer(Members<Key>(writer: writer, depth: writer.begin(.members)))
    }

    func unkeyedContainer() -> any UnkeyedEncodingContainer {
        List(writer: writer, depth: writer.begin(.list))
    }

    func singleValueContainer() -> any SingleValueEncodingContainer {
        Single(writer: writer)
    }
}

private struct Members<Key: CodingKey>: KeyedEncodingContainerProtocol {
    let writer: CompactWriter
    let depth: Int
    var codingPath: [any CodingKey] { [] }

    private func begin(_ key: Key) throws {
        try writer.resume(depth)
        writer.put(word: key.stringValue)
    }

    func encodeNil(forKey key: Key) throws {
        try begin(key)
        writer.put(.null)
    }

    func encode(_ value: Bool, forKey key: Key) throws {
        try begin(key)
        writer.put(value)
    }

    func encode(_ value: String, forKey key: Key) throws {
        try begin(key)
        writer.put(value)
    }

    func encode(_ value: Double, forKey key: Key) throws {
        try begin(key)
        writer.put(value)
    }

    func encode(_ value: Int64, forKey key: Key) throws {
        try begin(key)
        writer.put(value)
    }

    func encode(_ value: some Encodable, forKey key: Key) throws {
        try begin(key)
        try writer.write(value)
    }

    func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type, forKey key: Key) -> KeyedEncodingContainer<Nested> {
        superEncoder(forKey: key).container(keyedBy: type)
    }

    func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
        superEncoder(forKey: key).unkeyedContainer()
    }

    func superEncoder() -> any Encoder {
        try? writer.resume(depth)
        writer.put(word: "super")
        return CompactEncoder(writer: writer)
    }

    func superEncoder(forKey key: Key) -> any Encoder {
        // A container that is closed shows at the next value: whatever was written between cannot be read then.
        try? begin(key)
        return CompactEncoder(writer: writer)
    }
}

private struct List: UnkeyedEncodingContainer {
    let writer: CompactWriter
    let depth: Int
    private(set) var count = 0
    var codingPath: [any CodingKey] { [] }

    init(writer: CompactWriter, depth: Int) {
        (self.writer, self.depth) = (writer, depth)
    }

    private mutating func begin() throws {
        try writer.resume(depth)
        count += 1
    }

    mutating func encodeNil() throws {
        try begin()
        writer.put(.null)
    }

    mutating func encode(_ value: some Encodable) throws {
        try begin()
        try writer.write(value)
    }

    mutating func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type) -> KeyedEncodingContainer<Nested> {
        superEncoder().container(keyedBy: type)
    }

    mutating func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer {
        superEncoder().unkeyedContainer()
    }

    mutating func superEncoder() -> any Encoder {
        try? begin()
        return CompactEncoder(writer: writer)
    }
}

private struct Single: SingleValueEncodingContainer {
    let writer: CompactWriter
    var codingPath: [any CodingKey] { [] }

    func encodeNil() { writer.put(.null) }
    func encode(_ value: Bool) { writer.put(value) }
    func encode(_ value: String) { writer.put(value) }
    func encode(_ value: Double) { writer.put(value) }
    func encode(_ value: Float) { writer.put(Double(value)) }
    func encode(_ value: Int) { writer.put(Int64(value)) }
    func encode(_ value: Int8) { writer.put(Int64(value)) }
    func encode(_ value: Int16) { writer.put(Int64(value)) }
    func encode(_ value: Int32) { writer.put(Int64(value)) }
    func encode(_ value: Int64) { writer.put(value) }
    func encode(_ value: UInt) throws { try writer.put(exactly: value) }
    func encode(_ value: UInt8) { writer.put(Int64(value)) }
    func encode(_ value: UInt16) { writer.put(Int64(value)) }
    func encode(_ value: UInt32) { writer.put(Int64(value)) }
    func encode(_ value: UInt64) throws { try writer.put(exactly: value) }
    func encode(_ value: some Encodable) throws { try writer.write(value) }
}
