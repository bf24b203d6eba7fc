// Names of what bodies are, and the choice that an Accept header makes among them (RFC 9110 §12.5.1).

package enum MediaType {
    package static let json = "application/json"
    package static let ndjson = "application/x-ndjson"
    package static let problem = "application/problem+json"
    package static let form = "application/x-www-form-urlencoded"
    package static let html = "text/html; charset=utf-8"
    package static let events = "text/event-stream"
    package static let text = "text/plain; charset=utf-8"

    /// Type and subtype of a Content-Type, in lower case, without parameters.
    static func essence(of contentType: String) -> String {
        let essence = contentType.prefix { $0 != ";" }
        let trimmed = essence.utf8.last == UInt8(ascii: " ") ? Substring(essence.split(separator: " ").first ?? "") : essence
        return trimmed.lowercased()
    }

    /// The offered type that the header likes best; of equals, the one offered first. nil where it likes none.
    package static func preferred(of offered: [String], accept: String?) -> String? {
        guard let accept, !accept.isEmpty else { return offered.first }
        let ranges = accept.split(separator: ",").prefix(mostRanges).compactMap(MediaRange.init)
        let rated = offered.map { type in (type: type, quality: quality(of: type, ranges)) }
        guard let best = rated.map(\.quality).max(), best > 0 else { return nil }
        return rated.first { $0.quality == best }?.type
    }

    private static let mostRanges = 32

    /// The most specific range that fits decides.
    private static func quality(of type: String, _ ranges: [MediaRange]) -> Double {
        let name = essence(of: type)
        let fitting = ranges.filter { $0.fits(name) }
        guard let specific = fitting.map(\.specificity).max() else { return 0 }
        return fitting.filter { $0.specificity == specific }.map(\.quality).max() ?? 0
    }
}

private struct MediaRange {
    let name: String
    let quality: Double

    init?(_ text: Substring) {
        let parts = text.split(separator: ";").map { $0.filter { $0 != " " }.lowercased() }
        guard let first = parts.first, first.contains("/") else { return nil }
        name = first
        let weight = parts.dropFirst().first { $0.hasPrefix("q=") }
        quality = weight.map { min(1, max(0, Double($0.dropFirst(2)) ?? 0)) } ?? 1
    }

    var specificity: Int {
        name == "*/*" ? 0 : name.hasSuffix("/*") ? 1 : 2
    }

    func fits(_ type: String) -> Bool {
        switch specificity {
        case 0: true
        case 1: type.hasPrefix(name.dropLast())
        default: type == name
        }
    }
}
