// What the operator asks about money, over the real bus.

import Bus
import Contracts
import Foundation
import ServiceKit
import TestKit
import Testing

@testable import ThirdPartyGateway

@Suite("The operator and money")
struct PaymentQuestionTests {
    private static func play(_ body: (PaymentHarness, BusClient) async throws -> Void) async throws {
        try await PaymentHarness.play { harness in
            var methods = Methods(memory: harness.answers)
            harness.parts.register(in: &methods)
            try await harness.runtime.answer(methods)
            let trackme = try harness.runtime(of: .trackme)
            do {
                try await body(harness, trackme.client(of: .thirdPartyGateway))
            } catch {
                await trackme.bus.shutdown()
                throw error
            }
            await trackme.bus.shutdown()
        }
    }

    @Test("PAY-01: a price list is set whole or not at all; the same one again is the same version")
    func prices() async throws {
        try await Self.play { _, trackme in
            #expect(try await trackme.ask(ReadPrices(), deadline: .seconds(20)).version == 0)
            #expect(try await trackme.ask(SetPrices(prices: PaymentSamples.prices), deadline: .seconds(20)).version == 1)
            #expect(try await trackme.ask(SetPrices(prices: PaymentSamples.prices), deadline: .seconds(20)).version == 1)
            var wrong = PaymentSamples.prices
            wrong.currency = "?"
            #expect(await failure { _ = try await trackme.ask(SetPrices(prices: wrong), deadline: .seconds(20)) }?.code == .invalid)
            let current = try await trackme.ask(ReadPrices(), deadline: .seconds(20))
            #expect(current.version == 1 && current.prices == PaymentSamples.prices)
        }
    }

    @Test("PAY-06: a transfer that has come in is marked by the operator, once; what is given back is said once")
    func transfers() async throws {
        try await Self.play { harness, trackme in
            try await harness.setPrices()
            let request = try await harness.request()
            let payment = try await harness.bill(request).payment
            #expect(await failure { _ = try await trackme.ask(MarkPaid(payment: payment), deadline: .seconds(20)) }?.code == .conflict)
            #expect(await failure { _ = try await trackme.ask(MarkPaid(payment: .random()), deadline: .seconds(20)) }?.code == .notFound)
            try await harness.accept(request)
            // The card's process of the submission is called off first.
            #expect(await failure { _ = try await trackme.ask(MarkPaid(payment: payment), deadline: .seconds(20)) }?.code == .conflict)
            let paid = try await trackme.ask(MarkPaid(payment: payment), deadline: .seconds(20))
            #expect(paid.status == .paid && paid.method == .bankTransfer && paid.invoice == "2026-000001")
            #expect(try await trackme.ask(MarkPaid(payment: payment), deadline: .seconds(20)).status == .paid)
            let list = try await trackme.ask(ListPayments(status: .paid), deadline: .seconds(20))
            #expect(list.payments.map(\.payment) == [payment] && list.next == nil)
            #expect(list.payments[0].reference == BankTransfer.reference(payment))
            #expect(try await trackme.ask(ListPayments(organisation: .random()), deadline: .seconds(20)).payments.isEmpty)
            #expect(await failure { _ = try await trackme.ask(ListPayments(after: "x"), deadline: .seconds(20)) }?.code == .invalid)
            for _ in 0..<2 {
                #expect(try await trackme.ask(RefundPayment(payment: payment), deadline: .seconds(20)).status == .refunded)
            }
            #expect(try await harness.isPaid(request) == false)
            #expect(try await harness.invoices().map(\.kind) == [.creditNote, .invoice])
            #expect(harness.card.charges == 0)
        }
    }
}
