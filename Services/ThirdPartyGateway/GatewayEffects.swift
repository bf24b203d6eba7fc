// Where the gateway's subjects meet: what one does inside another's transaction, however they depend on one another.

import Contracts
import GRDB
import ServiceKit
import Synchronization

/// Made before the parts, filled with them as they are made, used once everything runs.
final class GatewayEffects: Sendable {
    private struct Parts {
        var payments: PaymentRepository?
        var news: RequestEventStore?
        var subscriptions: SubscriptionRepository?
    }

    /// Something ran before the assembly was finished.
    struct NotJoined: Error {}

    private let parts = Mutex(Parts())
    private let requests = RequestStore()

    func join(_ repository: PaymentRepository) { parts.withLock { $0.payments = repository } }
    func join(_ news: RequestEventStore) { parts.withLock { $0.news = news } }
    func join(_ repository: SubscriptionRepository) { parts.withLock { $0.subscriptions = repository } }

    private var payments: PaymentRepository {
        get throws { try found(parts.withLock { $0.payments }) }
    }

    private var news: RequestEventStore {
        get throws { try found(parts.withLock { $0.news }) }
    }

    private var subscriptions: SubscriptionRepository {
        get throws { try found(parts.withLock { $0.subscriptions }) }
    }

    private func found<Part>(_ part: Part?) throws -> Part {
        guard let part else { throw NotJoined() }
        return part
    }

    // MARK: What each subject needs of the others

    /// Closing an organisation: consent ends its requests, which ends everything else; what is due stays due (ORG-16).
    var closing: ClosingEffects {
        ClosingEffects(
            debts: { [self] db, organisation in try payments.outstanding(db, organisation) },
            openRequests: { [requests] db, organisation in try requests.openCounts(db, of: organisation) },
            closed: [
                { [self] db, organisation in try subscriptions.closed(db, organisation) },
                { db, organisation in try PendingRequestStore().abandon(db, of: organisation, detail: "the organisation is closed") },
            ])
    }

    func payment(_ repository: OrganisationRepository) -> PaymentEffects {
        PaymentEffects(
            billing: { db, organisation in try repository.billing(db, organisation) },
            preferred: { db, organisation in try repository.preferredMethod(db, organisation) },
            mail: { db, organisation, template, values in try repository.mail(db, to: organisation, template, values) },
            released: { [self] db, request in
                // What is due for a request that was stopped can be paid still (SHR-25); nothing begins by that.
                guard try requests.find(db, request)?.status == .approved else { return }
                try news.paid(db, request)
                try subscriptions.begin(db, request)
            },
            withdrawn: { [self] db, request, hold in
                try news.unpaid(db, request, hold)
                switch hold {
                case .givenBack: try subscriptions.end(db, request, .unpaid)
                // It goes on once it is decided, or paid again.
                case .contested, nil: try subscriptions.hold(db, request)
                }
            })
    }

    func request(_ repository: OrganisationRepository) -> RequestEffects {
        RequestEffects(
            opening: { [self] db, _, scope, persons, version in try payments.check(db, scope, persons: persons, version: version) },
            opened: { [self] db, request, persons, version in
                do {
                    try payments.opened(db, PayableRequest(request), persons: persons, priceListVersion: version)
                } catch is Problem {
                    // The price that was agreed to is no longer honoured, and the person is asked already: the list in force counts.
                    try payments.opened(db, PayableRequest(request), persons: persons, priceListVersion: nil)
                }
            },
            approved: { [self] db, request, _ in
                let waiting = try PendingRequestStore().agreed(db, of: request.organisation)
                return try payments.due(db, PayableRequest(request), agreedIn: waiting).text
            },
            closed: { [self] db, request in
                try payments.closed(db, request.id, as: request.status)
                switch request.status {
                case .revoked: try subscriptions.end(db, request.id, .revoked)
                case .ended:
                    try subscriptions.end(db, request.id, .ended)
                    // Run out, not stopped: where nothing came of it in its time, nothing is owed.
                    if request.isSubscription, request.changedAt >= request.to { try payments.undeliverable(db, request.id) }
                case .pending, .approved, .declined, .expired: break
                }
            },
            delivered: { [self] db, request in try payments.delivered(db, request) },
            undeliverable: { [self] db, request in try payments.undeliverable(db, request) },
            isPaid: { [self] db, request in try payments.isPaid(db, request) },
            mail: { db, organisation, template, values in try repository.mail(db, to: organisation, template, values) })
    }

    func subscription(_ repository: OrganisationRepository, admit: @escaping Admit) -> SubscriptionEffects {
        SubscriptionEffects(
            scope: { [requests] db, id in
                guard let made = try requests.find(db, id), let grant = made.grant else { return nil }
                return FeedScope(
                    request: made.id, organisation: made.organisation, person: made.person, grant: grant, types: made.types,
                    from: made.from, to: made.to, granularity: made.granularity, isSubscription: made.isSubscription)
            },
            isReleased: { [self, requests] db, id in
                try requests.find(db, id)?.status == .approved && payments.isPaid(db, id)
            },
            admit: admit, mayAct: { db, organisation in try repository.mayAct(db, organisation) },
            mail: { db, organisation, template, values in try repository.mail(db, to: organisation, template, values) },
            delivered: { [self] db, request in try payments.delivered(db, request) })
    }
}

extension PayableRequest {
    init(_ request: MadeRequest) {
        self.init(id: request.id, organisation: request.organisation, scope: request.scope)
    }
}

extension PaymentRepository {
    /// Whether the price that was shown is still honoured.
    /// - Throws: `price-changed`.
    func check(_ db: Database, _ scope: RequestScope, persons: Int, version: Int?) throws {
        _ = try prices.quote(
            db, scope, persons: persons, settings.when, version: version, honoured: settings.quoteTime, at: clock())
    }
}
