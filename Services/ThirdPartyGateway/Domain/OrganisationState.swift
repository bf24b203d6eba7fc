// The life of an organisation's account, from the form to its end.

import Contracts

extension OrganisationState {
    /// Whether its members and clients may act and data may go to it.
    var mayAct: Bool { self == .active }
}

/// What happens to an organisation. Whatever does not fit throws and changes nothing.
struct OrganisationLife: Hashable, Sendable {
    /// It is in a state in which that cannot happen.
    struct NotNow: Error, Hashable {
        let state: OrganisationState
    }

    private(set) var state: OrganisationState

    init(_ state: OrganisationState) {
        self.state = state
    }

    /// The log-in exists.
    mutating func registered() throws(NotNow) {
        try change(from: [.registering], to: .unconfirmed)
    }

    /// The mailed link was followed; again is the same as once.
    mutating func confirmed(needsApproval: Bool) throws(NotNow) {
        guard state == .unconfirmed else {
            if [.awaitingApproval, .active, .suspended].contains(state) { return }
            throw NotNow(state: state)
        }
        state = needsApproval ? .awaitingApproval : .active
    }

    mutating func approved() throws(NotNow) {
        if state == .active { return }
        try change(from: [.awaitingApproval], to: .active)
    }

    /// The operator knows who it is: neither the link nor an approval is waited for.
    mutating func vouchedFor() throws(NotNow) {
        if state == .active { return }
        try change(from: [.unconfirmed, .awaitingApproval], to: .active)
    }

    mutating func suspended() throws(NotNow) {
        if state == .suspended { return }
        try change(from: [.awaitingApproval, .active], to: .suspended)
    }

    /// Also in place of an approval that was not given before.
    mutating func resumed() throws(NotNow) {
        if state == .active { return }
        try change(from: [.suspended], to: .active)
    }

    mutating func closed() throws(NotNow) {
        try change(from: [.unconfirmed, .awaitingApproval, .active, .suspended], to: .closed)
    }

    private mutating func change(from: Set<OrganisationState>, to next: OrganisationState) throws(NotNow) {
        guard from.contains(state) else { throw NotNow(state: state) }
        state = next
    }
}
