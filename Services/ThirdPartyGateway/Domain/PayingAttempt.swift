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
        /// Called off: it may still have charged before it heard.
        case cancelling
        /// Charged nothing and never will.
        case failed, cancelled
        case succeeded
        case refunding, refunded
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

    /// Whether it may charge, or may have charged without our knowing.
    var isLive: Bool {
        switch state {
        case .opening, .open, .confirming, .cancelling: true
        case .failed, .cancelled, .succeeded, .refunding, .refunded: false
        }
    }
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
enum ProviderWord: Hashable, Sendable {
    case opened(reference: String, step: PayerStep)
    /// The payer has agreed; the handler may now be told to charge.
    case approved
    /// The payer must do something before the charge, such as proving who they are.
    case needsPayer(PayerStep?)
    case succeeded(charge: String?)
    /// Not charged; the same process can be tried again by the payer.
    case declined(reason: String)
    /// The process is over and charged nothing.
    case ended(reason: String)
    case refunded
    /// Still under way at the handler.
    case pending
    /// No answer, or none that says what became of it: the same is asked again.
    case unreachable
}

/// What the service does after a change, in the same transaction where it is a row, afterwards where it is a call.
enum PaymentEffect: Hashable, Sendable {
    case ask(Errand.Kind, attempt: Int)
    /// An invoice is made out, the receipt goes out.
    case paid
    /// Data may leave from now on.
    case release
    /// A credit note is made out.
    case refunded
    case tell(PaymentNotice)
}

/// What the organisation is told by mail.
enum PaymentNotice: Hashable, Sendable {
    case failed(reason: String)
    /// Said before acceptance; the request itself goes on (PAY-02).
    case notFeasible(reason: String)
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
}

/// One call to a payment handler, kept until it has been answered.
struct Errand: Hashable, Sendable {
    enum Kind: String, Codable, Sendable, CaseIterable {
        case open, confirm, cancel, look, refund
    }

    /// The same at every repetition: the handler's idempotency key.
    var key: String
    var kind: Kind
    var payment: PaymentID
    var attempt: Int
    var provider: String
    var method: PaymentMethod
    var amount: Amount
    var reference: String?
    var charge: String?
    /// A handler's own token for the payer's means of payment; never a number of a card.
    var token: String?
}
