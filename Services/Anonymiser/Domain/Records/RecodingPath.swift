// The one public order in which classes are made coarser: never by what data would like best, since that leaks.

/// Level vectors from the finest to `*`, for a list of attributes.
struct RecodingPath: Hashable, Sendable {
    /// One level each, round robin.
    private static let order: [PersonAttribute] = [.birthPlace, .occupation, .residence, .height, .weight, .age, .sex]

    /// Sorted.
    let hierarchies: [Hierarchy]
    /// By step, by hierarchy. The first is all zeros, the last all tops.
    let vectors: [[Int]]

    init(_ hierarchies: [Hierarchy]) {
        let sorted = hierarchies.sorted { $0.attribute < $1.attribute }
        var vectors = [sorted.map { _ in 0 }]
        var current = vectors[0]
        let positions = Self.order.compactMap { attribute in sorted.firstIndex { $0.attribute == attribute } }
        while current != sorted.map(\.top) {
            for position in positions where current[position] < sorted[position].top {
                current[position] += 1
                vectors.append(current)
            }
        }
        (self.hierarchies, self.vectors) = (sorted, vectors)
    }

    var last: Int { vectors.count - 1 }
}

/// Who is in which finest class, for the attributes of one release.
struct ClassColumn: Sendable {
    let path: RecodingPath
    /// By row; meaningful for members of the cohort alone.
    let ids: [UInt32]
    /// By id, by hierarchy: the code at level 0's column.
    let codes: [[UInt16]]

    /// - Parameters:
    ///   - cohort: who is numbered.
    ///   - columns: by hierarchy of the path, by row: the column's code.
    init(_ path: RecodingPath, cohort: Bitmap, columns: [[UInt16]]) {
        self.path = path
        var ids = [UInt32](repeating: 0, count: cohort.size)
        var found: [[UInt16]] = []
        let radices = path.hierarchies.map { $0.classCount(0) }
        let product = radices.reduce(1) { $0.multipliedReportingOverflow(by: $1).overflow ? .max : $0 * $1 }
        func codes(_ row: Int) -> [UInt16] { columns.map { $0[row] } }
        if columns.isEmpty {
            found = [[]]
        } else if product <= 1 << 20 {
            // Small enough for a table in the stead of hashing.
            var numbers = [UInt32](repeating: .max, count: product)
            let levels = path.hierarchies.map { $0.levels[0] }
            cohort.forEach { row in
                var key = 0
                for index in 0..<columns.count { key = key * radices[index] + Int(levels[index][Int(columns[index][row])]) }
                if numbers[key] == .max {
                    numbers[key] = UInt32(found.count)
                    found.append(codes(row))
                }
                ids[row] = numbers[key]
            }
        } else {
            var numbers: [[UInt16]: UInt32] = [:]
            cohort.forEach { row in
                let own = codes(row)
                let key = zip(own, path.hierarchies).map { $1.levels[0][Int($0)] }
                let number = numbers[key, default: UInt32(found.count)]
                if Int(number) == found.count {
                    numbers[key] = number
                    found.append(own)
                }
                ids[row] = number
            }
        }
        (self.ids, self.codes) = (ids, found)
    }

    /// People of each finest class.
    func counts(_ members: Bitmap) -> [Int] {
        var counts = [Int](repeating: 0, count: codes.count)
        counts.withUnsafeMutableBufferPointer { counts in
            ids.withUnsafeBufferPointer { ids in
                members.forEach { counts[Int(ids[$0])] &+= 1 }
            }
        }
        return counts
    }

    /// The classes at a step of the path.
    func classes(at step: Int) -> RecodedClasses {
        let vector = path.vectors[step]
        var numbers: [[UInt16]: Int] = [:]
        var keys: [[UInt16]] = []
        let ofID = codes.map { codes -> Int in
            let key = codes.indices.map { index in
                let hierarchy = path.hierarchies[index]
                return vector[index] == hierarchy.top ? 0 : hierarchy.levels[vector[index]][Int(codes[index])]
            }
            if let number = numbers[key] { return number }
            numbers[key] = keys.count
            keys.append(key)
            return keys.count - 1
        }
        let labels = keys.map { key in
            key.indices.map { path.hierarchies[$0].label(vector[$0], Int(key[$0])) }
        }
        return RecodedClasses(step: step, ofID: ofID, labels: labels)
    }
}

/// Finest classes joined to coarser ones.
struct RecodedClasses: Hashable, Sendable {
    /// Of the path.
    let step: Int
    /// By finest class, the joined one.
    let ofID: [Int]
    /// By class, by hierarchy.
    let labels: [[String]]

    /// People of each class.
    func joined(_ counts: [Int]) -> [Int] {
        var joined = [Int](repeating: 0, count: labels.count)
        for (id, count) in counts.enumerated() { joined[ofID[id]] += count }
        return joined
    }
}

// MARK: Choosing

extension ClassColumn {
    /// People in classes that are large enough.
    func represented(_ counts: [Int], _ classes: RecodedClasses, _ policy: AnonymityPolicy) -> Int {
        // At the end of the path there is one class, and nothing is dropped.
        if classes.step == path.last { return counts.reduce(0, +) }
        return classes.joined(counts).reduce(0) { $0 + ($1 >= policy.fewestPerClass ? $1 : 0) }
    }

    /// One vector for a whole release: the first along the path at which few enough people of the smallest table are in classes that are
    /// too small, and every table that can have enough people represented has them.
    /// - Parameters:
    ///   - sizes: by table, how many people are in it.
    ///   - counts: of a table, how many of each finest class.
    func step(sizes: [Int], _ policy: AnonymityPolicy, counts: (Int) -> [Int]) -> Int {
        let possible = sizes.indices.filter { sizes[$0] >= policy.fewestIndividuals }
        guard let smallest = possible.min(by: { (sizes[$0], $0) < (sizes[$1], $1) }) else { return path.last }
        // Most tables are so large that nobody has to be counted.
        var counted: [Int: [Int]] = [smallest: counts(smallest)]
        for step in 0..<path.last {
            let classes = classes(at: step)
            let dropped = sizes[smallest] - represented(counted[smallest] ?? [], classes, policy)
            guard dropped * 1000 <= sizes[smallest] * policy.largestSuppressedShare else { continue }
            let mostDropped = classes.labels.count * (policy.fewestPerClass - 1)
            let isEnough = possible.allSatisfy { table in
                if sizes[table] - mostDropped >= policy.fewestIndividuals { return true }
                let own = counted[table] ?? counts(table)
                counted[table] = own
                return represented(own, classes, policy) >= policy.fewestIndividuals
            }
            if isEnough { return step }
        }
        return path.last
    }
}
