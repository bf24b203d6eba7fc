// A request that an organisation has paid, for tests of other subjects.

import Contracts
import GRDB
import ServiceKit
import Storage

@testable import ThirdPartyGateway

/// Accepted, paid by transfer and invoiced.
struct PaidRequest: Sendable {
    let request: RequestID
    let payment: PaymentID
    let invoice: InvoiceNumber

    struct NotPaid: Error {}

    static func make(_ parts: GatewayModule, of organisation: OrganisationID) async throws -> PaidRequest {
        let repository = parts.payments.repository
        let now = Timestamp.now
        let request = PayableRequest(
            id: .random(), organisation: organisation,
            scope: RequestScope(types: [.heartRate], from: now - .seconds(86_400), to: now, granularity: .minutes))
        return try await parts.opened.store.write { db in
            _ = try PriceListStore().add(db, PaymentSamples.prices, at: now)
            try repository.due(db, request)
            guard let bill = try repository.bill(db, of: request.id) else { throw NotPaid() }
            try repository.paymentStore.change(db, bill.payment, at: now) { bill in
                // What was opened at the submission is not the transfer's affair.
                _ = try bill.abandon(at: now)
                return try bill.transferred(at: now)
            }
            guard let invoice = try repository.paymentStore.invoices.find(db, .invoice, of: bill.payment) else { throw NotPaid() }
            return PaidRequest(request: request.id, payment: bill.payment, invoice: invoice.number)
        }
    }
}
