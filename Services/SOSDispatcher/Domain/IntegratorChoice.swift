// Whom an emergency goes to, and to whom next if it is refused (SOS-17, CON-30).

import Contracts

enum IntegratorChoice {
    struct Candidate: Hashable, Sendable {
        var id: String
        var area: ServiceArea
        /// Among equals the lower one is first.
        var priority: Int
    }

    /// Everybody, in the order in which they are asked: those in whose area the place lies, the smallest area first; then those
    /// who are responsible everywhere; then the others, the nearest first, since help from afar is better than none. Without a
    /// place those who are responsible everywhere come first.
    static func order(_ candidates: [Candidate], for place: ServiceArea.Corner?) -> [String] {
        candidates.map { candidate in (candidate, rank(candidate, place)) }.sorted { one, other in
            (one.1.group, one.1.measure, one.0.priority, one.0.id) < (other.1.group, other.1.measure, other.0.priority, other.0.id)
        }.map(\.0.id)
    }

    private static func rank(_ candidate: Candidate, _ place: ServiceArea.Corner?) -> (group: Int, measure: Double) {
        if candidate.area.isEverywhere { return (1, 0) }
        guard let place else { return (2, 0) }
        return candidate.area.contains(place)
            ? (0, candidate.area.squareKm) : (2, candidate.area.distanceKm(to: place))
    }
}
