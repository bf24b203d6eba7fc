// What a request asks for and a grant allows: kinds of data over a stretch of time.

import Contracts

/// Data types times a half-open window. Two scopes meet where they share both a type and an instant (SHR-18, INV-05).
struct SharingScope: Hashable, Sendable {
    private(set) var types: Set<Metric>
    let window: Range<Timestamp>

    /// Nil without a type or without an instant: such a scope allows nothing.
    init?(types: Set<Metric>, window: Range<Timestamp>) {
        guard !types.isEmpty, !window.isEmpty else { return nil }
        (self.types, self.window) = (types, window)
    }

    func overlaps(_ other: SharingScope) -> Bool {
        !types.isDisjoint(with: other.types) && window.overlaps(other.window)
    }

    /// What is left without these types; nil where nothing is.
    func without(_ withdrawn: Set<Metric>) -> SharingScope? {
        SharingScope(types: types.subtracting(withdrawn), window: window)
    }

    /// Whether new data will keep flowing (SHR-13).
    func isSubscription(at now: Timestamp) -> Bool {
        window.upperBound > now
    }

    /// The types in the order of the registry, each once: one spelling for every wire and file.
    var listedTypes: [Metric] {
        types.sorted { $0.number < $1.number }
    }
}
