// Every question about prices and payments as it stands in its golden file.

import Contracts
import Foundation
import Testing

@Suite("Golden messages of payments")
struct PaymentGoldenTests {
    @Test("Prices: the list in force, and another one")
    func prices() throws {
        _ = try Golden.roundTrip(RequestEnvelope<ReadPrices>.self, "read-prices.v1.json")
        let reply = try Golden.roundTrip(ReplyEnvelope<ReadPrices.Reply>.self, "read-prices.reply.v1.json")
        #expect(reply.ok?.prices.types["position"]?.seconds == 40)
        let asked = try Golden.roundTrip(RequestEnvelope<SetPrices>.self, "set-prices.v1.json")
        #expect(asked.body.prices.faults.isEmpty && asked.body.prices.groups == nil)
        let groups = try Golden.roundTrip(RequestEnvelope<SetPrices>.self, "set-prices.groups.v1.json")
        #expect(groups.body.prices.groups == .init(perRequest: 5000, perThousandEntries: 100))
    }

    @Test("Payments: the list, a transfer that has come in, a refund")
    func payments() throws {
        #expect(try Golden.roundTrip(RequestEnvelope<ListPayments>.self, "list-payments.v1.json").body.status == .due)
        let page = try Golden.roundTrip(ReplyEnvelope<ListPayments.Reply>.self, "list-payments.reply.v1.json")
        #expect(page.ok?.payments.first?.amount.text == "6.22 EUR")
        _ = try Golden.roundTrip(RequestEnvelope<MarkPaid>.self, "mark-paid.v1.json")
        #expect(try Golden.roundTrip(ReplyEnvelope<PaymentEntry>.self, "mark-paid.reply.v1.json").ok?.method == .bankTransfer)
        _ = try Golden.roundTrip(RequestEnvelope<RefundPayment>.self, "refund-payment.v1.json")
    }

    @Test("Payments that wait for the operator, and what was sent back by hand")
    func attention() throws {
        #expect(try Golden.roundTrip(RequestEnvelope<ListPayments>.self, "list-payments.attention.v1.json").body.needsAttention == true)
        let page = try Golden.roundTrip(ReplyEnvelope<ListPayments.Reply>.self, "list-payments.attention.reply.v1.json")
        #expect(page.ok?.payments.map(\.attention) == [.refundRefused, .disputed])
        #expect(try Golden.roundTrip(RequestEnvelope<RefundPayment>.self, "refund-payment.by-hand.v1.json").body.byHand == true)
    }
}
