// One request of an organisation for one person's data, as this service knows it: what was asked, and what consent says of it.

import Contracts

struct MadeRequest: Hashable, Sendable {
    let id: RequestID
    let organisation: OrganisationID
    /// Nil until consent has named the person, and again once the person is erased.
    var person: PersonID?
    /// What was asked for, in the order of the registry.
    let asked: [Metric]
    /// What is allowed of it; withdrawing single types makes it shorter.
    var types: [Metric]
    let from: Timestamp
    /// Not included.
    let to: Timestamp
    let granularity: GrantGranularity
    /// Whether new data keep flowing until `to` (SHR-13).
    let isSubscription: Bool
    var status: RequestStatus
    /// There from the acceptance on, also after the grant's end.
    var grant: GrantID?
    /// Counts as declined unless answered by then (SHR-07).
    let answerBy: Timestamp
    let createdAt: Timestamp
    var changedAt: Timestamp
    /// Since when nothing is due for it; nil where something is, or nobody has accepted.
    var paidAt: Timestamp?
    /// When the last of what a closed period held was handed out; nil before.
    var deliveredAt: Timestamp?
    /// Why nothing leaves although it was paid once.
    var hold: PaymentHold?

    /// PENDING or APPROVED.
    var isOpen: Bool { status == .pending || status == .approved }

    /// The grant while it is in force (INV-03).
    var grantInForce: GrantID? { status == .approved ? grant : nil }
}

/// What came of a request that is over, as its organisation is told.
enum RequestEnd: Hashable, Sendable {
    case declined, expired, revoked, ended
}

/// What a fact of consent changes of a request, by table SHR-S.
enum RequestChange: Hashable, Sendable {
    /// Nothing that anybody has to be told.
    case none
    case approved(GrantID)
    /// Single types were withdrawn.
    case narrowed
    case closed(RequestEnd)
}

extension MadeRequest {
    /// Takes over what consent says; again the same changes nothing. An answer may overtake facts that were said before it: a state
    /// that table SHR-S leaves behind does not come back, and types that were withdrawn do not either.
    mutating func receive(_ state: RequestState, person: PersonID?) -> RequestChange {
        self.person = person ?? self.person
        grant = state.grant ?? grant
        let (before, known) = (status, Set(types))
        switch (before, state.status) {
        case (.pending, .pending): return .none
        case (.approved, .approved):
            let left = types.filter(state.types.contains)
            guard left.count < known.count else { return .none }
            (types, changedAt) = (left, max(changedAt, state.changedAt))
            return .narrowed
        case (.pending, _), (.approved, .revoked), (.approved, .ended): break
        default: return .none
        }
        (status, types, changedAt) = (state.status, state.types, state.changedAt)
        switch (before, state.status) {
        case (.pending, .approved): return grant.map { .approved($0) } ?? .none
        case (.pending, .declined): return .closed(.declined)
        case (.pending, .expired): return .closed(.expired)
        case (.pending, .revoked), (.approved, .revoked): return .closed(.revoked)
        case (.pending, .ended), (.approved, .ended): return .closed(.ended)
        default: return .none
        }
    }

    /// Consent no longer knows of it: the person is erased, and what was open is over.
    mutating func forgotten(at now: Timestamp) -> RequestChange {
        guard isOpen else { return .none }
        let end = status == .approved ? RequestEnd.revoked : .declined
        (status, changedAt) = (status == .approved ? .revoked : .declined, now)
        return .closed(end)
    }
}
