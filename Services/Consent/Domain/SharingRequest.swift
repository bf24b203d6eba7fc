// Table SHR-S: the life of a single-person request, and the grant that comes of an accepted one.

import Contracts

/// What an accepted request allows. It is in force exactly while its request is APPROVED (INV-03): there is no second truth.
struct SharingGrant: Hashable, Sendable {
    let id: GrantID
    /// What is still allowed. Keeps its last types when the whole is withdrawn.
    fileprivate(set) var scope: SharingScope
    /// Counts up with every change, from 1.
    fileprivate(set) var version: Int64

    init(id: GrantID, scope: SharingScope, version: Int64) {
        (self.id, self.scope, self.version) = (id, scope, version)
    }
}

/// Why something cannot happen to a request now.
enum RequestRefusal: Error, Hashable, Sendable {
    /// The first answer stands (SHR-06).
    case alreadyAnswered(accepted: Bool, at: Timestamp)
    /// Not answered in time (SHR-07).
    case noLongerOpen(since: Timestamp)
    /// The time to answer is not over yet.
    case stillOpen(until: Timestamp)
    /// Only an approved request can be withdrawn or ended.
    case notApproved(RequestStatus)
    /// The grant never named these types.
    case neverGranted(Set<Metric>)
}

/// One request of one organisation for the data of one person. Its methods are named for what happened; whatever table SHR-S does
/// not foresee throws and changes nothing.
struct SharingRequest: Hashable, Sendable {
    let id: RequestID
    let organisation: OrganisationID
    let person: PersonID
    /// As it was asked; a grant may allow less by now.
    let scope: SharingScope
    let granularity: GrantGranularity
    let openedAt: Timestamp
    /// From this instant on it counts as rejected (SHR-07).
    let answerBy: Timestamp
    private(set) var status: RequestStatus
    private(set) var changedAt: Timestamp
    /// When the person accepted or denied; nil where nobody did.
    private(set) var answeredAt: Timestamp?
    /// There from the acceptance on, also after the grant's end.
    private(set) var grant: SharingGrant?

    /// A valid form was sent: PENDING.
    init(
        id: RequestID, organisation: OrganisationID, person: PersonID, scope: SharingScope, granularity: GrantGranularity,
        openedAt: Timestamp, answerWithin: Duration
    ) {
        self.init(
            id: id, organisation: organisation, person: person, scope: scope, granularity: granularity, openedAt: openedAt,
            answerBy: openedAt + answerWithin, status: .pending, changedAt: openedAt, answeredAt: nil, grant: nil)
    }

    /// As it was stored.
    init(
        id: RequestID, organisation: OrganisationID, person: PersonID, scope: SharingScope, granularity: GrantGranularity,
        openedAt: Timestamp, answerBy: Timestamp, status: RequestStatus, changedAt: Timestamp, answeredAt: Timestamp?,
        grant: SharingGrant?
    ) {
        (self.id, self.organisation, self.person, self.scope) = (id, organisation, person, scope)
        (self.granularity, self.openedAt, self.answerBy) = (granularity, openedAt, answerBy)
        (self.status, self.changedAt, self.answeredAt, self.grant) = (status, changedAt, answeredAt, grant)
    }

    /// PENDING or APPROVED: what another request may not overlap (SHR-18).
    var isOpen: Bool { status == .pending || status == .approved }

    /// The grant, only while it is in force.
    var grantInForce: SharingGrant? { status == .approved ? grant : nil }

    func isOverdue(at now: Timestamp) -> Bool {
        status == .pending && now >= answerBy
    }

    /// Whether a subscription has ended by itself (SHR-15): its period is over, and so is the time in which the last of it is handed
    /// over. One delivery of what lies in the past may be paid late, so it ends only when the organisation has it.
    /// - Parameter delivery: longest way from the acceptance to the organisation (SHR-10).
    func hasRunOut(at now: Timestamp, delivery: Duration) -> Bool {
        guard status == .approved, scope.isSubscription(at: openedAt) else { return false }
        return now >= max(scope.window.upperBound, answeredAt ?? openedAt) + delivery
    }
}

// MARK: What happens to it

extension SharingRequest {
    /// The individual accepts: the organisation becomes subscribed for exactly the scope that was asked (INV-08).
    mutating func accepted(as grant: GrantID, at now: Timestamp) throws(RequestRefusal) {
        try requireUnanswered(at: now)
        self.grant = SharingGrant(id: grant, scope: scope, version: 1)
        change(to: .approved, at: now)
        answeredAt = now
    }

    mutating func denied(at now: Timestamp) throws(RequestRefusal) {
        try requireUnanswered(at: now)
        change(to: .declined, at: now)
        answeredAt = now
    }

    /// The time to answer has passed.
    mutating func expired(at now: Timestamp) throws(RequestRefusal) {
        try requirePending()
        guard now >= answerBy else { throw .stillOpen(until: answerBy) }
        change(to: .expired, at: now)
    }

    /// Whoever asked is gone (ORG-16): it counts as one that was not answered, without waiting for the time to pass.
    mutating func abandoned(at now: Timestamp) throws(RequestRefusal) {
        try requirePending()
        change(to: .expired, at: now)
    }

    /// The individual withdraws everything, or deletes data or profile.
    mutating func withdrawn(at now: Timestamp) throws(RequestRefusal) {
        try requireApproved()
        change(to: .revoked, at: now)
        grant?.version += 1
    }

    /// The individual withdraws single types; without any left, everything is withdrawn.
    /// - Returns: whether something changed; types that were withdrawn before change nothing.
    mutating func withdrawn(_ types: Set<Metric>, at now: Timestamp) throws(RequestRefusal) -> Bool {
        try requireApproved()
        let strangers = types.subtracting(scope.types)
        guard strangers.isEmpty else { throw .neverGranted(strangers) }
        guard let allowed = grant?.scope, !allowed.types.isDisjoint(with: types) else { return false }
        guard let rest = allowed.without(types) else {
            try withdrawn(at: now)
            return true
        }
        grant?.scope = rest
        grant?.version += 1
        changedAt = now
        return true
    }

    /// The organisation stops, or the period is over and everything is delivered or had time to be.
    mutating func ended(at now: Timestamp) throws(RequestRefusal) {
        try requireApproved()
        change(to: .ended, at: now)
        grant?.version += 1
    }

    private mutating func change(to next: RequestStatus, at now: Timestamp) {
        (status, changedAt) = (next, now)
    }

    private func requireUnanswered(at now: Timestamp) throws(RequestRefusal) {
        try requirePending()
        guard now < answerBy else { throw .noLongerOpen(since: answerBy) }
    }

    private func requirePending() throws(RequestRefusal) {
        switch status {
        case .pending: return
        case .expired: throw .noLongerOpen(since: answerBy)
        case .approved, .declined, .revoked, .ended:
            throw .alreadyAnswered(accepted: grant != nil, at: answeredAt ?? changedAt)
        }
    }

    private func requireApproved() throws(RequestRefusal) {
        guard status == .approved else { throw .notApproved(status) }
    }
}
