// Where the gateway's subjects meet: what one does inside another's transaction, however they depend on one another.

import Contracts
import GRDB
import ServiceKit
import Synchronization

/// Made before the parts, filled with them as they are made, used once everything runs.
final class GatewayJoints: Sendable {
    private struct Parts {
        var payments: PaymentBook?
        var news: RequestNews?
        var subscriptions: SubscriptionBook?
    }

    /// Something ran before the assembly was finished.
    struct NotJoined: Error {}

    private let parts = Mutex(Parts())
    private let requests = RequestTable()

    func join(_ book: PaymentBook) { parts.withLock { $0.payments = book } }
    func join(_ news: RequestNews) { parts.withLock { $0.news = news } }
    func join(_ book: SubscriptionBook) { parts.withLock { $0.subscriptions = book } }

    private var payments: PaymentBook {
        get throws { try found(parts.withLock { $0.payments }) }
    }

    private var news: RequestNews {
        get throws { try found(parts.withLock { $0.news }) }
    }

    private var subscriptions: SubscriptionBook {
        get throws { try found(parts.withLock { $0.subscriptions }) }
    }

    private func found<Part>(_ part: Part?) throws -> Part {
        guard let part else { throw NotJoined() }
        return part
    }

    // MARK: What each subject needs of the others

    /// Closing an organisation: consent ends its requests, which ends everything else; what is due stays due (ORG-16).
    var closing: ClosingNeighbours {
        ClosingNeighbours(
            debts: { [self] db, organisation in try payments.outstanding(db, organisation) },
            openRequests: { [requests] db, organisation in try requests.openCounts(db, of: organisation) },
            closed: [
                { [self] db, organisation in try subscriptions.closed(db, organisation) },
                { db, organisation in try IntentTable().abandon(db, of: organisation, detail: "the organisation is closed") },
            ])
    }

    func payment(_ book: OrganisationBook) -> PaymentNeighbours {
        PaymentNeighbours(
            billing: { db, organisation in try book.billing(db, organisation) },
            preferred: { db, organisation in try book.preferredMethod(db, organisation) },
            mail: { db, organisation, template, values in try book.mail(db, to: organisation, template, values) },
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

    func request(_ book: OrganisationBook) -> RequestHooks {
        RequestHooks(
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
                let waiting = try IntentTable().agreed(db, of: request.organisation)
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
            mail: { db, organisation, template, values in try book.mail(db, to: organisation, template, values) })
    }

    func subscription(_ book: OrganisationBook, admit: @escaping Admit) -> SubscriptionNeighbours {
        SubscriptionNeighbours(
            scope: { [requests] db, id in
                guard let made = try requests.find(db, id), let grant = made.grant else { return nil }
                return FeedScope(
                    request: made.id, organisation: made.organisation, person: made.person, grant: grant, types: made.types,
                    from: made.from, to: made.to, granularity: made.granularity, isSubscription: made.isSubscription)
            },
            admit: admit, mayAct: { db, organisation in try book.mayAct(db, organisation) },
            mail: { db, organisation, template, values in try book.mail(db, to: organisation, template, values) },
            delivered: { [self] db, request in try payments.delivered(db, request) })
    }
}

extension PayableRequest {
    init(_ request: MadeRequest) {
        self.init(id: request.id, organisation: request.organisation, scope: request.scope)
    }
}

extension PaymentBook {
    /// Whether the price that was shown is still honoured.
    /// - Throws: `price-changed`.
    func check(_ db: Database, _ scope: RequestScope, persons: Int, version: Int?) throws {
        _ = try prices.quote(
            db, scope, persons: persons, settings.when, version: version, honoured: settings.quoteTime, at: clock())
    }
}
