// The metric registry laid out flat for the scanner: found by the bytes of a code, limits found by number, no strings touched.

import Contracts

/// Built once from `Metric.all`, so that a new data type is still one entry of the registry (ING-06).
struct MetricCatalogue: Sendable {
    struct Entry: Sendable {
        let metric: Metric
        let code: [UInt8]
        /// The spellings of its unit, UCUM's first.
        let units: [[UInt8]]
    }

    /// What the rules ask of a metric's values; indexed by its number.
    struct Limits: Sendable {
        var low = 0.0
        var high = 0.0
        var isPosition = false
    }

    static let registry = MetricCatalogue(Metric.all)

    let limits: [Limits]
    private let entries: [Entry]
    /// Open addressing over 256 slots: index into `entries`, or -1.
    private let slots: [Int16]
    private let entryOfNumber: [Int16]

    init(_ metrics: [Metric]) {
        var limits = [Limits](repeating: Limits(), count: 256)
        var slots = [Int16](repeating: -1, count: 256)
        var entryOfNumber = slots
        entries = metrics.map { metric in
            Entry(
                metric: metric, code: Array(metric.code.utf8),
                units: UnitSpellings.of(metric.definition.unit).map { Array($0.utf8) })
        }
        for (index, entry) in entries.enumerated() {
            let definition = entry.metric.definition
            limits[Int(definition.number)] = Limits(
                low: definition.possible.lowerBound, high: definition.possible.upperBound, isPosition: definition.shape == .position)
            entryOfNumber[Int(definition.number)] = Int16(index)
            var slot = entry.code.withUnsafeBytes { Self.hash($0, 0..<$0.count) }
            while slots[slot] >= 0 { slot = (slot + 1) & 255 }
            slots[slot] = Int16(index)
        }
        (self.limits, self.slots, self.entryOfNumber) = (limits, slots, entryOfNumber)
    }

    /// The metric whose code are these bytes, compared exactly.
    @inline(__always)
    func metric(_ bytes: UnsafeRawBufferPointer, _ range: Range<Int>) -> Metric? {
        var slot = Self.hash(bytes, range)
        while true {
            let index = slots[slot]
            guard index >= 0 else { return nil }
            if Self.equal(entries[Int(index)].code, bytes, range) { return entries[Int(index)].metric }
            slot = (slot + 1) & 255
        }
    }

    func code(of metric: Metric) -> [UInt8] {
        entries[Int(entryOfNumber[Int(metric.number)])].code
    }

    /// Whether these bytes are the metric's unit, in UCUM or in one of its usual spellings.
    func isUnit(of metric: Metric, _ bytes: UnsafeRawBufferPointer, _ range: Range<Int>) -> Bool {
        entries[Int(entryOfNumber[Int(metric.number)])].units.contains { Self.equal($0, bytes, range) }
    }

    func isUnit(of metric: Metric, _ text: String) -> Bool {
        var text = text
        return text.withUTF8 { isUnit(of: metric, UnsafeRawBufferPointer($0), 0..<$0.count) }
    }

    @inline(__always)
    private static func equal(_ known: [UInt8], _ bytes: UnsafeRawBufferPointer, _ range: Range<Int>) -> Bool {
        guard known.count == range.count else { return false }
        for index in 0..<known.count where known[index] != bytes[range.lowerBound + index] { return false }
        return true
    }

    /// FNV-1a, folded to eight bits.
    @inline(__always)
    private static func hash(_ bytes: UnsafeRawBufferPointer, _ range: Range<Int>) -> Int {
        var hash: UInt32 = 2_166_136_261
        for index in range { hash = (hash ^ UInt32(bytes[index])) &* 16_777_619 }
        return Int((hash ^ hash >> 8 ^ hash >> 16) & 255)
    }
}

/// How the registry's units are spelt by devices and by people. All of a line are one unit: nothing is ever converted, and a spelling
/// that could mean another unit (`C` is UCUM's coulomb, `F` a Fahrenheit) stands here only where no other unit of that name measures
/// the same thing.
enum UnitSpellings {
    private static let usual: [String: [String]] = [
        "/min": [
            "bpm", "BPM", "1/min", "min-1", "min^-1", "/minute", "{beats}/min", "{Beats}/min", "{beat}/min", "beats/min", "beats/minute",
            "{breaths}/min", "breaths/min", "brpm", "{steps}/min", "steps/min", "spm", "rpm",
        ],
        "mm[Hg]": ["mmHg", "mm Hg", "mmhg", "MMHG"],
        "%": ["percent", "pct", "%SpO2", "%{SpO2}"],
        "Cel": ["°C", "℃", "degC", "deg C", "C", "celsius", "Celsius"],
        "mV": ["millivolt", "millivolts"],
        "mg/dL": ["mg/dl"],
        "kg": ["Kg", "kilogram", "kilograms"],
        "cm": ["centimetre", "centimetres", "centimeter", "centimeters"],
        "m": ["metre", "metres", "meter", "meters"],
        "s/km": ["sec/km"],
        "kcal": ["Kcal", "Cal", "[Cal]"],
        "s": ["sec", "second", "seconds"],
        "m/s": ["m.s-1", "mps", "m/sec"],
        "deg": ["°", "degree", "degrees"],
        "[g]": ["g", "G", "g0"],
    ]

    /// The unit itself and what else it is called.
    static func of(_ ucum: String) -> [String] { [ucum] + (usual[ucum] ?? []) }
}
