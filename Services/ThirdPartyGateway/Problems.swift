// Everything that the gateway can refuse over HTTP, by the name that programs act on.

import Contracts
import HTTPKit

enum GatewayProblem: String, CaseIterable, Sendable {
    case paymentOutstanding = "payment-outstanding"

    /// The problem without its details; written out so that docs/problems.md can be made from it.
    private var plain: Problem {
        switch self {
        case .paymentOutstanding: Problem("payment-outstanding", status: 402, title: "The amount due has not been paid")
        }
    }

    var status: Int { plain.status }

    func problem(_ detail: String, errors: [Problem.FieldError]? = nil) -> Problem {
        var problem = plain
        (problem.detail, problem.errors) = (detail, errors)
        return problem
    }
}
