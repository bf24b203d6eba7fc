// Everything that sharing can refuse over HTTP, by the name that programs act on.

import Contracts
import HTTPKit

extension Problem {
    static let alreadyAnswered = Problem(
        "already-answered", status: 409, title: "The request was answered before",
        italianTitle: "Alla richiesta è già stata data risposta")
    static let noLongerOpen = Problem(
        "no-longer-open", status: 409, title: "The request is no longer open", italianTitle: "La richiesta non è più aperta")
    static let grantNotInForce = Problem(
        "grant-not-in-force", status: 409, title: "The grant is not in force", italianTitle: "Il consenso non è in vigore")
    static let guardianMustAnswer = Problem(
        "guardian-must-answer", status: 403, title: "A guardian must give this consent",
        italianTitle: "Questo consenso spetta a un tutore")
}

extension RequestRefusal {
    var problem: Problem {
        switch self {
        case .alreadyAnswered(let accepted, let at):
            Problem.alreadyAnswered.saying(
                "You \(accepted ? "accepted" : "refused") it at \(at.rfc3339), and the first answer stands."
                    + (accepted ? " To take it back, withdraw the grant." : " The organisation may ask again."),
                italian: "L'ha \(accepted ? "accettata" : "rifiutata") il \(at.rfc3339), e vale la prima risposta."
                    + (accepted ? " Per ripensarci, revochi il consenso." : " L'organizzazione può chiedere di nuovo."))
        case .noLongerOpen(let since):
            Problem.noLongerOpen.saying(
                "It was not answered by \(since.rfc3339) and counts as refused; nothing is shared. The organisation may ask again.",
                italian: """
                    Non ha avuto risposta entro il \(since.rfc3339) e vale come rifiutata; nulla è condiviso. L'organizzazione può \
                    chiedere di nuovo.
                    """)
        case .stillOpen(let until):
            Problem.noLongerOpen.saying(
                "It can be answered until \(until.rfc3339).", italian: "Si può rispondere fino al \(until.rfc3339).")
        case .notApproved(let status):
            Problem.grantNotInForce.saying(
                "Its request is \(status.rawValue): nothing is shared under it, so nothing need be done.",
                italian: "La richiesta è nello stato \(status.rawValue): nulla viene condiviso, e non occorre fare nulla.")
        case .neverGranted: Problem.notFound
        }
    }
}
