// Who shares what with anybody, in memory: uploads of all others are not published to the gateway and cost one lookup here.

import Contracts
import Synchronization

/// Kept by the follower of `consent.grants`. Widened within the transaction that records a grant, before its commit, and narrowed
/// after one, so that no upload that is stored after a grant is in force goes unsaid; one too many does no harm.
final class GrantedPeople: Sendable {
    private struct State {
        var grants: [PersonID: [GrantID: MetricSet]] = [:]

        mutating func set(_ state: GrantState, _ types: MetricSet?) {
            grants[state.person, default: [:]][state.grant] = types
            if grants[state.person]?.isEmpty ?? false { grants[state.person] = nil }
        }
    }

    private let state: Mutex<State>

    /// - Parameter grants: those in force.
    init(_ grants: [GrantState] = []) {
        var first = State()
        for grant in grants { first.set(grant, MetricSet(grant.types)) }
        state = Mutex(first)
    }

    /// All that is shared of the person under any grant in force; nil where it is nothing.
    func types(of person: PersonID) -> MetricSet? {
        state.withLock { state in
            guard let grants = state.grants[person] else { return nil }
            return grants.values.reduce(into: MetricSet()) { $0.formUnion($1) }
        }
    }

    /// Before the commit.
    func widen(by grant: GrantState) {
        guard grant.active else { return }
        state.withLock { state in
            var types = state.grants[grant.person]?[grant.grant] ?? MetricSet()
            types.formUnion(MetricSet(grant.types))
            state.set(grant, types)
        }
    }

    /// After the commit.
    func settle(on grant: GrantState) {
        state.withLock { $0.set(grant, grant.active ? MetricSet(grant.types) : nil) }
    }
}
