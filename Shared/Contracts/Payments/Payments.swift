// What an operator asks the gateway about payments: who owes what, which transfer has come in, what is given back.

/// Where a payment stands.
package enum PaymentStatus: String, Codable, Sendable, CaseIterable {
    /// The request waits for its answer: nothing is owed.
    case notDue = "not-due"
    /// To be paid; no data leave before.
    case due
    case paid
    /// The money is on its way back.
    case refunding
    case refunded
    /// Declined, expired, refused or abandoned: never to be paid (PAY-09).
    case void
}

/// One payment as the operator sees it; nothing of it names a person whose data were asked for.
package struct PaymentEntry: Hashable, Codable, Sendable {
    package var payment: PaymentID
    package var request: RequestID
    package var organisation: OrganisationID
    package var status: PaymentStatus
    /// With tax.
    package var amount: Amount
    /// The one that paid, else the one tried last; absent where none was begun.
    package var method: PaymentMethod?
    /// What the payer writes into the bank transfer.
    package var reference: String
    /// Its number; absent until there is one.
    package var invoice: String?
    /// When anything of it last changed.
    package var changedAt: Timestamp

    package init(
        payment: PaymentID, request: RequestID, organisation: OrganisationID, status: PaymentStatus, amount: Amount,
        method: PaymentMethod?, reference: String, invoice: String?, changedAt: Timestamp
    ) {
        (self.payment, self.request, self.organisation, self.status) = (payment, request, organisation, status)
        (self.amount, self.method, self.reference, self.invoice) = (amount, method, reference, invoice)
        self.changedAt = changedAt
    }
}

/// Payments of everybody, the newest first; at most 100.
package struct ListPayments: BusRequest {
    package static let method = "list-payments"
    package static let owner = Peer.thirdPartyGateway
    package static let askers: Set<Peer> = [.trackme]
    package static let mutates = false
    /// Of one answer.
    package static let most = 100

    /// Only those; all without it.
    package var status: PaymentStatus?
    /// Only its own; everybody's without it.
    package var organisation: OrganisationID?
    /// The `next` of the answer before.
    package var after: String?

    package init(status: PaymentStatus? = nil, organisation: OrganisationID? = nil, after: String? = nil) {
        (self.status, self.organisation, self.after) = (status, organisation, after)
    }

    package struct Reply: Codable, Sendable {
        package var payments: [PaymentEntry]
        /// Absent at the end.
        package var next: String?

        package init(payments: [PaymentEntry], next: String?) {
            (self.payments, self.next) = (payments, next)
        }
    }
}

/// The bank transfer of what is due has come in. Asking again is the same as once; `conflict` where nothing is due or another way of
/// paying is under way, which is then called off: ask again.
package struct MarkPaid: BusRequest {
    package static let method = "mark-paid"
    package static let owner = Peer.thirdPartyGateway
    package static let askers: Set<Peer> = [.trackme]
    package static let mutates = true
    package typealias Reply = PaymentEntry

    /// `not-found` for one that never was.
    package var payment: PaymentID

    package init(payment: PaymentID) {
        self.payment = payment
    }
}

/// Gives the whole amount back; of a bank transfer it says that the operator has sent it back. `conflict` where nothing was paid.
package struct RefundPayment: BusRequest {
    package static let method = "refund-payment"
    package static let owner = Peer.thirdPartyGateway
    package static let askers: Set<Peer> = [.trackme]
    package static let mutates = true
    package typealias Reply = PaymentEntry

    /// `not-found` for one that never was.
    package var payment: PaymentID

    package init(payment: PaymentID) {
        self.payment = payment
    }
}
