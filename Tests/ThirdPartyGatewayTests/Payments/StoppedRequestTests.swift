// Money of requests that are over, through the whole gateway: what may begin by a payment, and what does not.

import Contracts
import Foundation
import GRDB
import ServiceKit
import Storage
import TestKit
import Testing

@testable import ThirdPartyGateway

@Suite("Payments of requests that are over")
struct StoppedRequestTests {
    private static let types: [Metric] = [.heartRate]

    /// A subscription that its person has accepted and nobody has paid.
    private static func accepted(
        _ parts: GatewayParts, of organisation: OrganisationID
    ) async throws -> (request: RequestState, person: PersonID) {
        let now = Timestamp.now
        let person = PersonID.random()
        var state = RequestState(
            request: .random(), organisation: organisation, status: .pending, types: types, from: now - .seconds(60),
            to: now + .seconds(86_400), granularity: .minutes, grant: nil, changedAt: now, answerBy: now + .seconds(3600), receipt: nil)
        let pending = state
        (state.status, state.grant) = (.approved, .random())
        let approved = state
        _ = try await parts.opened.keys.makeKey(for: person)
        try await parts.opened.store.write { db in
            _ = try PriceListTable().add(db, PaymentSamples.prices, at: now)
            try parts.requests.news.take(db, pending, person: person)
            try parts.requests.news.take(db, approved, person: person)
        }
        return (approved, person)
    }

    private static func change(
        _ parts: GatewayParts, _ request: RequestID, _ event: @escaping @Sendable (inout Bill, Timestamp) throws -> [PaymentEffect]
    ) async throws {
        let (book, now) = (parts.payments.book, Timestamp.now)
        try await parts.opened.store.write { db in
            guard let bill = try book.bill(db, of: request) else { throw PaidRequest.NotPaid() }
            try book.ledger.change(db, bill.payment, at: now) { try event(&$0, now) }
        }
    }

    private static func transferred(_ parts: GatewayParts, _ request: RequestID) async throws {
        try await change(parts, request) { bill, now in
            if bill.live != nil { _ = try bill.abandon(at: now) }
            return try bill.transferred(at: now)
        }
    }

    private static func shown(_ parts: GatewayParts, _ request: RequestID) async throws -> (made: MadeRequest?, feed: Feed?, bill: Bill?) {
        let book = parts.payments.book
        return try await parts.opened.store.read { db in
            (try RequestTable().find(db, request), try FeedTable().find(db, request), try book.bill(db, of: request))
        }
    }

    @Test("SHR-25: what is due for a request that was stopped unpaid can be paid still, and nothing begins by that")
    func stopped() async throws {
        try await MatrixHouse.run { house in
            let organisation = try await house.organisation(.active, named: "stopped", vatNumber: "IT00743110157")
            let (approved, person) = try await Self.accepted(house.parts, of: organisation.id)
            var ended = approved
            ended.status = .ended
            let last = ended
            try await house.parts.opened.store.write { db in try house.parts.requests.news.take(db, last, person: person) }
            try await Self.transferred(house.parts, approved.request)
            let (made, feed, bill) = try await Self.shown(house.parts, approved.request)
            #expect(bill?.status == .paid, "amounts that were due stay due, and can be settled")
            #expect(feed == nil, "no subscription begins")
            #expect(made?.status == .ended && made?.paidAt == nil && made.map(DataAvailability.init) == .closed)
        }
    }

    @Test("ORG-20, PAY-04: a request whose amount went back does not say that a payment is outstanding")
    func givenBack() async throws {
        try await MatrixHouse.run { house in
            let organisation = try await house.organisation(.active, named: "given", vatNumber: "IT00743110157")
            let (approved, _) = try await Self.accepted(house.parts, of: organisation.id)
            #expect(try await Self.shown(house.parts, approved.request).made.map(DataAvailability.init) == .paymentOutstanding)
            try await Self.transferred(house.parts, approved.request)
            #expect(try await Self.shown(house.parts, approved.request).made.map(DataAvailability.init) == .ready)
            try await Self.change(house.parts, approved.request) { try $0.refundOrdered(at: $1) }
            let (made, feed, bill) = try await Self.shown(house.parts, approved.request)
            let request = try #require(made)
            #expect(bill?.status == .refunded && DataAvailability(request) == .givenBack && feed?.ending == .unpaid)
            #expect(throws: DataAccess.Refusal.held(.givenBack)) { try DataAccess.grant(of: request, isPaid: false) }
            let problem = DataAccess.Refusal.held(.givenBack).problem
            #expect(problem.type == Problem.prefix + "not-entitled" && problem.detail?.contains("went back") == true)
        }
    }

    @Test("PAY-04: a subscription rests while its payment is contested, and goes on with what came meanwhile once that is decided")
    func contested() async throws {
        try await MatrixHouse.run { house in
            let organisation = try await house.organisation(.active, named: "contested", vatNumber: "IT00743110157")
            let (approved, person) = try await Self.accepted(house.parts, of: organisation.id)
            try await Self.transferred(house.parts, approved.request)
            #expect(try await Self.shown(house.parts, approved.request).feed?.state == .running)
            try await Self.change(house.parts, approved.request) { bill, now in
                bill.heard(.stands(.disputed(reason: "fraudulent")), of: bill.attempts.count, at: now)
            }
            let contested = try await Self.shown(house.parts, approved.request)
            #expect(contested.bill?.status == .disputed && contested.feed?.state == .held)
            #expect(contested.made.map(DataAvailability.init) == .paymentContested)
            #expect(DataAccess.Refusal.held(.contested).problem.type == Problem.prefix + "payment-outstanding")
            try await Self.change(house.parts, approved.request) { bill, now in bill.heard(.stands(.kept), of: bill.attempts.count, at: now)
            }
            let decided = try await Self.shown(house.parts, approved.request)
            #expect(decided.feed?.state == .running && decided.made.map(DataAvailability.init) == .ready)
            // Withdrawn while it rests: a decision for us does not bring it back.
            try await Self.change(house.parts, approved.request) { bill, now in
                bill.heard(.stands(.disputed(reason: "fraudulent")), of: bill.attempts.count, at: now)
            }
            var revoked = approved
            revoked.status = .revoked
            let last = revoked
            try await house.parts.opened.store.write { db in try house.parts.requests.news.take(db, last, person: person) }
            try await Self.change(house.parts, approved.request) { bill, now in bill.heard(.stands(.kept), of: bill.attempts.count, at: now)
            }
            #expect(try await Self.shown(house.parts, approved.request).feed?.state == .over)
        }
    }

    @Test("SHR-S: an answer that overtakes an older fact is not undone by it, and nobody is told twice")
    func overtaken() async throws {
        try await MatrixHouse.run { house in
            let organisation = try await house.organisation(.active, named: "overtaken", vatNumber: "IT00743110157")
            let (approved, person) = try await Self.accepted(house.parts, of: organisation.id)
            var ended = approved
            ended.status = .ended
            let last = ended
            for state in [last, approved, last] {
                try await house.parts.opened.store.write { db in try house.parts.requests.news.take(db, state, person: person) }
                #expect(try await Self.shown(house.parts, approved.request).made?.status == .ended)
            }
        }
    }
}
