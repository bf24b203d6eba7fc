// Who takes part in a simulation: how many people, what befalls whom and when. Pure, so that two runs of a seed are alike.

import Contracts

/// What is planted goes to the first people, each to one: failing hearts, then falls, then calls for help.
struct PopulationPlan: Hashable, Sendable {
    var people: Int
    var failing: Int
    var falling = 0
    var calling = 0
    /// When something befalls the first person; the others follow `spacing` apart.
    var emergencyAfter: Duration
    var spacing: Duration
    /// Of a failing heart; nil: to the end.
    var emergencyLasts: Duration?
    /// How long after it began to fail a heart nearly stops; nil: never.
    var worseAfter: Duration?
    var interval: Duration
    var seed: UInt64

    /// What befalls the person of this number.
    func mishap(of number: Int) -> Mishap? {
        let after = emergencyAfter + spacing * number
        return switch number {
        case ..<failing:
            .heart(number.isMultiple(of: 2) ? .racing : .fading, after: after, lasts: emergencyLasts, worseAfter: worseAfter)
        case ..<(failing + falling): .event(.fall, after: after)
        case ..<(failing + falling + calling): .event(.help, after: after)
        default: nil
        }
    }

    func wearables() -> [Wearable] {
        (0..<people).map { Wearable(number: $0, seed: seed, mishap: mishap(of: $0)) }
    }

    /// Spreads the uploads of a population evenly over the interval.
    func phase(of number: Int) -> Duration {
        interval * number / max(1, people)
    }
}
