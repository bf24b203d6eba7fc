// One way of paying that was tried, and what the payment handler says of it.

import Contracts

struct PayingAttempt: Hashable, Codable, Sendable {
    enum State: String, Codable, Sendable, CaseIterable {
        /// The handler was asked to open a process; nothing is charged by that.
        case opening
        /// The payer can act.
        case open
        /// The handler was told to charge: it may have.
        case confirming
        /// Called off: it may still have charged before it received that.
        case cancelling
        /// Charged nothing and never will.
        case failed, cancelled
        case succeeded
        case refunding, refunded
        /// It should go back, and the handler refuses for good or has lost it on its way: the operator sends it back by hand.
        case refundRefused = "refund-refused"
        /// The payer's bank contests it and has not decided yet.
        case disputed
        /// The payer's bank has decided against us: the payer has the money back.
        case chargedBack = "charged-back"
    }

    /// Since when a state holds.
    struct Mark: Hashable, Codable, Sendable {
        var state: State
        var at: Timestamp
        var reason: String?
    }

    /// From 1 within its payment.
    let number: Int
    let method: PaymentMethod
    /// The adapter's name: `stripe`, `paypal`, `bank-transfer`, `sandbox`.
    let provider: String
    var state: State
    /// The handler's own name of the process.
    var reference: String?
    /// The handler's own name of the money, where that is another one.
    var charge: String?
    /// Why it failed, a short kebab-case word for programs.
    var reason: String?
    /// What the payer does next.
    var step: PayerStep?
    let openedAt: Timestamp
    /// What the handler took, where that is not what was asked for.
    var taken: Amount?
    /// The money is not ours to keep, whatever a bank decides first.
    var isToGoBack: Bool?
    /// The operator has sent it back past the handler.
    var isSentByHand: Bool?
    /// Its states, the oldest first; absent where it was begun before they were kept.
    var marks: [Mark]?

    /// Of one attempt; a payer who tries again and again leaves no more.
    static let mostMarks = 50
    /// The handler's amount or currency is another than was asked for.
    static let amountDiffers = "amount-differs"

    /// Whether it may charge, or may have charged without our knowing.
    var isLive: Bool {
        switch state {
        case .opening, .open, .confirming, .cancelling: true
        case .failed, .cancelled, .succeeded, .refunding, .refunded, .refundRefused, .disputed, .chargedBack: false
        }
    }

    /// Takes what the handler says of money that it has taken, in any order and any number of times.
    /// - Returns: whether it is something new.
    mutating func judged(_ standing: MoneyStatus) -> Bool {
        guard let next = next(standing) else { return false }
        state = next
        switch standing {
        case .kept: reason = nil
        case .refunded: break
        case .refundRefused(let why), .disputed(let why): reason = why
        case .lost: reason = "dispute-lost"
        }
        return true
    }

    private func next(_ standing: MoneyStatus) -> State? {
        switch (standing, state) {
        case (.kept, .disputed), (.kept, .chargedBack): .succeeded
        case (.refunded, .succeeded), (.refunded, .refunding), (.refunded, .refundRefused), (.refunded, .disputed): .refunded
        case (.refundRefused, .refunding): .refundRefused
        // It looked as if it had arrived. What the operator has sent by hand is not sent again.
        case (.refundRefused, .refunded): isSentByHand == true ? nil : .refundRefused
        case (.disputed, .succeeded), (.disputed, .refunding), (.disputed, .refundRefused): .disputed
        case (.lost, .succeeded), (.lost, .refunding), (.lost, .refundRefused), (.lost, .disputed): .chargedBack
        default: nil
        }
    }

    mutating func marked(since before: PayingAttempt?, at now: Timestamp) {
        guard before?.state != state else { return }
        marks = (marks ?? []).suffix(Self.mostMarks - 1) + [Mark(state: state, at: now, reason: reason)]
    }
}

/// Where money stands that a handler has taken, whatever was asked or told before.
enum MoneyStatus: Hashable, Sendable {
    /// With us; a dispute, if there was one, was decided for us.
    case kept
    case refunded
    /// It will not go back this way.
    case refundRefused(reason: String)
    case disputed(reason: String)
    /// The payer's bank has taken it back.
    case lost
}

/// What the payer needs to pay. Not personal, but for the payer alone.
struct PayerStep: Hashable, Codable, Sendable {
    /// For the handler's own form in the payer's browser.
    var clientSecret: String?
    var publishableKey: String?
    /// Where the payer's browser goes to agree.
    var redirect: String?
    var accountHolder: String?
    var iban: String?
    /// To be written into the transfer.
    var transferReference: String?
}

/// What a handler said, or that nobody knows.
enum ProviderStatus: Hashable, Sendable {
    /// - Parameter amount: what it is about, where the handler says so; it has to be what was asked for.
    case opened(reference: String, step: PayerStep, amount: Amount? = nil)
    /// The payer has agreed; the handler may now be told to charge.
    case approved
    /// The payer must do something before the charge, such as proving who they are.
    case needsPayer(PayerStep?)
    /// - Parameter amount: what was taken; nil where it is our own word.
    case succeeded(charge: String?, amount: Amount? = nil)
    /// Not charged; the same process can be tried again by the payer.
    case declined(reason: String)
    /// The process is over and charged nothing.
    case ended(reason: String)
    case refunded
    /// Of money that was taken before.
    case stands(MoneyStatus)
    /// Still under way at the handler.
    case pending
    /// No answer, or none that says what became of it: the same is asked again.
    case unreachable
}

/// What the service does after a change, in the same transaction where it is a row, afterwards where it is a call.
enum PaymentEffect: Hashable, Sendable {
    case ask(PaymentJob.Kind, attempt: Int)
    /// An invoice is made out, the receipt goes out.
    case paid
    /// Data may leave from now on.
    case release
    /// A credit note is made out.
    case refunded
    case notify(PaymentNotice)
}

/// What the organisation is told by mail.
enum PaymentNotice: Hashable, Sendable {
    case failed(reason: String)
    /// Said before acceptance; the request itself goes on (PAY-02).
    case notFeasible(reason: String)
    /// The payer's bank contests what was paid: nothing leaves until it has decided.
    case disputed
    /// It has decided for the payer after something had left: the amount is due again.
    case chargedBack
}

/// Why something that was asked for is not done.
enum PaymentRefusal: Error, Hashable, Sendable {
    case notDueYet
    case alreadyPaid
    /// Given back, or never to be paid.
    case isOver
    /// Another way of paying may be charging at this moment.
    case underWay
    case nothingWasPaid
    /// The payer's bank decides where the money goes.
    case contested
    case nothingToSendBack
}

/// One call to a payment handler, kept until it has been answered.
struct PaymentJob: Hashable, Sendable {
    enum Kind: String, Codable, Sendable, CaseIterable {
        case open, confirm, cancel, look, refund
        /// Where the money stands that was taken: given back, contested, ours.
        case review
    }

    /// The same at every repetition: the handler's idempotency key.
    var key: String
    var kind: Kind
    var payment: PaymentID
    var attempt: Int
    var provider: String
    var method: PaymentMethod
    /// Of a refund: what was taken.
    var amount: Amount
    var reference: String?
    var charge: String?
    /// A handler's own token for the payer's means of payment; never a number of a card.
    var token: String?
}

/// What a handler knows of a payment that this store may have forgotten.
enum ForgottenPayment: Hashable, Sendable {
    case unknown
    /// It has the money.
    case paid(reference: String, amount: Amount?)
    case unreachable
}
