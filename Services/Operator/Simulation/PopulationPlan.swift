// Who takes part in a simulation: how many people, which hearts fail and when. Pure, so that two runs of a seed are alike.

import Contracts

struct PopulationPlan: Hashable, Sendable {
    var people: Int
    /// The first so many people's hearts fail.
    var failing: Int
    /// When the first heart fails; the others follow `spacing` apart.
    var emergencyAfter: Duration
    var spacing: Duration
    /// Nil: to the end.
    var emergencyLasts: Duration?
    var interval: Duration
    var seed: UInt64

    func wearables() -> [Wearable] {
        (0..<people).map { number in
            guard number < failing else { return Wearable(number: number, seed: seed) }
            return Wearable(
                number: number, seed: seed,
                failure: (number.isMultiple(of: 2) ? .racing : .fading, emergencyAfter + spacing * number, emergencyLasts))
        }
    }

    /// Spreads the uploads of a population evenly over the interval.
    func phase(of number: Int) -> Duration {
        interval * number / max(1, people)
    }
}
