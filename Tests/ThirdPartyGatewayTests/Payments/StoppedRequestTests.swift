// Money of requests that are over, through the whole gateway: what may begin by a payment, and what does not.

import Contracts
import Foundation
import GRDB
import ServiceKit
import Storage
import TestKit
import Testing

@testable import ThirdPartyGateway

/// A subscription that its person has accepted and nobody has paid, in a gateway of its own.
private struct AcceptedSubscription: Sendable {
    let parts: GatewayModule
    let person: PersonID
    let accepted: RequestState

    private init(_ parts: GatewayModule, of organisation: OrganisationID) async throws {
        let (now, person) = (Timestamp.now, PersonID.random())
        let pending = RequestState(
            request: .random(), organisation: organisation, status: .pending, types: [.heartRate], from: now - .seconds(60),
            to: now + .seconds(86_400), granularity: .minutes, grant: nil, changedAt: now, answerBy: now + .seconds(3600), receipt: nil)
        var accepted = pending
        (accepted.status, accepted.grant) = (.approved, .random())
        (self.parts, self.person, self.accepted) = (parts, person, accepted)
        _ = try await parts.opened.keys.makeKey(for: person)
        try await parts.opened.store.write { db in _ = try PriceListStore().add(db, PaymentSamples.prices, at: now) }
        for state in [pending, accepted] { try await hear(state) }
    }

    static func run(_ body: (AcceptedSubscription) async throws -> Void) async throws {
        try await MatrixHarness.run { harness in
            let organisation = try await harness.organisation(.active, named: "clinic", vatNumber: "IT00743110157")
            try await body(AcceptedSubscription(harness.parts, of: organisation.id))
        }
    }

    /// Consent tells it.
    private func hear(_ state: RequestState) async throws {
        try await parts.opened.store.write { [parts, person] db in try parts.requests.events.take(db, state, person: person) }
    }

    /// Consent tells that the request is in this state now, and else as it was accepted.
    func becomes(_ status: RequestStatus) async throws {
        var state = accepted
        state.status = status
        try await hear(state)
    }

    func change(_ event: @escaping @Sendable (inout Bill, Timestamp) throws -> [PaymentEffect]) async throws {
        let (repository, request, now) = (parts.payments.repository, accepted.request, Timestamp.now)
        try await parts.opened.store.write { db in
            guard let bill = try repository.bill(db, of: request) else { throw PaidRequest.NotPaid() }
            try repository.paymentStore.change(db, bill.payment, at: now) { try event(&$0, now) }
        }
    }

    func payByTransfer() async throws {
        try await change { bill, now in
            if bill.live != nil { _ = try bill.abandon(at: now) }
            return try bill.transferred(at: now)
        }
    }

    /// The handler's word about the latest attempt to pay.
    func paymentStands(_ standing: MoneyStatus) async throws {
        try await change { bill, now in bill.receive(.stands(standing), of: bill.attempts.count, at: now) }
    }

    func shown() async throws -> (made: MadeRequest?, feed: Feed?, bill: Bill?) {
        let (repository, request) = (parts.payments.repository, accepted.request)
        return try await parts.opened.store.read { db in
            (try RequestStore().find(db, request), try FeedStore().find(db, request), try repository.bill(db, of: request))
        }
    }

    var availability: DataAvailability? {
        get async throws { try await shown().made.map(DataAvailability.init) }
    }
}

@Suite("Payments of requests that are over")
struct StoppedRequestTests {
    @Test("SHR-25: what is due for a request that was stopped unpaid can be paid still, and nothing begins by that")
    func stopped() async throws {
        try await AcceptedSubscription.run { subscription in
            try await subscription.becomes(.ended)
            try await subscription.payByTransfer()
            let (made, feed, bill) = try await subscription.shown()
            #expect(bill?.status == .paid, "amounts that were due stay due, and can be settled")
            #expect(feed == nil, "no subscription begins")
            #expect(made?.status == .ended && made?.paidAt == nil && made.map(DataAvailability.init) == .closed)
        }
    }

    @Test("ORG-20, PAY-04: a request whose amount went back does not say that a payment is outstanding")
    func givenBack() async throws {
        try await AcceptedSubscription.run { subscription in
            #expect(try await subscription.availability == .paymentOutstanding)
            try await subscription.payByTransfer()
            #expect(try await subscription.availability == .ready)
            try await subscription.change { try $0.refundOrdered(at: $1) }
            let (made, feed, bill) = try await subscription.shown()
            let request = try #require(made)
            #expect(bill?.status == .refunded && DataAvailability(request) == .givenBack && feed?.ending == .unpaid)
            #expect(throws: DataAccess.Refusal.held(.givenBack)) { try DataAccess.grant(of: request, isPaid: false) }
            let problem = DataAccess.Refusal.held(.givenBack).problem
            #expect(problem.type == Problem.prefix + "not-entitled" && problem.detail?.contains("went back") == true)
        }
    }

    @Test("PAY-04: a subscription rests while its payment is contested, and goes on with what came meanwhile once that is decided")
    func contested() async throws {
        try await AcceptedSubscription.run { subscription in
            try await subscription.payByTransfer()
            #expect(try await subscription.shown().feed?.state == .running)
            try await subscription.paymentStands(.disputed(reason: "fraudulent"))
            let contested = try await subscription.shown()
            #expect(contested.bill?.status == .disputed && contested.feed?.state == .held)
            #expect(contested.made.map(DataAvailability.init) == .paymentContested)
            #expect(DataAccess.Refusal.held(.contested).problem.type == Problem.prefix + "payment-outstanding")
            try await subscription.paymentStands(.kept)
            let decided = try await subscription.shown()
            #expect(decided.feed?.state == .running && decided.made.map(DataAvailability.init) == .ready)
            // Withdrawn while it rests: a decision for us does not bring it back.
            try await subscription.paymentStands(.disputed(reason: "fraudulent"))
            try await subscription.becomes(.revoked)
            try await subscription.paymentStands(.kept)
            #expect(try await subscription.shown().feed?.state == .over)
        }
    }

    @Test("SHR-S: an answer that overtakes an older fact is not undone by it, and nobody is told twice")
    func overtaken() async throws {
        try await AcceptedSubscription.run { subscription in
            for status in [RequestStatus.ended, .approved, .ended] {
                try await subscription.becomes(status)
                #expect(try await subscription.shown().made?.status == .ended)
            }
        }
    }
}
