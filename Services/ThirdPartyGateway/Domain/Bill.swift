// What one request costs and how it comes to be paid: a machine that charges each amount at most once (PAY-09).

import Contracts

/// Pure: events come as calls with their time, what is to be done comes back. Several handlers never hold a process of one bill that
/// may charge: another attempt begins only when the one before has charged nothing and never will. Money that comes in all the same
/// goes back.
struct Bill: Hashable, Sendable {
    let payment: PaymentID
    let request: RequestID
    let organisation: OrganisationID
    let amount: Amount
    let priceListVersion: Int
    private(set) var status: PaymentStatus
    /// The person has accepted.
    private(set) var isAccepted: Bool
    /// Something of what is paid for has left.
    private(set) var isDelivered: Bool
    /// Nil: the handler has not said yet. What it says is about the attempt that was opened at submission.
    private(set) var isFeasible: Bool?
    private(set) var attempts: [PayingAttempt]
    private(set) var changedAt: Timestamp

    init(
        payment: PaymentID, request: RequestID, organisation: OrganisationID, amount: Amount, priceListVersion: Int, at now: Timestamp
    ) {
        (self.payment, self.request, self.organisation, self.amount) = (payment, request, organisation, amount)
        (self.priceListVersion, status, isAccepted, isDelivered) = (priceListVersion, .notDue, false, false)
        (isFeasible, attempts, changedAt) = (nil, [], now)
    }

    /// As it was stored.
    init(
        payment: PaymentID, request: RequestID, organisation: OrganisationID, amount: Amount, priceListVersion: Int, status: PaymentStatus,
        isAccepted: Bool, isDelivered: Bool, isFeasible: Bool?, attempts: [PayingAttempt], changedAt: Timestamp
    ) {
        (self.payment, self.request, self.organisation, self.amount) = (payment, request, organisation, amount)
        (self.priceListVersion, self.status, self.isAccepted, self.isDelivered) = (priceListVersion, status, isAccepted, isDelivered)
        (self.isFeasible, self.attempts, self.changedAt) = (isFeasible, attempts, changedAt)
    }

    var live: PayingAttempt? { attempts.last { $0.isLive } }
    /// The attempt whose money is kept.
    var paying: PayingAttempt? { attempts.first { $0.state == .succeeded } }

    // MARK: The request's life

    /// The request was sent: a process is opened with the handler, which shows whether the payment is feasible; nothing is charged
    /// yet (PAY-02).
    mutating func submitted(paidBy method: PaymentMethod, through provider: String, at now: Timestamp) -> [PaymentEffect] {
        guard status == .notDue, attempts.isEmpty, !amount.isNothing else { return [] }
        return begin(method, provider, now)
    }

    /// To be paid now: at submission where the operator wants it so (`pay.when`), else with `accepted`.
    mutating func becameDue(at now: Timestamp) -> [PaymentEffect] {
        guard status == .notDue, !amount.isNothing else { return [] }
        changedAt = now
        status = .due
        return paying == nil ? [] : settle()
    }

    /// The person has accepted (PAY-03). What costs nothing is paid at once.
    mutating func accepted(at now: Timestamp) -> [PaymentEffect] {
        guard !isAccepted, status != .void, status != .refunding, status != .refunded else { return [] }
        isAccepted = true
        changedAt = now
        switch status {
        case .paid: return [.release]
        case .due: return []
        default: break
        }
        guard amount.isNothing else { return becameDue(at: now) }
        status = .paid
        return [.release]
    }

    /// The request is over. What was declined or expired costs nothing; what was withdrawn before anything left costs nothing
    /// either; what the third party itself has ended stays due (SHR-25).
    mutating func closed(as outcome: RequestStatus, at now: Timestamp) -> [PaymentEffect] {
        switch outcome {
        case .pending, .approved: return []
        case .declined, .expired: return drop(now)
        case .revoked: return isDelivered ? [] : drop(now)
        case .ended: return isAccepted ? [] : drop(now)
        }
    }

    /// The period is over and there was nothing to deliver.
    mutating func undeliverable(at now: Timestamp) -> [PaymentEffect] {
        isDelivered ? [] : drop(now)
    }

    /// The first entry leaves. Amounts of 0 as well.
    mutating func delivered(at now: Timestamp) {
        guard !isDelivered else { return }
        isDelivered = true
        changedAt = now
    }

    // MARK: Paying

    enum Start: Hashable, Sendable {
        /// The attempt that the payer goes on with, and what is to be done first.
        case attempt(Int, [PaymentEffect])
        /// The attempt before is being called off; ask again when its answer is there.
        case wait([PaymentEffect])
    }

    /// The payer chooses a way. The same way again is the same attempt.
    mutating func start(
        _ method: PaymentMethod, through provider: String, at now: Timestamp
    ) throws(PaymentRefusal) -> Start {
        try requireDue()
        if let live {
            if live.method == method, live.provider == provider, live.state != .cancelling {
                return .attempt(live.number, [])
            }
            switch live.state {
            case .confirming: throw .underWay
            case .cancelling: return .wait([])
            default:
                let effects = cancel(live.number, reason: nil, now)
                guard self.live == nil else { return .wait(effects) }
            }
        }
        let effects = begin(method, provider, now)
        return .attempt(attempts.count, effects)
    }

    /// The payer has agreed: the handler is told to charge. Nothing happens while it was told already.
    mutating func confirm(_ number: Int, at now: Timestamp) throws(PaymentRefusal) -> [PaymentEffect] {
        try requireDue()
        guard let index = index(of: number), attempts[index].state == .open else { return [] }
        attempts[index].state = .confirming
        attempts[index].reason = nil
        changedAt = now
        return [.ask(.confirm, attempt: number)]
    }

    /// The payer gives the attempt up; it may turn out to have charged.
    mutating func abandon(at now: Timestamp) throws(PaymentRefusal) -> [PaymentEffect] {
        try requireDue()
        guard let live, live.state != .cancelling else { return [] }
        guard live.state != .confirming else { throw .underWay }
        return cancel(live.number, reason: nil, now)
    }

    /// A bank transfer has come in, by the operator's word.
    mutating func transferred(at now: Timestamp) throws(PaymentRefusal) -> [PaymentEffect] {
        if status == .paid, paying?.method == .bankTransfer { return [] }
        try requireDue()
        if let live {
            guard live.method == .bankTransfer else { throw .underWay }
            return heard(.succeeded(charge: nil), of: live.number, at: now)
        }
        attempts.append(
            PayingAttempt(
                number: attempts.count + 1, method: .bankTransfer, provider: BankTransfer.name, state: .confirming, openedAt: now))
        return heard(.succeeded(charge: nil), of: attempts.count, at: now)
    }

    /// The operator gives the amount back, or says of a bank transfer that it was sent back.
    mutating func refundOrdered(at now: Timestamp) throws(PaymentRefusal) -> [PaymentEffect] {
        switch status {
        case .refunded: return []
        case .refunding:
            guard let back = attempts.first(where: { $0.state == .refunding && $0.method == .bankTransfer }) else { return [] }
            return heard(.refunded, of: back.number, at: now)
        case .paid:
            guard let paying else { throw .nothingWasPaid }
            let effects = giveBack(paying.number, now)
            status = .refunding
            guard paying.method == .bankTransfer else { return effects }
            return heard(.refunded, of: paying.number, at: now)
        case .notDue, .due, .void: throw .nothingWasPaid
        }
    }

    // MARK: What handlers say

    /// Takes a handler's word about an attempt: an answer, a notification, or what a look showed; in any order and any number of
    /// times.
    mutating func heard(_ word: ProviderWord, of number: Int, at now: Timestamp) -> [PaymentEffect] {
        guard let index = index(of: number) else { return [] }
        let before = self
        let effects: [PaymentEffect]
        switch word {
        case .opened(let reference, let step): effects = opened(index, reference, step)
        case .approved: effects = status == .due && attempts[index].state == .open ? charge(index) : []
        case .needsPayer(let step): effects = needsPayer(index, step)
        case .declined(let reason): effects = declined(index, reason, now)
        case .ended(let reason): effects = ended(index, reason)
        case .succeeded(let charge): effects = succeeded(index, charge, now)
        case .refunded: effects = gaveBack(index)
        case .pending, .unreachable: effects = []
        }
        if self != before { changedAt = now }
        return effects
    }

    private mutating func opened(_ index: Int, _ reference: String, _ step: PayerStep) -> [PaymentEffect] {
        switch attempts[index].state {
        case .opening:
            (attempts[index].state, attempts[index].reference, attempts[index].step) = (.open, reference, step)
            if isFeasible == nil { isFeasible = true }
            return []
        default: return []
        }
    }

    private mutating func charge(_ index: Int) -> [PaymentEffect] {
        attempts[index].state = .confirming
        return [.ask(.confirm, attempt: attempts[index].number)]
    }

    private mutating func needsPayer(_ index: Int, _ step: PayerStep?) -> [PaymentEffect] {
        guard attempts[index].state == .confirming else { return [] }
        attempts[index].state = .open
        if let step { attempts[index].step = step }
        return []
    }

    /// A charge that we asked for and that was declined ends the attempt: its process is called off, so that it cannot charge later.
    /// Where the payer acts alone, the same form may be tried again.
    private mutating func declined(_ index: Int, _ reason: String, _ now: Timestamp) -> [PaymentEffect] {
        switch attempts[index].state {
        case .confirming: return cancel(attempts[index].number, reason: reason, now) + [.tell(.failed(reason: reason))]
        case .open:
            attempts[index].reason = reason
            return []
        default: return []
        }
    }

    private mutating func ended(_ index: Int, _ reason: String) -> [PaymentEffect] {
        switch attempts[index].state {
        case .cancelling:
            attempts[index].state = attempts[index].reason == nil ? .cancelled : .failed
            return []
        case .opening, .open, .confirming:
            let wasOpening = attempts[index].state == .opening
            (attempts[index].state, attempts[index].reason) = (.failed, reason)
            if wasOpening, isFeasible == nil { isFeasible = false }
            switch status {
            case .notDue: return wasOpening ? [.tell(.notFeasible(reason: reason))] : []
            case .due: return [.tell(.failed(reason: reason))]
            default: return []
            }
        default: return []
        }
    }

    private mutating func succeeded(_ index: Int, _ charge: String?, _ now: Timestamp) -> [PaymentEffect] {
        switch attempts[index].state {
        case .succeeded, .refunding, .refunded: return []
        case .opening, .open, .confirming, .cancelling, .failed, .cancelled: break
        }
        let isSurplus = paying != nil
        (attempts[index].state, attempts[index].charge, attempts[index].reason) = (.succeeded, charge, nil)
        attempts[index].step = nil
        if isSurplus { return giveBack(attempts[index].number, now) }
        switch status {
        // Before it was due nobody was shown how to pay; should money come all the same, it waits for the answer.
        case .notDue: return []
        case .due: return settle()
        case .paid, .refunding, .refunded, .void: return giveBack(attempts[index].number, now)
        }
    }

    private mutating func gaveBack(_ index: Int) -> [PaymentEffect] {
        guard [.succeeded, .refunding].contains(attempts[index].state) else { return [] }
        attempts[index].state = .refunded
        guard paying == nil, status == .paid || status == .refunding else { return [] }
        // Surplus that goes back while the bill's own money is on its way too.
        if status == .refunding, attempts.contains(where: { $0.state == .refunding }) { return [] }
        status = .refunded
        return [.refunded]
    }

    // MARK: Steps

    private mutating func begin(_ method: PaymentMethod, _ provider: String, _ now: Timestamp) -> [PaymentEffect] {
        attempts.append(
            PayingAttempt(number: attempts.count + 1, method: method, provider: provider, state: .opening, openedAt: now))
        changedAt = now
        return [.ask(.open, attempt: attempts.count)]
    }

    private mutating func cancel(_ number: Int, reason: String?, _ now: Timestamp) -> [PaymentEffect] {
        guard let index = index(of: number) else { return [] }
        // Of a process whose opening was not answered nobody has been shown anything: it cannot charge.
        let isUnknown = attempts[index].reference == nil
        (attempts[index].state, attempts[index].reason, attempts[index].step) = (isUnknown ? .cancelled : .cancelling, reason, nil)
        changedAt = now
        return isUnknown ? [] : [.ask(.cancel, attempt: number)]
    }

    private mutating func settle() -> [PaymentEffect] {
        status = .paid
        return isAccepted ? [.paid, .release] : [.paid]
    }

    private mutating func giveBack(_ number: Int, _ now: Timestamp) -> [PaymentEffect] {
        guard let index = index(of: number) else { return [] }
        attempts[index].state = .refunding
        changedAt = now
        // A transfer goes back by the operator's hand.
        return attempts[index].method == .bankTransfer ? [] : [.ask(.refund, attempt: number)]
    }

    /// Never to be paid, or to be given back.
    private mutating func drop(_ now: Timestamp) -> [PaymentEffect] {
        switch status {
        case .void, .refunding, .refunded: return []
        case .paid:
            guard let paying else { return [] }
            status = .refunding
            return giveBack(paying.number, now)
        case .notDue, .due:
            changedAt = now
            if let paying {
                status = .refunding
                return giveBack(paying.number, now)
            }
            status = .void
            guard let live, live.state != .cancelling else { return [] }
            // One that may have charged already is asked too: its answer decides.
            return cancel(live.number, reason: nil, now)
        }
    }

    /// Whether a call that was decided before is still to be made.
    func wants(_ kind: Errand.Kind, _ number: Int) -> Bool {
        guard let index = index(of: number) else { return false }
        switch (kind, attempts[index].state) {
        case (.open, .opening), (.confirm, .confirming), (.cancel, .cancelling), (.refund, .refunding): return true
        case (.look, .open), (.look, .confirming), (.look, .cancelling): return true
        // A charge that was on its way while its process was called off shows only when somebody looks: it has to go back.
        case (.look, .failed), (.look, .cancelled): return attempts[index].reference != nil
        default: return false
        }
    }

    private func index(of number: Int) -> Int? {
        attempts.firstIndex { $0.number == number }
    }

    private func requireDue() throws(PaymentRefusal) {
        switch status {
        case .due: return
        case .notDue: throw .notDueYet
        case .paid: throw .alreadyPaid
        case .refunding, .refunded, .void: throw .isOver
        }
    }
}

/// The way that needs no handler.
enum BankTransfer {
    static let name = "bank-transfer"

    /// What the payer writes into the transfer: short, and easily told apart.
    static func reference(_ payment: PaymentID) -> String {
        "TM" + payment.description.suffix(10).uppercased()
    }
}
