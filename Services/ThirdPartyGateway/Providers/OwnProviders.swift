// The ways of paying that need no handler outside: transfers to the operator's account, and play money.

import Contracts

/// The payer transfers by hand; the operator says when it has come in (`trackme payment mark-paid`), and sends money back by hand.
struct BankTransferProvider: PaymentProvider {
    let bank: PaymentSettings.Bank

    var name: String { BankTransfer.name }
    var takesToken: Bool { false }

    func carry(_ job: PaymentJob) async -> ProviderStatus {
        switch job.kind {
        case .open:
            let reference = BankTransfer.reference(job.payment)
            // Each attempt has a name of its own here; the payer's is the same for all.
            return .opened(
                reference: "\(reference)-\(job.attempt)",
                step: PayerStep(accountHolder: bank.holder, iban: bank.iban, transferReference: reference))
        case .cancel: return .ended(reason: "cancelled")
        case .confirm, .look, .refund, .review: return .pending
        }
    }
}

/// For demonstrations and trying out: says yes, but to the tokens that say what it shall do.
struct SandboxProvider: PaymentProvider {
    static let name = "sandbox"
    static let declines = "sandbox_declined"
    static let isAway = "sandbox_unreachable"

    var name: String { Self.name }
    var takesToken: Bool { true }

    func carry(_ job: PaymentJob) async -> ProviderStatus {
        switch job.kind {
        case .open: .opened(reference: "sandbox_\(job.payment)_\(job.attempt)", step: PayerStep())
        case .confirm:
            switch job.token {
            case Self.declines: .declined(reason: "card-declined")
            case Self.isAway: .unreachable
            default: .succeeded(charge: nil)
            }
        case .cancel: .ended(reason: "cancelled")
        case .look, .review: .pending
        case .refund: .refunded
        }
    }
}
