// From the canonical bytes of filters back to the filters: how earlier cohorts are kept.

import Contracts

/// Reads what `CanonicalBytes` writes, and refuses everything else.
struct CanonicalReader {
    enum Fault: Error, Hashable, Sendable {
        case cutShort
        /// Another kind, or a field that it does not have.
        case unknown
        case outside
    }

    private var rest: ArraySlice<UInt8>

    /// - Throws: unless the first field names the kind.
    init(_ bytes: ArraySlice<UInt8>, _ kind: String) throws(Fault) {
        rest = bytes
        guard let first = try field(), first.tag == 0, first.content.elementsEqual(kind.utf8) else { throw .unknown }
    }

    /// Nil at the end.
    mutating func field() throws(Fault) -> (tag: UInt8, content: ArraySlice<UInt8>)? {
        guard let tag = rest.popFirst() else { return nil }
        guard rest.count >= 4 else { throw .cutShort }
        let length = rest.prefix(4).reversed().reduce(0) { $0 << 8 | Int($1) }
        rest = rest.dropFirst(4)
        guard length <= rest.count else { throw .cutShort }
        defer { rest = rest.dropFirst(length) }
        return (tag, rest.prefix(length))
    }

    static func numbers(_ content: ArraySlice<UInt8>) throws(Fault) -> [Int] {
        guard content.count % 8 == 0 else { throw .cutShort }
        return stride(from: content.startIndex, to: content.endIndex, by: 8).map { start in
            let bits = content[start..<start + 8].reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
            return Int(Int64(bitPattern: bits))
        }
    }

    static func range(_ content: ArraySlice<UInt8>) throws(Fault) -> ClosedRange<Int> {
        let ends = try numbers(content)
        guard ends.count == 2, ends[0] <= ends[1] else { throw .outside }
        return ends[0]...ends[1]
    }
}

extension GroupFilters {
    /// - Parameter places: today's; a code that it no longer has holds nobody.
    init(canonicalBytes: [UInt8], _ places: PlaceCatalogue) throws(CanonicalReader.Fault) {
        self.init()
        var reader = try CanonicalReader(canonicalBytes[...], "trackme.group-filters.1")
        while let (tag, content) = try reader.field() {
            switch tag {
            case 1: age = try CanonicalReader.range(content)
            case 2: weight = try CanonicalReader.range(content)
            case 3: height = try CanonicalReader.range(content)
            case 4: sexes = try Self.choices(content)
            case 5: occupations = try Self.choices(content)
            case 6: residence = try Self.places(content, places)
            case 7: birth = try Self.places(content, places)
            case 8: area = .area(String(decoding: content, as: UTF8.self))
            case 9: area = .cell(try Self.cell(content))
            default: throw .unknown
            }
        }
    }

    private static func choices<Option: RawRepresentable<UInt8>>(
        _ content: ArraySlice<UInt8>
    ) throws(CanonicalReader.Fault) -> [Option] {
        var options: [Option] = []
        for number in try CanonicalReader.numbers(content) {
            guard let raw = UInt8(exactly: number), let option = Option(rawValue: raw) else { throw .outside }
            options.append(option)
        }
        return options
    }

    private static func cell(_ content: ArraySlice<UInt8>) throws(CanonicalReader.Fault) -> GridCell {
        let numbers = try CanonicalReader.numbers(content)
        guard numbers.count == 2, let x = Int32(exactly: numbers[0]), let y = Int32(exactly: numbers[1]) else { throw .outside }
        return GridCell(x: x, y: y)
    }

    /// In the order of the tree, as requests have them.
    private static func places(
        _ content: ArraySlice<UInt8>, _ catalogue: PlaceCatalogue
    ) throws(CanonicalReader.Fault) -> [PlaceChoice] {
        var reader = try CanonicalReader(content, "places")
        var found: [(index: Int, choice: PlaceChoice)] = []
        while let (tag, code) = try reader.field() {
            guard tag == 1 else { throw .unknown }
            let text = String(decoding: code, as: UTF8.self)
            let index = catalogue.index(text)
            let leaves = index.map { catalogue.places[$0].leaves } ?? 0..<0
            found.append((index ?? .max, PlaceChoice(code: text, leaves: leaves)))
        }
        return found.sorted { ($0.index, $0.choice.code) < ($1.index, $1.choice.code) }.map(\.choice)
    }
}
