// The bytes that are kept: of tables and of filters, read back, and refused where they are not what was written.

import Contracts
import TestKit
import Testing

@testable import Anonymiser

@Suite("Kept bytes of releases")
struct TableCodecTests {
    private static let span = TimeSpan(1_968_000, 1_968_096)

    private static let tables: [StoredTable] = [
        StoredTable(
            type: .heartRate, bucket: span, attributes: [.age, .sex], components: 1, fewest: 10,
            content: .records([
                .init(labels: ["30-34", "female"], values: [61_000, 61_000, 75_000]), .init(labels: ["*", "*"], values: [-3000, 200_000]),
                .init(labels: ["", "é"], values: []),
            ])),
        StoredTable(
            type: .bloodPressure, bucket: span, attributes: [], components: 2, fewest: 10,
            content: .records([.init(labels: [], values: [118_000, 79_000, 121_000, 70_000])])),
        StoredTable(
            type: .bodyTemperature, bucket: span, attributes: [.residence], components: 1, fewest: 10,
            content: .statistics([.init(labels: ["R00"], count: 1103, countError: 5, means: [36_712], meanErrors: [18])])),
        StoredTable(
            type: .position, bucket: span, attributes: [], components: 0, fewest: 10,
            content: .positions([
                .init(cell: .kilometre(GridCell(x: -40_100, y: 7)), isRest: false, people: 60),
                .init(cell: .fiveKilometres(GridCell(x: 1, y: -2)), isRest: true, people: 0),
                .init(cell: .municipality("F205"), isRest: true, people: 1_000_000),
                .init(cell: .province("MI"), isRest: false, people: 50),
            ])),
        StoredTable(type: .glucose, bucket: span, attributes: [], components: 1, fewest: 10, content: .records([])),
    ]

    @Test("every kind of table is read as it was written", arguments: tables)
    func roundTrip(table: StoredTable) throws {
        #expect(try TableCodec.table(TableCodec.bytes(table)) == table)
    }

    @Test("a table that was cut short or has something behind its end is refused", arguments: tables)
    func length(table: StoredTable) {
        let bytes = TableCodec.bytes(table)
        for count in 0..<bytes.count {
            #expect(throws: ByteFieldReader.Fault.self, "\(count) of \(bytes.count)") { try TableCodec.table(Array(bytes[..<count])) }
        }
        #expect(throws: ByteFieldReader.Fault.unread) { try TableCodec.table(bytes + [0]) }
    }

    @Test("rubbish is read as a table or refused by name, and stops nothing")
    func rubbish() {
        var random = SeededGenerator(seed: 0x7AB1E)
        var refused: Set<ByteFieldReader.Fault> = []
        for round in 0..<20_000 {
            var bytes = TableCodec.bytes(Self.tables[round % Self.tables.count])
            for _ in 0..<Int.random(in: 1...3, using: &random) {
                bytes[Int.random(in: 0..<bytes.count, using: &random)] = UInt8.random(in: .min ... .max, using: &random)
            }
            do {
                _ = try TableCodec.table(bytes)
            } catch {
                refused.insert(error)
            }
        }
        #expect(refused.contains(.unknown) && refused.contains(.outside))
    }

    @Test("filters come back from their canonical bytes, and nothing else does")
    func filters() throws {
        let changes: [@Sendable (inout TypedGroupRequest) -> Void] = [
            { $0.age = TypedInterval(from: 0, to: 17) }, { $0.weight = TypedInterval(from: 50, to: nil) },
            { $0.height = TypedInterval(from: nil, to: 180) }, { $0.sex = ["other", "female"] }, { $0.occupation = ["student"] },
            { $0.residence = ["C0001", "A1", "FR"] }, { $0.birth = ["JP", "R01"] }, { $0.area = .cell(GridCell(x: -5, y: 40_000)) },
            { $0.area = .area("parco-sempione") },
        ]
        for mask in 0..<1 << changes.count {
            let filters = try Samples.filters { typed in
                for (place, change) in changes.enumerated() where mask >> place & 1 == 1 { change(&typed) }
            }
            let bytes = filters.canonicalBytes
            #expect(try GroupFilters(canonicalBytes: bytes, Samples.places) == filters)
            guard mask % 37 == 0 else { continue }
            #expect(throws: CanonicalReader.Fault.self) { try GroupFilters(canonicalBytes: Array(bytes.dropLast()), Samples.places) }
            #expect(throws: CanonicalReader.Fault.self) { try GroupFilters(canonicalBytes: [1] + bytes, Samples.places) }
        }
    }

    @Test("a set of people keeps its members in a smaller and in a larger population")
    func resized() {
        let people = Bitmap(size: 130, members: [0, 63, 64, 129])
        #expect(people.resized(to: 1000).members == [0, 63, 64, 129] && people.resized(to: 1000).size == 1000)
        #expect(people.resized(to: 65).members == [0, 63, 64] && people.resized(to: 65).words.count == 2)
        #expect(people.resized(to: 0).isEmpty)
    }

    @Test("a chunk without a row is written in the form of what is left")
    func withoutRow() {
        let chunk = Bitmap(size: 70_000, members: 65_536..<65_536 + 4097).chunks[1]
        #expect(chunk.contains(row: 65_540) && !chunk.without(row: 65_540).contains(row: 65_540))
        guard case .list(let list) = chunk.without(row: 65_540) else {
            Issue.record("4096 members are a list")
            return
        }
        #expect(list.count == 4096)
    }
}
