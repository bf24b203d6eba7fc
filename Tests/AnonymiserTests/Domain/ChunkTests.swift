// How chunks are written, and that rubbish is told.

import Contracts
import TestKit
import Testing

@testable import Anonymiser

@Suite("Chunks of closed hours")
struct ChunkTests {
    @Test("values are read as they were written, as a column and as a list", arguments: [1, 50, 2000, 65_536])
    func codes(people: Int) throws {
        var generator = SeededGenerator(seed: UInt64(people))
        for type in GroupDataType.measuredScalars {
            let scales = type.scales(.hour)
            var columns = scales.map { _ in [UInt16](repeating: 0, count: BitmapChunk.rows) }
            for row in 0..<people {
                let row = people == BitmapChunk.rows ? row : Int.random(in: 0..<BitmapChunk.rows, using: &generator)
                for (component, scale) in scales.enumerated() {
                    columns[component][row] = UInt16(Int.random(in: 1...scale.codes, using: &generator))
                }
            }
            let bytes = try #require(CodeChunk.bytes(columns, scales))
            #expect(bytes.count <= 1 + BitmapChunk.rows * scales.count)
            let read = try CodeChunk.read(bytes, scales)
            for component in scales.indices {
                #expect(read[component] + [UInt16](repeating: 0, count: BitmapChunk.rows - read[component].count) == columns[component])
            }
            let row = try #require(columns[0].firstIndex { $0 > 0 })
            guard case .removed(let left) = try CodeChunk.removing(row, from: bytes, scales) else { throw CodeChunk.Fault.wrongLength }
            for component in columns.indices { columns[component][row] = 0 }
            #expect(left == CodeChunk.bytes(columns, scales))
        }
    }

    @Test("sums, squares, hours and rows are read as they were written, and nothing else is read")
    func others() throws {
        let sums = [
            SumChunk.Entry(row: 0, sums: [.of(72_000_000, count: 1000), SampleSum()]),
            SumChunk.Entry(row: 65_535, sums: [.of(-5, count: 1), .of(1 << 59, count: 1 << 30)]),
        ]
        let written = try #require(SumChunk.bytes(sums))
        #expect(try SumChunk.read(written, components: 2) == sums)
        #expect(throws: (any Error).self) { try SumChunk.read(Array(written.dropLast()), components: 2) }
        #expect(try SumChunk.removing(0, from: written, components: 2) == .removed(SumChunk.bytes([sums[1]])))
        #expect(try SumChunk.removing(7, from: written, components: 2) == .absent)

        let cells = [CellChunk.Entry(row: 3, cells: [GridCell(x: -40_100, y: 7), GridCell(x: 0, y: 0)])]
        let kept = try #require(CellChunk.bytes(cells))
        #expect(try CellChunk.read(kept) == cells)
        #expect(throws: (any Error).self) { try CellChunk.read(kept + [0]) }
        #expect(try CellChunk.removing(3, from: kept) == .removed(nil))

        let squares = [
            SquareChunk.Entry(cell: GridCell(x: -1, y: 40_100), rows: [0, 65_535]),
            SquareChunk.Entry(cell: GridCell(x: 2, y: 0), rows: [7]),
        ]
        let ofDay = try #require(SquareChunk.bytes(squares))
        #expect(try SquareChunk.read(ofDay) == squares)
        #expect(try SquareChunk.rows(in: squares[1].cell, ofDay) == [7])
        #expect(try SquareChunk.rows(in: GridCell(x: 1, y: 0), ofDay) == [])
        #expect(throws: (any Error).self) { try SquareChunk.read(Array(ofDay.dropLast())) }
        #expect(throws: (any Error).self) { try SquareChunk.read(ofDay + ofDay) }
        #expect(try SquareChunk.removing(7, from: ofDay) == .removed(SquareChunk.bytes([squares[0]])))
        #expect(try SquareChunk.removing(8, from: ofDay) == .absent)

        let fact = CohortHourSummed(
            person: .random(), hour: Timestamp(milliseconds: 0), sums: [.init(metric: .bloodPressureMin, count: 2, sum: 160_000)],
            cells: [GridCell(x: 1, y: 2)])
        #expect(try PersonHour(bytes: PersonHour(fact).bytes) == PersonHour(fact))

        let profile = try #require(
            SharedProfile(CohortStage.profile(since: 5, [.heartRate, .bloodPressureMax], birthDate: "1904-02-29")))
        let record = CohortRecord(profile: profile, formerly: [.glucose])
        #expect(try CohortRecord(bytes: record.bytes) == record)
        #expect(profile.since.keys.map(\.self) == [.heartRate], "half a blood pressure is none")
        #expect(profile.weight == 70)
    }

    @Test("an age is that of the last birthday")
    func ages() throws {
        let born = try #require(SharedProfile(CohortStage.profile(since: 0, birthDate: "2008-02-29")))
        func age(_ year: Int64, _ month: Int64, _ day: Int64) throws -> Int {
            born.age(on: try #require(CivilDate(year: year, month: month, day: day)))
        }
        #expect(try age(2026, 2, 28) == 17)
        #expect(try age(2026, 3, 1) == 18)
        #expect(try age(2028, 2, 29) == 20)
    }
}
