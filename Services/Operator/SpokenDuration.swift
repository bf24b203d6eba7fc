// Durations as people write them on a command line: `500ms`, `20s`, `5m`, `2h`; a bare number is seconds.

struct SpokenDuration: Hashable, Sendable, CustomStringConvertible {
    var duration: Duration

    init(_ duration: Duration) {
        self.duration = duration
    }

    /// Nil for anything else, and for what is negative or longer than a year.
    init?(_ text: String) {
        let units: [(suffix: String, milliseconds: Double)] = [("ms", 1), ("s", 1000), ("m", 60_000), ("h", 3_600_000), ("", 1000)]
        guard let unit = units.first(where: { text.hasSuffix($0.suffix) }), let first = text.utf8.first, first &- 48 <= 9,
            let number = Double(text.dropLast(unit.suffix.count)), number * unit.milliseconds <= 365 * 86_400_000
        else { return nil }
        duration = .milliseconds(Int64((number * unit.milliseconds).rounded()))
    }

    var description: String {
        let milliseconds = duration.components.seconds * 1000 + duration.components.attoseconds / 1_000_000_000_000_000
        return milliseconds.isMultiple(of: 1000) ? "\(milliseconds / 1000)s" : "\(milliseconds)ms"
    }
}
