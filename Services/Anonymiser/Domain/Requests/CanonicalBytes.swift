// The bytes from which keys of requests, cohorts and tables are hashed. Equal meaning gives equal bytes, and only that.

import Contracts

/// Writes tagged, length-prefixed fields, little-endian; no field can be read as part of another.
struct CanonicalBytes: Hashable, Sendable {
    private(set) var bytes: [UInt8] = []

    /// - Parameter kind: what the whole is, so that keys of different things never meet; it names the version of the form, too.
    init(_ kind: String) {
        text(0, kind)
    }

    mutating func field(_ tag: UInt8, _ content: some Collection<UInt8>) {
        bytes.append(tag)
        withUnsafeBytes(of: UInt32(content.count).littleEndian) { bytes.append(contentsOf: $0) }
        bytes.append(contentsOf: content)
    }

    mutating func text(_ tag: UInt8, _ content: String) {
        field(tag, Array(content.utf8))
    }

    mutating func numbers(_ tag: UInt8, _ numbers: [Int]) {
        var content: [UInt8] = []
        content.reserveCapacity(8 * numbers.count)
        for number in numbers { withUnsafeBytes(of: Int64(number).littleEndian) { content.append(contentsOf: $0) } }
        field(tag, content)
    }
}

extension GroupFilters {
    /// What names a cohort in the guard. Absent predicates leave no trace.
    var canonicalBytes: [UInt8] {
        var writer = CanonicalBytes("trackme.group-filters.1")
        for (tag, range) in [(UInt8(1), age), (2, weight), (3, height)] {
            if let range { writer.numbers(tag, [range.lowerBound, range.upperBound]) }
        }
        if !sexes.isEmpty { writer.numbers(4, sexes.map { Int($0.rawValue) }) }
        if !occupations.isEmpty { writer.numbers(5, occupations.map { Int($0.rawValue) }) }
        // Codes, not numbers of leaves: those are another catalogue's tomorrow.
        for (tag, places) in [(UInt8(6), residence), (7, birth)] where !places.isEmpty {
            var list = CanonicalBytes("places")
            for code in places.map(\.code).sorted() { list.text(1, code) }
            writer.field(tag, list.bytes)
        }
        switch area {
        case .area(let code): writer.text(8, code)
        case .cell(let cell): writer.numbers(9, [Int(cell.x), Int(cell.y)])
        case nil: break
        }
        return writer.bytes
    }
}

/// What one memoised table is known by: nothing of who asked, of other types, or of where the request begins.
struct TableKey: Hashable, Sendable {
    let filters: GroupFilters
    let type: GroupDataType
    let bucket: TimeSpan
    let granularity: Granularity
    let attributes: [PersonAttribute]
    let product: ReleaseProduct

    /// To be hashed with SHA-256.
    var canonicalBytes: [UInt8] {
        var writer = CanonicalBytes("trackme.group-table.1")
        writer.field(1, filters.canonicalBytes)
        writer.numbers(2, [Int(type.rawValue), bucket.start, bucket.end, Int(granularity.rawValue), Int(product.rawValue)])
        writer.numbers(3, attributes.map { Int($0.rawValue) })
        return writer.bytes
    }
}

extension GroupRequest {
    /// What one organisation's repeated request is known by.
    var canonicalBytes: [UInt8] {
        var writer = CanonicalBytes("trackme.group-request.1")
        writer.field(1, filters.canonicalBytes)
        writer.numbers(2, types.map { Int($0.rawValue) })
        writer.numbers(
            3, [window.days.lowerBound, window.days.upperBound, Int(granularity.rawValue), Int(product.rawValue), isSubscription ? 1 : 0])
        writer.numbers(4, attributes.map { Int($0.rawValue) })
        if let minIndividuals { writer.numbers(5, [minIndividuals]) }
        return writer.bytes
    }

    /// The keys of its tables at a granularity that may be coarser than the wanted one.
    func tableKeys(_ granularity: Granularity) -> [TableKey] {
        granularity.buckets(in: window).flatMap { bucket in
            types.map {
                TableKey(
                    filters: filters, type: $0, bucket: bucket, granularity: granularity,
                    attributes: $0 == .position ? [] : attributes, product: product)
            }
        }
    }
}
