// The columns and the questions, written down for references.

import Contracts
import Foundation

/// `people.csv`, a line a person in the order of reference/columns.py, and `filters.json`.
struct CohortExport {
    private static let buffer = 1 << 20

    let counts: CohortCounts

    init(_ counts: CohortCounts) {
        self.counts = counts
    }

    private struct Filters: Encodable {
        var age: [Int]?
        var weight: [Int]?
        var height: [Int]?
        var sex: [Int]
        var occupation: [Int]
        /// Of leaves, the last of each not included.
        var residence: [[Int]]
        var birth: [[Int]]
        /// A bit for each day.
        var days: UInt32

        init(_ question: MadeUpQuestion) {
            let filters = question.filters
            func ends(_ range: ClosedRange<Int>?) -> [Int]? { range.map { [$0.lowerBound, $0.upperBound] } }
            func ends(_ places: [PlaceChoice]) -> [[Int]] { places.map { [$0.leaves.lowerBound, $0.leaves.upperBound] } }
            (age, weight, height) = (ends(filters.age), ends(filters.weight), ends(filters.height))
            (sex, occupation) = (filters.sexes.map { Int($0.rawValue) }, filters.occupations.map { Int($0.rawValue) })
            (residence, birth) = (ends(filters.residence), ends(filters.birth))
            days = ((1 << UInt32(question.days)) - 1) << UInt32(MadeUpPeople.days - question.days)
        }
    }

    func write(to folder: URL) throws {
        try JSONEncoder().encode(counts.questions.map { Filters($0) }).write(to: folder.appendingPathComponent("filters.json"))
        let file = folder.appendingPathComponent("people.csv")
        guard FileManager.default.createFile(atPath: file.path, contents: nil) else { throw CocoaError(.fileWriteUnknown) }
        let handle = try FileHandle(forWritingTo: file)
        defer { try? handle.close() }
        let (columns, sharing) = (counts.columns, counts.columns.eligible(for: .heartRate))
        var lines: [UInt8] = []
        for row in 0..<counts.people.count {
            let numbers = [
                Int(columns.ages[row]), Int(columns.weights[row]), Int(columns.heights[row]), Int(columns.sexes[row]),
                Int(columns.occupations[row]), Int(columns.residences[row]), Int(columns.birthPlaces[row]), sharing[row] ? 1 : 0,
                Int(counts.people.daysWithData(row)), Int(counts.values[row]),
            ]
            for (place, number) in numbers.enumerated() {
                if place > 0 { lines.append(UInt8(ascii: ",")) }
                lines.append(contentsOf: String(number).utf8)
            }
            lines.append(UInt8(ascii: "\n"))
            if lines.count > Self.buffer {
                try handle.write(contentsOf: Data(lines))
                lines.removeAll(keepingCapacity: true)
            }
        }
        try handle.write(contentsOf: Data(lines))
    }
}
