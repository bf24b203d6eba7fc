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
    /// To go back, and the handler refuses for good, or has lost it on its way: the operator sends it back by hand.
    case refundRefused = "refund-refused"
    /// The payer's bank contests the charge and has not decided yet; no data leave meanwhile.
    case disputed
    /// Declined, expired, refused or abandoned: never to be paid (PAY-09).
    case void
}

/// What of a payment waits for the operator, or should be known to one.
package enum PaymentAttention: String, Codable, Sendable, CaseIterable {
    /// Send it back by hand, or look at the handler's pages why it refuses, and order the refund again.
    case refundRefused = "refund-refused"
    /// Answer the dispute at the handler's pages; what comes of it is heard from there.
    case disputed
    /// A dispute was lost after something had been delivered: the amount is due again.
    case chargedBack = "charged-back"
    /// The handler took, or would have taken, another amount than was asked for; it goes back.
    case amountDiffers = "amount-differs"
    /// A transfer that was not owed, or not any more: send it back.
    case sendBack = "send-back"
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
    /// Absent where nothing waits for the operator.
    package var attention: PaymentAttention?
    /// Why, in the handler's word.
    package var reason: String?
    /// Of a group request, whose bits `request` has then too; absent for a request for one person's data.
    package var group: GroupRequestID?

    package init(
        payment: PaymentID, request: RequestID, organisation: OrganisationID, status: PaymentStatus, amount: Amount,
        method: PaymentMethod?, reference: String, invoice: String?, changedAt: Timestamp, attention: PaymentAttention? = nil,
        reason: String? = nil, group: GroupRequestID? = nil
    ) {
        (self.payment, self.request, self.organisation, self.status) = (payment, request, organisation, status)
        (self.amount, self.method, self.reference, self.invoice) = (amount, method, reference, invoice)
        (self.changedAt, self.attention, self.reason, self.group) = (changedAt, attention, reason, group)
    }
}

/// Payments of everybody, the newest first; at most 100.
package struct ListPayments: BusRequest {
    package static let method = "list-payments"
    package static let owner = Peer.thirdPartyGateway
    package static let clients: Set<Peer> = [.trackme]
    package static let mutates = false
    /// Of one answer.
    package static let most = 100

    /// Only those; all without it.
    package var status: PaymentStatus?
    /// Only its own; everybody's without it.
    package var organisation: OrganisationID?
    /// The `next` of the answer before.
    package var after: String?
    /// Only those that wait for the operator.
    package var needsAttention: Bool?

    package init(
        status: PaymentStatus? = nil, organisation: OrganisationID? = nil, after: String? = nil, needsAttention: Bool? = nil
    ) {
        (self.status, self.organisation, self.after) = (status, organisation, after)
        self.needsAttention = needsAttention
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
    package static let clients: Set<Peer> = [.trackme]
    package static let mutates = true
    package typealias Reply = PaymentEntry

    /// `not-found` for one that never was.
    package var payment: PaymentID

    package init(payment: PaymentID) {
        self.payment = payment
    }
}

/// Gives the whole amount back; of a bank transfer it says that the operator has sent it back. Where the handler refused before, it is
/// asked once more. `conflict` where nothing was paid, and while the payer's bank contests it.
package struct RefundPayment: BusRequest {
    package static let method = "refund-payment"
    package static let owner = Peer.thirdPartyGateway
    package static let clients: Set<Peer> = [.trackme]
    package static let mutates = true
    package typealias Reply = PaymentEntry

    /// `not-found` for one that never was.
    package var payment: PaymentID
    /// What waits to be sent back by hand was sent back by hand; `conflict` where nothing does.
    package var byHand: Bool?

    package init(payment: PaymentID, byHand: Bool? = nil) {
        (self.payment, self.byHand) = (payment, byHand)
    }
}
