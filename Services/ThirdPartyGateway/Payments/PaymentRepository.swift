// What the other subjects of the gateway need of money, inside their own transactions.

import Contracts
import GRDB

/// A request as far as its price goes.
struct PayableRequest: Hashable, Sendable {
    let id: RequestID
    let organisation: OrganisationID
    let scope: RequestScope
}

extension PayableRequest {
    init(_ request: MadeRequest) {
        self.init(id: request.id, organisation: request.organisation, scope: request.scope)
    }
}

/// What the price of a form follows from that was sent and has not been answered.
struct AgreedPrice: Hashable, Sendable {
    /// Asked for at once.
    let persons: Int
    /// Nil where none was named.
    let priceListVersion: Int?
}

/// Every method may be called again with the same: it changes nothing then.
struct PaymentRepository: Sendable {
    let paymentStore: PaymentStore
    let prices: PriceRepository
    let settings: PaymentSettings
    let clock: @Sendable () -> Timestamp
    /// What was agreed to in time holds.
    private static let always = Duration.seconds(Int64(Int32.max))

    /// What it costs by the list in force, before anybody commits to it (PAY-01).
    func quote(_ db: Database, _ scope: RequestScope, persons: Int = 1) throws -> Quote {
        try prices.quote(db, scope, persons: persons, settings.when)
    }

    /// Whether the price that was shown is still honoured.
    /// - Throws: `price-changed`.
    func check(_ db: Database, _ scope: RequestScope, persons: Int, version: Int?) throws {
        _ = try prices.quote(
            db, scope, persons: persons, settings.when, version: version, honoured: settings.quoteTime, at: clock())
    }

    /// The request was sent and waits for its answer: its price is fixed, and the handler is asked whether the payment is feasible
    /// (PAY-02).
    /// - Parameters:
    ///   - persons: how many were asked for at once, for rebates.
    ///   - priceListVersion: that was agreed to when the request was sent, however long ago; nil takes the list in force.
    /// - Throws: `price-changed` where there never was such a version.
    func opened(
        _ db: Database, _ request: PayableRequest, persons: Int = 1, priceListVersion: Int? = nil
    ) throws {
        guard try paymentStore.table.find(db, of: request.id) == nil else { return }
        let now = clock()
        let quote = try prices.quote(
            db, request.scope, persons: persons, settings.when, version: priceListVersion, honoured: Self.always, at: now)
        try paymentStore.open(db, request, quote, at: now)
    }

    /// As `opened`; where the price that was agreed to is no longer honoured the list in force counts, since the person is asked already.
    func asked(_ db: Database, _ request: PayableRequest, persons: Int, priceListVersion: Int?) throws {
        do {
            try opened(db, request, persons: persons, priceListVersion: priceListVersion)
        } catch is Problem {
            try opened(db, request, persons: persons)
        }
    }

    /// The person has accepted: what is to be paid is due, what costs nothing is paid (PAY-03).
    /// - Parameter forms: of the same organisation that wait for consent's answer: a person may be quicker than that, and the price is
    ///   the one that was agreed to (PAY-01); the lowest, where it cannot be told whose it is.
    /// - Returns: the amount.
    @discardableResult
    func due(_ db: Database, _ request: PayableRequest, agreedIn forms: [AgreedPrice] = []) throws -> Amount {
        let now = clock()
        if try !forms.isEmpty && paymentStore.table.find(db, of: request.id) == nil {
            let agreed = try forms.compactMap { form -> Quote? in
                do {
                    return try prices.quote(
                        db, request.scope, persons: form.persons, settings.when, version: form.priceListVersion, honoured: Self.always,
                        at: now)
                } catch is Problem {
                    return nil
                }
            }
            if let least = agreed.min(by: { $0.perPerson.minor < $1.perPerson.minor }) {
                try paymentStore.open(db, request, least, at: now)
            }
        }
        try opened(db, request)
        return try paymentStore.change(db, of: request.id) { $0.accepted(at: now) }?.amount ?? Amount(minor: 0, currency: "EUR")
    }

    /// The data of a group were released: what they cost is due from now on, what costs nothing is paid (ANO-12).
    func released(_ db: Database, _ group: GroupScope, of organisation: OrganisationID, from: Timestamp, to: Timestamp) throws {
        let scope = RequestScope(types: [], from: from, to: to, granularity: .hours, group: group)
        try due(db, PayableRequest(id: group.request.billed, organisation: organisation, scope: scope))
    }

    /// The request is over; what was paid goes back unless something was delivered.
    func closed(_ db: Database, _ request: RequestID, as outcome: RequestStatus) throws {
        let now = clock()
        try paymentStore.change(db, of: request) { $0.closed(as: outcome, at: now) }
    }

    /// Something of what was paid for has left, so that it does not go back by itself any more.
    func delivered(_ db: Database, _ request: RequestID) throws {
        try paymentStore.table.delivered(db, request, at: clock())
    }

    /// The period is over and there was nothing in it: nothing is owed, and what was paid goes back.
    func undeliverable(_ db: Database, _ request: RequestID) throws {
        let now = clock()
        try paymentStore.change(db, of: request) { $0.undeliverable(at: now) }
    }

    /// As `BillStore.isPaid`.
    func isPaid(_ db: Database, _ request: RequestID) throws -> Bool {
        try paymentStore.table.isPaid(db, request)
    }

    /// What an organisation still owes, one amount for each currency; it stays due when the organisation leaves (ORG-16).
    func outstanding(_ db: Database, _ organisation: OrganisationID) throws -> [Amount] {
        try paymentStore.table.outstanding(db, organisation)
    }

    /// For whoever shows a request; nil where it has no price.
    func bill(_ db: Database, of request: RequestID) throws -> Bill? {
        try paymentStore.table.find(db, of: request)?.bill
    }
}
