// What one person measured in one hour, as far as it is shared, until the hour closes.

import Contracts

struct PersonHour: Hashable, Sendable {
    /// By type and component; types without samples are absent.
    var sums: [GroupDataType: [SampleSum]] = [:]
    /// Sorted, each once.
    var cells: [GridCell] = []

    init() {}

    /// Metrics of no type of group data are left out, and so are squares beyond the Earth.
    init(_ fact: CohortHourSummed) {
        for sum in fact.sums where (1...SumChunk.mostSamples).contains(sum.count) {
            guard let (type, component) = GroupDataType.component(of: sum.metric) else { continue }
            sums[type, default: [SampleSum](repeating: SampleSum(), count: type.components)][component].add(sum: sum.sum, count: sum.count)
        }
        let known = (fact.cells ?? []).filter { GridCell.bounds.contains(Int($0.x)) && GridCell.bounds.contains(Int($0.y)) }
        cells = Array(Set(known).sorted().prefix(CohortHourSummed.mostCells))
    }

    var bytes: [UInt8] {
        var writer = CompactWriter()
        writer.count(sums.count)
        for (type, components) in sums.sorted(by: { $0.key < $1.key }) {
            writer.count(Int(type.rawValue))
            for sum in components {
                writer.count(sum.count)
                writer.signed(sum.sum)
            }
        }
        writer.cells(cells)
        return writer.bytes
    }

    init(bytes: [UInt8]) throws {
        var reader = CompactReader(bytes)
        for _ in 0..<(try reader.count(upTo: GroupDataType.allCases.count)) {
            guard let type = GroupDataType(rawValue: UInt8(try reader.count(upTo: 255))) else { throw CompactReader.Damaged() }
            sums[type] = try (0..<type.components).map { _ in
                let count = try reader.count(upTo: SumChunk.mostSamples)
                return SampleSum.of(try reader.signed(), count: count)
            }
        }
        cells = try reader.cells()
        guard reader.isAtEnd else { throw CompactReader.Damaged() }
    }
}
