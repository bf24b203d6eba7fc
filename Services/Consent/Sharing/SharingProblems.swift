// Everything that sharing can refuse over HTTP, by the name that programs act on.

import Contracts
import HTTPKit

enum SharingProblem: String, CaseIterable, Sendable {
    case alreadyAnswered = "already-answered"
    case noLongerOpen = "no-longer-open"
    case grantNotInForce = "grant-not-in-force"
    case guardianMustAnswer = "guardian-must-answer"

    /// The problem without its details; written out so that docs/problems.md can be made from it.
    private var plain: Problem {
        switch self {
        case .alreadyAnswered: Problem("already-answered", status: 409, title: "The request was answered before")
        case .noLongerOpen: Problem("no-longer-open", status: 409, title: "The request is no longer open")
        case .grantNotInForce: Problem("grant-not-in-force", status: 409, title: "The grant is not in force")
        case .guardianMustAnswer: Problem("guardian-must-answer", status: 403, title: "A guardian must give this consent")
        }
    }

    var status: Int { plain.status }

    func problem(_ detail: String, errors: [Problem.FieldError]? = nil) -> Problem {
        var problem = plain
        (problem.detail, problem.errors) = (detail, errors)
        return problem
    }
}

extension RequestRefusal {
    var problem: Problem {
        switch self {
        case .alreadyAnswered(let accepted, let at):
            SharingProblem.alreadyAnswered.problem(
                "You \(accepted ? "accepted" : "refused") it at \(at.rfc3339), and the first answer stands."
                    + (accepted ? " To take it back, withdraw the grant." : " The organisation may ask again."))
        case .noLongerOpen(let since):
            SharingProblem.noLongerOpen.problem(
                "It was not answered by \(since.rfc3339) and counts as refused; nothing is shared. The organisation may ask again.")
        case .stillOpen(let until):
            SharingProblem.noLongerOpen.problem("It can be answered until \(until.rfc3339).")
        case .notApproved(let status):
            SharingProblem.grantNotInForce.problem(
                "Its request is \(status.rawValue): nothing is shared under it, so nothing need be done.")
        case .neverGranted: Problem.notFound
        }
    }
}
