// Who was made up, written down for tests that score attacks: one line of JSON a person, after a line about all of them.

import Contracts
import Foundation

struct SyntheticShadow {
    private let plan: SyntheticPlan
    private let country: SyntheticCountry
    private let encoder = JSONEncoder()

    init(_ plan: SyntheticPlan, _ country: SyntheticCountry) {
        (self.plan, self.country) = (plan, country)
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    }

    private struct Head: Encodable {
        let version = 1
        let seed: UInt64
        let people: Int
        /// Hours since 1970.
        let firstHour: Int
        let hours: Int
        /// By metric, the samples behind each mean.
        let counts: [String: Int]
    }

    private struct Line: Encodable {
        let person: PersonID
        let birthDate: String
        let sex: String?
        let birth: [String]
        let residence: [String]
        let isLarge: Bool
        let occupation: String
        let weight: Int
        let height: Int
        let shares: [String]
        let isOutlier: Bool
        /// By metric, by hour, in thousandths; 0 where there is none.
        let means: [String: [Int]]
        /// Nil where positions are not told.
        let cells: [[Int32]]?
        /// By hour, the number of the cell, from 1; 0 for none.
        let presence: [Int]?
    }

    /// Appears whole: a reader who sees the file sees all of it.
    func write(to file: URL) throws {
        let draft = file.appendingPathExtension("draft")
        guard FileManager.default.createFile(atPath: draft.path, contents: nil, attributes: [.posixPermissions: 0o600]) else {
            throw CocoaError(.fileWriteUnknown)
        }
        let handle = try FileHandle(forWritingTo: draft)
        defer { try? handle.close() }
        let metrics = SyntheticPerson.types.flatMap { $0.type.metrics }.filter { $0 != .position }
        let head = Head(
            seed: plan.seed, people: plan.people, firstHour: plan.hours.lowerBound, hours: plan.hours.count,
            counts: Dictionary(uniqueKeysWithValues: metrics.map { ($0.code, SyntheticPerson.count($0)) }))
        try handle.write(contentsOf: line(head))
        for index in 0..<plan.people {
            try handle.write(contentsOf: line(described(plan.person(index, country.towns))))
        }
        try? FileManager.default.removeItem(at: file)
        try FileManager.default.moveItem(at: draft, to: file)
    }

    private func line(_ value: some Encodable) throws -> Data {
        try encoder.encode(value) + Data("\n".utf8)
    }

    private func described(_ one: SyntheticPerson) -> Line {
        var means: [String: [Int]] = [:]
        for type in one.shares where one.measures.contains(type) && type != .position {
            for metric in type.metrics { means[metric.code] = [Int](repeating: 0, count: plan.hours.count) }
        }
        var cells: [GridCell] = []
        var presence: [Int] = []
        for (place, hour) in plan.hours.enumerated() {
            for mean in one.means(of: hour) { means[mean.metric.code]?[place] = mean.value }
            guard let cell = one.cell(of: hour) else {
                presence.append(0)
                continue
            }
            if !cells.contains(cell) { cells.append(cell) }
            presence.append((cells.firstIndex(of: cell) ?? 0) + 1)
        }
        let (birth, home) = (country.around(one.birthPlace), country.around(one.town.code))
        return Line(
            person: one.person, birthDate: one.birthDate, sex: one.sex?.code, birth: birth.codes, residence: home.codes,
            isLarge: home.isLarge, occupation: one.occupation.code, weight: one.weight, height: one.height, shares: one.shares.map(\.code),
            isOutlier: one.body.isOutlier, means: means, cells: cells.isEmpty ? nil : cells.map { [$0.x, $0.y] },
            presence: cells.isEmpty ? nil : presence)
    }
}
