// What consent says of requests, taken over in the transaction that notes how far it was received (table SHR-S).

import Contracts
import GRDB
import ServiceKit
import Storage

struct RequestEventStore: Sendable {
    let releases: RequestReleaseStore
    let payments: PaymentRepository
    let subscriptions: SubscriptionRepository
    let organisations: OrganisationRepository
    let keys: PersonKeys
    /// Where people find the suite, for links in mails.
    let origin: String
    let clock: @Sendable () -> Timestamp
    let table = RequestStore()
    let files = DataFileStore()

    // MARK: The stream

    func apply(_ db: Database, _ event: StreamEvent) throws {
        guard let state = try event.fact(RequestState.self, type: RequestState.type) else { return }
        let person = try PersonID(event.header.subject).flatMap { try keys.isDestroyed($0) ? nil : $0 }
        try take(db, state, person: person)
        // Consent names nobody any more once the account is being erased, and the erasure here may come before its last facts (ACC-31).
        if person == nil { try table.forgetPerson(db, of: state.request) }
    }

    /// Longest that a snapshot may be on its way.
    private static let snapshotTime = Duration.seconds(300)

    /// What a snapshot does not hold is over: its person is erased. What consent opened while the snapshot was on its way is not in it
    /// either; its fact comes next.
    var snapshot: SnapshotRules {
        SnapshotRules { db, event in
            try apply(db, event)
            return try event.fact(RequestState.self, type: RequestState.type)?.request.bytes
        } known: { db, _, after, limit in
            try table.known(db, after: after, limit: limit).map(\.bytes)
        } forget: { db, key in
            if let request = RequestID(bytes: key) { try isGone(db, request) }
            return nil
        }
    }

    /// No page of the snapshot has named it.
    func isGone(_ db: Database, _ id: RequestID) throws {
        guard var request = try table.find(db, id), request.isOpen else { return }
        if request.person == nil, clock() - request.createdAt < Self.snapshotTime { return }
        let change = request.forgotten(at: clock())
        try table.save(db, request)
        try notify(db, request, change)
        try table.forgetPerson(db, of: id)
    }

    /// Takes over one state, from the stream or from an answer; the same again changes nothing.
    func take(_ db: Database, _ state: RequestState, person: PersonID?) throws {
        var request = try table.find(db, state.request) ?? added(db, state, person)
        let before = request
        let change = request.receive(state, person: person)
        guard request != before else { return }
        try table.save(db, request)
        try notify(db, request, change)
        releases.notifyWatchers(db, of: request.organisation)
    }

    /// The fact came before the answer to the question, or this store was restored: every request begins as PENDING.
    private func added(_ db: Database, _ state: RequestState, _ person: PersonID?) throws -> MadeRequest {
        let request = MadeRequest(
            id: state.request, organisation: state.organisation, person: person, asked: state.types, types: state.types, from: state.from,
            to: state.to, granularity: state.granularity, isSubscription: state.to > state.changedAt, status: .pending, grant: nil,
            answerBy: state.answerBy, createdAt: state.changedAt, changedAt: state.changedAt, paidAt: nil, deliveredAt: nil)
        try table.add(db, request)
        releases.notifyWatchers(db, of: state.organisation)
        return request
    }

    // MARK: What follows

    /// Over, whatever it was before: declined, expired, revoked or ended.
    func closed(_ db: Database, _ request: MadeRequest) throws {
        try payments.closed(db, request.id, as: request.status)
        switch request.status {
        case .revoked: try subscriptions.end(db, request.id, .revoked)
        case .ended:
            try subscriptions.end(db, request.id, .ended)
            // Run out, not stopped: where nothing came of it in its time, nothing is owed.
            if request.isSubscription, request.changedAt >= request.to { try payments.undeliverable(db, request.id) }
        case .pending, .approved, .declined, .expired: break
        }
    }

    private func notify(_ db: Database, _ request: MadeRequest, _ change: RequestChange) throws {
        switch change {
        case .none: return
        case .approved:
            let waiting = try PendingRequestStore().agreed(db, of: request.organisation)
            let amount = try payments.due(db, PayableRequest(request), agreedIn: waiting)
            try mail(db, request, .requestAccepted, ["amount": amount.text])
        case .narrowed:
            // What was written before the withdrawal is not handed out after it (SHR-16).
            try files.removeAll(db, of: request.id, at: clock())
            try mail(db, request, .accessNarrowed)
        case .closed(let end):
            try files.removeAll(db, of: request.id, at: clock())
            try closed(db, request)
            try mail(db, request, end.template)
        }
    }

    /// A mail names the request, never the person.
    private func mail(_ db: Database, _ request: MadeRequest, _ template: MessageTemplate, _ more: [String: String] = [:]) throws {
        var values = more
        values["request"] = request.id.description
        if template.values.contains("link") { values["link"] = "\(origin)/thirdparty/v1/requests/\(request.id)" }
        try organisations.mail(db, to: request.organisation, template, values)
    }
}

extension RequestEnd {
    /// The reason of a refusal is not disclosed (SHR-08).
    fileprivate var template: MessageTemplate {
        switch self {
        case .declined: .requestDeclined
        case .expired: .requestUnanswered
        case .revoked: .accessWithdrawn
        case .ended: .accessEnded
        }
    }
}
