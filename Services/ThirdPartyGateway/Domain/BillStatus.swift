// What can be read off a bill: which way of paying counts, where its money is, what waits for the operator.

import Contracts

/// Why nothing leaves for a request although it was paid once.
enum PaymentHold: String, Codable, Sendable, CaseIterable {
    /// The amount went back, or is to go back: nothing is owed, and nothing leaves.
    case givenBack = "given-back"
    /// The payer's bank contests the charge and has not decided yet.
    case contested
}

extension PayingAttempt {
    /// Whether only the operator can send the money back.
    var waitsForHand: Bool { state == .refundRefused || state == .refunding && method == .bankTransfer }

    fileprivate var attention: PaymentAttention? {
        switch state {
        case .refundRefused: .refundRefused
        case .disputed: .disputed
        case .refunding where method == .bankTransfer: .sendBack
        case .refunding where reason == Self.amountDiffers, .cancelling where reason == Self.amountDiffers: .amountDiffers
        default: nil
        }
    }
}

extension Bill {
    enum Start: Hashable, Sendable {
        /// The attempt that the payer goes on with, and what is to be done first.
        case attempt(Int, [PaymentEffect])
        /// The attempt before is being called off; ask again when its answer is there.
        case wait([PaymentEffect])
    }

    var live: PayingAttempt? { attempts.last { $0.isLive } }
    /// The attempt whose money is kept.
    var paying: PayingAttempt? { attempts.first { $0.state == .succeeded } }

    /// Why nothing leaves although it was paid once; nil also where it never was.
    var hold: PaymentHold? {
        switch status {
        case .refunding, .refunded, .refundRefused: .givenBack
        case .disputed: .contested
        case .notDue, .due, .paid, .void: nil
        }
    }

    /// What the status of a bill is that was paid once, by where the money of all its attempts is.
    var whereMoneyIs: PaymentStatus {
        let states = Set(attempts.map(\.state))
        if states.contains(.succeeded) { return .paid }
        if states.contains(.disputed) { return .disputed }
        if states.contains(.refundRefused) { return .refundRefused }
        if states.contains(.refunding) { return .refunding }
        // Lost to the payer's bank after something had left.
        return attempts.contains { $0.state == .chargedBack && $0.isToGoBack != true } ? .due : .refunded
    }

    /// Whether a call that was decided before is still to be made.
    func wants(_ kind: PaymentJob.Kind, _ number: Int) -> Bool {
        guard let attempt = attempts.first(where: { $0.number == number }) else { return false }
        switch (kind, attempt.state) {
        case (.open, .opening), (.confirm, .confirming), (.cancel, .cancelling), (.refund, .refunding): return true
        case (.look, .open), (.look, .confirming), (.look, .cancelling): return true
        // A charge that was on its way while its process was called off shows only when somebody looks: it has to go back.
        case (.look, .failed), (.look, .cancelled): return attempt.reference != nil
        // What goes back is looked at by the refund itself.
        case (.review, .succeeded), (.review, .refunded), (.review, .refundRefused), (.review, .disputed), (.review, .chargedBack):
            return attempt.reference != nil
        default: return false
        }
    }

    /// What the operator should see first, and why; nil where nothing waits.
    var attention: (what: PaymentAttention, reason: String?)? {
        for attempt in attempts {
            if let what = attempt.attention { return (what, attempt.reason) }
        }
        guard status == .due, let lost = attempts.last(where: { $0.state == .chargedBack }) else { return nil }
        return (.chargedBack, lost.reason)
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
