// The compact bytes of a released table, to be sealed and kept.

import Contracts

/// Values of a class are ascending, so that a byte is enough for most.
enum TableCodec {
    private static let version: UInt8 = 1
    private static let mostComponents = 2
    /// Quarter hours since 1970 to 2200 and beyond.
    private static let quarters = 0...16_000_000
    /// People whom an entry can speak of.
    private static let people = 0...1_000_000_000
    private static let unitBounds = 1...1_000_000

    private enum Kind: UInt8 {
        case records = 1
        case statistics, positions
    }

    static func bytes(_ table: StoredTable) -> [UInt8] {
        var writer = ByteFieldWriter()
        writer.byte(version)
        writer.byte(kind(table.content).rawValue)
        writer.byte(table.type.rawValue)
        writer.number(table.bucket.start)
        writer.number(table.bucket.length)
        writer.number(table.attributes.count)
        for attribute in table.attributes { writer.byte(attribute.rawValue) }
        writer.number(table.components)
        writer.number(table.fewest)
        switch table.content {
        case .records(let classes): write(classes, components: table.components, &writer)
        case .statistics(let cells): write(cells, &writer)
        case .positions(let places): write(places, &writer)
        }
        return writer.bytes
    }

    private static func kind(_ content: StoredTable.Content) -> Kind {
        switch content {
        case .records: .records
        case .statistics: .statistics
        case .positions: .positions
        }
    }

    /// - Throws: for what `bytes` did not write.
    static func table(_ bytes: [UInt8]) throws(ByteFieldReader.Fault) -> StoredTable {
        var reader = ByteFieldReader(bytes)
        guard try reader.byte() == version, let kind = Kind(rawValue: try reader.byte()),
            let type = GroupDataType(rawValue: try reader.byte())
        else { throw .unknown }
        let start = try reader.number(in: quarters)
        let length = try reader.number(in: 1...quarters.upperBound)
        let attributeCount = try reader.number(in: 0...PersonAttribute.allCases.count)
        var attributes: [PersonAttribute] = []
        for _ in 0..<attributeCount {
            guard let attribute = PersonAttribute(rawValue: try reader.byte()) else { throw .unknown }
            attributes.append(attribute)
        }
        let components = try reader.number(in: 0...mostComponents)
        let fewest = try reader.number(in: people)
        let content: StoredTable.Content
        switch kind {
        case .records: content = .records(try classes(&reader, labels: attributes.count, components))
        case .statistics: content = .statistics(try cells(&reader, labels: attributes.count, components))
        case .positions: content = .positions(try places(&reader))
        }
        try reader.end()
        return StoredTable(
            type: type, bucket: TimeSpan(start, start + length), attributes: attributes, components: components, fewest: fewest,
            content: content)
    }

    private static func labels(_ reader: inout ByteFieldReader, _ count: Int) throws(ByteFieldReader.Fault) -> [String] {
        var labels: [String] = []
        for _ in 0..<count { labels.append(try reader.text()) }
        return labels
    }

    private static func numbers(_ reader: inout ByteFieldReader, _ count: Int) throws(ByteFieldReader.Fault) -> [Int] {
        var numbers: [Int] = []
        for _ in 0..<count { numbers.append(try reader.signed()) }
        return numbers
    }
}

// MARK: Records

extension TableCodec {
    /// Of each component the largest number of which all its values are multiples, then by class the differences of its entries in it.
    private static func write(_ classes: [StoredTable.Class], components: Int, _ writer: inout ByteFieldWriter) {
        let common = (0..<components).map { component in
            var unit = 0
            for one in classes {
                // Most are as the one before.
                var last: Int?
                for place in stride(from: component, to: one.values.count, by: components) where one.values[place] != last {
                    unit = commonDivisor(unit, one.values[place])
                    last = one.values[place]
                }
            }
            return unit
        }
        let units = common.map { min(max($0, unitBounds.lowerBound), unitBounds.upperBound) }
        // Where it was larger than can be written, nothing but 1 need divide all.
        let isWhole = zip(common, units).allSatisfy { $0 % $1 == 0 }
        let written = isWhole ? units : units.map { _ in 1 }
        for unit in written { writer.number(unit) }
        writer.number(classes.count)
        for one in classes {
            for label in one.labels { writer.text(label) }
            writer.number(one.values.count / max(1, components))
            var last = [Int](repeating: 0, count: components)
            var component = 0
            for value in one.values {
                // All are multiples of the unit, so that their differences are.
                writer.signed(value == last[component] ? 0 : (value - last[component]) / written[component])
                last[component] = value
                component = component + 1 == components ? 0 : component + 1
            }
        }
    }

    private static func commonDivisor(_ one: Int, _ other: Int) -> Int {
        var (larger, smaller) = (abs(one), abs(other))
        while smaller != 0 { (larger, smaller) = (smaller, larger % smaller) }
        return larger
    }

    private static func classes(
        _ reader: inout ByteFieldReader, labels count: Int, _ components: Int
    ) throws(ByteFieldReader.Fault) -> [StoredTable.Class] {
        var units: [Int] = []
        for _ in 0..<components { units.append(try reader.number(in: unitBounds)) }
        var classes: [StoredTable.Class] = []
        let classCount = try reader.count()
        for _ in 0..<classCount {
            let labels = try labels(&reader, count)
            let entries = try reader.count()
            var last = [Int](repeating: 0, count: components)
            var values: [Int] = []
            values.reserveCapacity(entries * components)
            for _ in 0..<entries {
                for component in 0..<components {
                    let (sum, isTooLarge) = last[component].addingReportingOverflow(try reader.signed())
                    let (value, isTooLargeInUnits) = sum.multipliedReportingOverflow(by: units[component])
                    guard !isTooLarge, !isTooLargeInUnits else { throw .outside }
                    last[component] = sum
                    values.append(value)
                }
            }
            classes.append(StoredTable.Class(labels: labels, values: values))
        }
        return classes
    }
}

// MARK: Statistics

extension TableCodec {
    private static func write(_ cells: [StoredTable.Cell], _ writer: inout ByteFieldWriter) {
        writer.number(cells.count)
        for cell in cells {
            for label in cell.labels { writer.text(label) }
            for number in [cell.count, cell.countError] + cell.means + cell.meanErrors { writer.signed(number) }
        }
    }

    private static func cells(
        _ reader: inout ByteFieldReader, labels count: Int, _ components: Int
    ) throws(ByteFieldReader.Fault) -> [StoredTable.Cell] {
        var cells: [StoredTable.Cell] = []
        let cellCount = try reader.count()
        for _ in 0..<cellCount {
            let labels = try labels(&reader, count)
            let numbers = try numbers(&reader, 2 + 2 * components)
            cells.append(
                StoredTable.Cell(
                    labels: labels, count: numbers[0], countError: numbers[1], means: Array(numbers[2..<2 + components]),
                    meanErrors: Array(numbers[(2 + components)...])))
        }
        return cells
    }
}

// MARK: Positions

extension TableCodec {
    private static func write(_ places: [StoredTable.Place], _ writer: inout ByteFieldWriter) {
        writer.number(places.count)
        for place in places {
            writer.byte(place.cell.level.rawValue)
            switch place.cell {
            case .kilometre(let cell), .fiveKilometres(let cell):
                writer.signed(Int(cell.x))
                writer.signed(Int(cell.y))
            case .municipality(let code), .province(let code): writer.text(code)
            }
            writer.byte(place.isRest ? 1 : 0)
            writer.number(place.people)
        }
    }

    private static func places(_ reader: inout ByteFieldReader) throws(ByteFieldReader.Fault) -> [StoredTable.Place] {
        var places: [StoredTable.Place] = []
        let placeCount = try reader.count()
        for _ in 0..<placeCount {
            let cell = try cell(&reader)
            let rest = try reader.byte()
            guard rest <= 1 else { throw .outside }
            places.append(StoredTable.Place(cell: cell, isRest: rest == 1, people: try reader.number(in: people)))
        }
        return places
    }

    private static func cell(_ reader: inout ByteFieldReader) throws(ByteFieldReader.Fault) -> LocationCell {
        guard let level = CellLevel(rawValue: try reader.byte()) else { throw .unknown }
        switch level {
        case .municipality: return .municipality(try reader.text())
        case .province: return .province(try reader.text())
        case .kilometre, .fiveKilometres:
            guard let x = Int32(exactly: try reader.signed()), let y = Int32(exactly: try reader.signed()) else { throw .outside }
            let cell = GridCell(x: x, y: y)
            return level == .kilometre ? .kilometre(cell) : .fiveKilometres(cell)
        }
    }
}
