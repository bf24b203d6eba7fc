// The fixed public hierarchies along which classes are made coarser.

/// One attribute's levels, from fine to coarse. Above the last one everything is one (`*`).
struct Hierarchy: Hashable, Sendable {
    let attribute: PersonAttribute
    /// By level, by the column's code: the class.
    let levels: [[UInt16]]
    /// By level, by class: what it is called on the wire.
    let labels: [[String]]

    /// The level at which everything is one.
    var top: Int { levels.count }

    /// Classes at a level; 1 at the top.
    func classCount(_ level: Int) -> Int { level == top ? 1 : labels[level].count }

    static let anything = "*"

    func label(_ level: Int, _ code: Int) -> String {
        level == top ? Self.anything : labels[level][code]
    }

    /// - Parameter names: by level, by the column's code, what its class is called; equal names are one class.
    init(_ attribute: PersonAttribute, names: [[String]]) {
        self.attribute = attribute
        var (levels, labels): ([[UInt16]], [[String]]) = ([], [])
        for level in names {
            var codes: [String: UInt16] = [:]
            var found: [String] = []
            levels.append(
                level.map { name in
                    if let code = codes[name] { return code }
                    let code = UInt16(found.count)
                    codes[name] = code
                    found.append(name)
                    return code
                })
            labels.append(found)
        }
        (self.levels, self.labels) = (levels, labels)
    }
}

// MARK: The hierarchies

extension Hierarchy {
    /// Bands of a width from `first` on; what lies below is one band, and so is what lies at `open` or above.
    private static func bands(_ values: ClosedRange<Int>, from first: Int, width: Int, open: Int) -> [String] {
        (0...values.upperBound).map { value in
            if value < first { return "<\(first)" }
            if value >= open { return "\(open)+" }
            let start = first + (value - first) / width * width
            return "\(start)-\(start + width - 1)"
        }
    }

    static let age = Hierarchy(
        .age,
        names: [
            bands(0...120, from: 0, width: 5, open: 85), bands(0...120, from: 0, width: 10, open: 80),
            bands(0...120, from: 0, width: 20, open: 60), bands(0...120, from: 0, width: 40, open: 40),
        ])

    /// In kg: below 50, bands of 10 (20) up to 110 and more. Wider bands are made of whole narrow ones.
    static let weight = Hierarchy(
        .weight, names: [bands(30...200, from: 50, width: 10, open: 110), bands(30...200, from: 50, width: 20, open: 110)])

    /// In cm: below 150, bands of 10 (20) up to 190 and more.
    static let height = Hierarchy(
        .height, names: [bands(100...220, from: 150, width: 10, open: 190), bands(100...220, from: 150, width: 20, open: 190)])

    static let sex = Hierarchy(.sex, names: [["unknown"] + Sex.allCases.map(\.code)])

    /// The three values of ANO-03, then everything.
    static let occupation = Hierarchy(.occupation, names: [["unknown"] + Occupation.allCases.map(\.code)])

    /// A city stands for itself from so many inhabitants on.
    static let largeCity = 50_000

    /// City (or province where it is small), province, region, macro-area; abroad: country, country, continent, "abroad".
    static func residence(_ catalogue: PlaceCatalogue) -> Hierarchy {
        Hierarchy(
            .residence,
            names: [
                catalogue.leafNames { $0.isLarge ? [.city] : [.province, .country] },
                catalogue.leafNames { _ in [.province, .country] },
                catalogue.leafNames { _ in [.region, .continent] },
                catalogue.leafNames(elsewhere: abroad) { _ in [.macroArea] },
            ])
    }

    /// Province, region, macro-area, own country or abroad; abroad: the continent, up to the last level.
    static func birthPlace(_ catalogue: PlaceCatalogue) -> Hierarchy {
        Hierarchy(
            .birthPlace,
            names: [
                catalogue.leafNames { _ in [.province, .continent] },
                catalogue.leafNames { _ in [.region, .continent] },
                catalogue.leafNames { _ in [.macroArea, .continent] },
                catalogue.leafNames(elsewhere: abroad) { $0.hasMacroArea ? [.country] : [] },
            ])
    }

    static let abroad = "abroad"

    static func all(_ catalogue: PlaceCatalogue) -> [PersonAttribute: Hierarchy] {
        let list = [age, sex, residence(catalogue), birthPlace(catalogue), occupation, weight, height]
        return Dictionary(uniqueKeysWithValues: list.map { ($0.attribute, $0) })
    }
}

extension PlaceCatalogue {
    /// What a hierarchy asks of a leaf.
    fileprivate struct Leaf {
        let isLarge: Bool
        /// Whether it lies in a country that the catalogue divides.
        let hasMacroArea: Bool
    }

    /// By leaf, the code of the first of the levels that it has; `elsewhere` where it has none of them, or else its own.
    fileprivate func leafNames(elsewhere: String? = nil, _ levels: (Leaf) -> [PlaceLevel]) -> [String] {
        leaves.indices.map { leaf in
            let place = places[leaves[leaf]]
            let facts = Leaf(
                isLarge: place.level == .city && place.population >= Hierarchy.largeCity,
                hasMacroArea: ancestor(ofLeaf: leaf, at: .macroArea) != nil)
            for level in levels(facts) {
                if let found = ancestor(ofLeaf: leaf, at: level) { return places[found].code }
            }
            return elsewhere ?? place.code
        }
    }
}
