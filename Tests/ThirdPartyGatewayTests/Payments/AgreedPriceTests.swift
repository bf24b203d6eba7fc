// The price that was agreed to, where the person is quicker than consent's answer to the form.

import Contracts
import GRDB
import ServiceKit
import Storage
import Testing

@testable import ThirdPartyGateway

@Suite("Agreed prices")
struct AgreedPriceTests {
    @Test("PAY-01: accepted before the form's own answer has come, a request costs what the form agreed to, not what the list says now")
    func quickerThanTheAnswer() async throws {
        try await MatrixHarness.run { harness in
            let organisation = try await harness.organisation(.active, named: "quick", vatNumber: "IT00743110157").id
            let (now, parts) = (Timestamp.now, harness.parts)
            var dearer = PaymentSamples.prices
            dearer.perRequest = 5000
            let (cheap, dear) = (PaymentSamples.prices, dearer)
            let (from, to) = (now - .seconds(86_400), now)
            @Sendable func accepted() -> RequestState {
                RequestState(
                    request: .random(), organisation: organisation, status: .approved, types: [.heartRate], from: from, to: to,
                    granularity: .minutes, grant: .random(), changedAt: now, answerBy: now + .seconds(86_400), receipt: nil)
            }
            @Sendable func amount(_ db: Database) throws -> Int64? {
                let state = accepted()
                try parts.requests.events.take(db, state, person: .random())
                return try parts.payments.repository.bill(db, of: state.request)?.amount.minor
            }
            let batch = RequestBatch(
                id: .random(), organisation: organisation, organisationName: "quick", persons: 1, priceListVersion: 1, createdAt: now)
            try await parts.opened.store.write { db in
                _ = try PriceListStore().add(db, cheap, at: now)
                try PendingRequestStore().add(db, batch)
                try PendingRequestStore().add(db, batch.id, place: 0, question: RequestService.randomQuestion(), form: [1])
                _ = try PriceListStore().add(db, dear, at: now)
                #expect(try amount(db) == 622)
                // Nothing of this organisation waits: the list in force counts.
                try PendingRequestStore().abandon(db, of: organisation, detail: "for the test")
                #expect(try amount(db) == 6112)
            }
        }
    }

    @Test("PAY-09: a subscription that ran out without a single value costs nothing; one that the third party stopped itself stays due")
    func ranOut() async throws {
        try await MatrixHarness.run { harness in
            let organisation = try await harness.organisation(.active, named: "idle", vatNumber: "IT00743110157").id
            let (now, parts) = (Timestamp.now, harness.parts)
            let (repository, to) = (parts.payments.repository, now + .seconds(86_400))
            @Sendable func state(_ request: RequestID, _ grant: GrantID, _ status: RequestStatus, at: Timestamp) -> RequestState {
                RequestState(
                    request: request, organisation: organisation, status: status, types: [.heartRate], from: now, to: to,
                    granularity: .minutes, grant: status == .pending ? nil : grant, changedAt: at, answerBy: to, receipt: nil)
            }
            @Sendable func ended(
                _ db: Database, at: Timestamp, paid: Bool = false, delivered: Bool = false
            ) throws -> PaymentStatus? {
                let (request, grant) = (RequestID.random(), GrantID.random())
                let person = PersonID.random()
                try parts.requests.events.take(db, state(request, grant, .pending, at: now), person: person)
                try parts.requests.events.take(db, state(request, grant, .approved, at: now), person: person)
                if paid, let bill = try repository.bill(db, of: request) {
                    try repository.paymentStore.change(db, bill.payment, at: now) { try $0.transferred(at: now) }
                }
                if delivered { try repository.delivered(db, request) }
                try parts.requests.events.take(db, state(request, grant, .ended, at: at), person: person)
                return try repository.bill(db, of: request)?.status
            }
            try await parts.opened.store.write { db in
                _ = try PriceListStore().add(db, PaymentSamples.prices, at: now)
                let over = to + .seconds(86_400)
                #expect(try ended(db, at: over) == .void)
                #expect(try ended(db, at: over, paid: true) == .refunding)
                #expect(try ended(db, at: over, paid: true, delivered: true) == .paid)
                #expect(try ended(db, at: to - .seconds(1)) == .due, "SHR-25")
                #expect(try ended(db, at: to - .seconds(1), paid: true) == .paid, "SHR-25")
            }
        }
    }
}
