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
        guard !isAccepted, status != .void, hold != .givenBack else { return [] }
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
            return receive(.succeeded(charge: nil), of: live.number, at: now)
        }
        attempts.append(
            PayingAttempt(
                number: attempts.count + 1, method: .bankTransfer, provider: BankTransfer.name, state: .confirming, openedAt: now))
        return receive(.succeeded(charge: nil), of: attempts.count, at: now)
    }

    /// The operator gives the amount back, or says of a bank transfer that it was sent back.
    mutating func refundOrdered(at now: Timestamp) throws(PaymentRefusal) -> [PaymentEffect] {
        switch status {
        case .refunded: return []
        case .refunding:
            guard let back = attempts.first(where: { $0.state == .refunding && $0.method == .bankTransfer }) else { return [] }
            return receive(.refunded, of: back.number, at: now)
        // What the handler refused may be possible by now.
        case .refundRefused:
            let refused = attempts.filter { $0.state == .refundRefused }
            status = .refunding
            return refused.flatMap { giveBack($0.number, now) }
        case .disputed: throw .contested
        case .paid:
            guard let paying else { throw .nothingWasPaid }
            // What a bank took back before is not asked for again either.
            for index in attempts.indices where attempts[index].state == .chargedBack { attempts[index].isToGoBack = true }
            let effects = giveBack(paying.number, now)
            status = .refunding
            guard paying.method == .bankTransfer else { return effects }
            return receive(.refunded, of: paying.number, at: now)
        case .notDue, .due, .void: throw .nothingWasPaid
        }
    }

    /// The operator has sent back by hand what waited for that: transfers, and what handlers refused to give back.
    mutating func sentBack(at now: Timestamp) throws(PaymentRefusal) -> [PaymentEffect] {
        let waiting = attempts.indices.filter { attempts[$0].waitsForHand }
        guard !waiting.isEmpty else { throw .nothingToSendBack }
        for index in waiting { (attempts[index].state, attempts[index].isSentByHand) = (.refunded, true) }
        changedAt = now
        return follow()
    }

    // MARK: What handlers say

    /// Takes a handler's word about an attempt: an answer, a notification, or what a look showed; in any order and any number of
    /// times.
    mutating func receive(_ word: ProviderStatus, of number: Int, at now: Timestamp) -> [PaymentEffect] {
        guard let index = index(of: number) else { return [] }
        let before = self
        let effects: [PaymentEffect]
        switch word {
        case .opened(let reference, let step, let amount): effects = opened(index, reference, step, amount, now)
        case .approved: effects = status == .due && attempts[index].state == .open ? charge(index) : []
        case .needsPayer(let step): effects = needsPayer(index, step)
        case .declined(let reason): effects = declined(index, reason, now)
        case .ended(let reason): effects = ended(index, reason)
        case .succeeded(let charge, let amount): effects = succeeded(index, charge, amount, now)
        case .refunded: effects = stands(index, .refunded, now)
        case .stands(let standing): effects = stands(index, standing, now)
        case .pending, .unreachable: effects = []
        }
        if self != before { changedAt = now }
        return effects
    }

    private mutating func opened(
        _ index: Int, _ reference: String, _ step: PayerStep, _ amount: Amount?, _ now: Timestamp
    ) -> [PaymentEffect] {
        guard attempts[index].state == .opening else { return [] }
        (attempts[index].state, attempts[index].reference, attempts[index].step) = (.open, reference, step)
        let isRight = amount == nil || amount == self.amount
        if isFeasible == nil { isFeasible = isRight }
        guard !isRight else { return [] }
        let reason = PayingAttempt.amountDiffers
        let notice: PaymentNotice = status == .due ? .failed(reason: reason) : .notFeasible(reason: reason)
        return cancel(attempts[index].number, reason: reason, now) + [.notify(notice)]
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
        case .confirming: return cancel(attempts[index].number, reason: reason, now) + [.notify(.failed(reason: reason))]
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
            case .notDue: return wasOpening ? [.notify(.notFeasible(reason: reason))] : []
            case .due: return [.notify(.failed(reason: reason))]
            default: return []
            }
        default: return []
        }
    }

    private mutating func succeeded(_ index: Int, _ charge: String?, _ taken: Amount?, _ now: Timestamp) -> [PaymentEffect] {
        switch attempts[index].state {
        case .succeeded, .refunding, .refunded, .refundRefused, .disputed, .chargedBack: return []
        case .opening, .open, .confirming, .cancelling, .failed, .cancelled: break
        }
        let isSurplus = paying != nil
        (attempts[index].state, attempts[index].charge, attempts[index].reason) = (.succeeded, charge, nil)
        attempts[index].step = nil
        if let taken, taken != amount {
            // Neither more nor less than was asked for pays it; the payer may begin again.
            (attempts[index].taken, attempts[index].reason) = (taken, PayingAttempt.amountDiffers)
            let notice: [PaymentEffect] = status == .due ? [.notify(.failed(reason: PayingAttempt.amountDiffers))] : []
            return giveBack(attempts[index].number, now) + notice
        }
        if isSurplus { return giveBack(attempts[index].number, now) }
        return keptOrBack(attempts[index].number, now)
    }

    /// Money that no other has paid before.
    private mutating func keptOrBack(_ number: Int, _ now: Timestamp) -> [PaymentEffect] {
        switch status {
        // Before it was due nobody was shown how to pay; should money come all the same, it waits for the answer.
        case .notDue: return []
        case .due: return settle()
        case .paid, .refunding, .refunded, .refundRefused, .disputed, .void: return giveBack(number, now)
        }
    }

    /// Where the money of an attempt stands by now.
    private mutating func stands(_ index: Int, _ standing: MoneyStatus, _ now: Timestamp) -> [PaymentEffect] {
        let (number, isOther) = (
            attempts[index].number, attempts.contains { $0.state == .succeeded && $0.number != attempts[index].number }
        )
        guard attempts[index].judged(standing) else { return [] }
        switch attempts[index].state {
        // A dispute was decided for us: the money is what it would have been without.
        case .succeeded where attempts[index].isToGoBack == true || isOther: return giveBack(number, now) + follow()
        case .succeeded where status != .disputed: return keptOrBack(number, now)
        case .chargedBack where !isDelivered: attempts[index].isToGoBack = true
        default: break
        }
        return follow()
    }

    /// The status follows from where the money is that was taken once.
    private mutating func follow() -> [PaymentEffect] {
        guard status == .paid || status == .disputed || hold == .givenBack else { return [] }
        let before = status
        status = whereMoneyIs
        guard status != before else { return [] }
        switch status {
        case .paid: return isAccepted ? [.release] : []
        case .refunded: return [.refunded]
        case .due: return [.notify(.chargedBack)]
        case .disputed: return [.notify(.disputed)]
        case .notDue, .refunding, .refundRefused, .void: return []
        }
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
        (attempts[index].state, attempts[index].isToGoBack) = (.refunding, true)
        changedAt = now
        // A transfer goes back by the operator's hand.
        return attempts[index].method == .bankTransfer ? [] : [.ask(.refund, attempt: number)]
    }

    /// Never to be paid, or to be given back.
    private mutating func drop(_ now: Timestamp) -> [PaymentEffect] {
        switch status {
        case .void, .refunding, .refunded, .refundRefused: return []
        case .disputed:
            // The bank decides first; whatever it decides, the money is not ours to keep.
            for index in attempts.indices where attempts[index].state == .disputed { attempts[index].isToGoBack = true }
            changedAt = now
            return []
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

    private func index(of number: Int) -> Int? {
        attempts.firstIndex { $0.number == number }
    }

    private func requireDue() throws(PaymentRefusal) {
        switch status {
        case .due: return
        case .notDue: throw .notDueYet
        case .paid: throw .alreadyPaid
        case .disputed: throw .contested
        case .refunding, .refunded, .refundRefused, .void: throw .isOver
        }
    }

    /// Notes when attempts came to be what they are.
    mutating func marked(since before: Bill, at now: Timestamp) {
        for index in attempts.indices {
            attempts[index].marked(since: before.attempts.first { $0.number == attempts[index].number }, at: now)
        }
    }
}
