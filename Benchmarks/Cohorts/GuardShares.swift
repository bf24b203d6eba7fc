// Which share of honest requests the guard refuses: its price (ANO-11).

import Foundation
import Sealing

/// Of organisations that ask so much each, under one guard.
struct GuardShare: Encodable {
    let people: Int
    /// `AnonymityPolicy.fewestDiffering`.
    let fewestDiffering: Int
    let guardsAtoms: Bool
    let requestsEach: Int
    /// Of all organisations, with enough people.
    let largeEnough: Int
    let refused: Int
    /// In per cent, with the 95 % interval.
    let share: Double
    let least: Double
    let most: Double
}

/// How often each organisation was answered so.
struct GuardTally {
    var largeEnough = 0
    var refused = 0
}

/// What is drawn, and under which guards it is judged.
struct GuardShares {
    /// Requests of each organisation, of which the first so many are counted. No more than it may have admitted, so that its quota refuses
    /// none.
    let requests: [Int]
    /// Minimum differences.
    let differences: [Int]
    let organisations: Int
    let seed: UInt64

    private struct Guarded {
        let guarding: DifferencingGuard
        /// By size of `requests`, by organisation.
        var tallies: [[GuardTally]]
    }

    /// The same requests under each of the guards.
    func measure(_ source: SyntheticSource, _ places: GroupPlaces) throws -> [GuardShare] {
        let policy = AnonymityPolicy()
        let world = HonestAnalyst.World(places, days: source.days)
        var judged = differences.flatMap { difference in [false, true].map { guarded(difference, atoms: $0) } }
        let steps = StepReport("organisations", of: organisations)
        for number in 0..<organisations {
            var analyst = HonestAnalyst(world, number: number, seed: seed, policy)
            var asked: [HonestRequest] = []
            for _ in 0..<(requests.max() ?? 0) {
                asked.append(try HonestRequest(try analyst.request(), source, places.catalogue, policy))
            }
            for index in judged.indices {
                var organisation = GuardedOrganisation(source, places.catalogue, judged[index].guarding)
                for (place, one) in asked.enumerated() {
                    guard let isTooNear = try organisation.isTooNear(one) else { continue }
                    for size in requests.indices where place < requests[size] {
                        judged[index].tallies[size][number].largeEnough += 1
                        if isTooNear { judged[index].tallies[size][number].refused += 1 }
                    }
                }
            }
            steps.reached(number + 1)
        }
        return judged.flatMap { one in requests.indices.map { share(one, $0, people: source.columns.count) } }
    }

    private func guarded(_ difference: Int, atoms: Bool) -> Guarded {
        var policy = AnonymityPolicy()
        (policy.fewestDiffering, policy.guardsAtoms) = (difference, atoms)
        let key = Array("made-up people".utf8)
        let guarding = DifferencingGuard(policy: policy) { bytes in
            Digest.hmacSHA256(bytes, keyBytes: key).prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
        }
        let none = [GuardTally](repeating: GuardTally(), count: organisations)
        return Guarded(guarding: guarding, tallies: [[GuardTally]](repeating: none, count: requests.count))
    }

    private func share(_ guarded: Guarded, _ size: Int, people: Int) -> GuardShare {
        let tallies = guarded.tallies[size]
        let interval = ClusteredShare(tallies)
        return GuardShare(
            people: people, fewestDiffering: guarded.guarding.policy.fewestDiffering, guardsAtoms: guarded.guarding.policy.guardsAtoms,
            requestsEach: requests[size], largeEnough: tallies.reduce(0) { $0 + $1.largeEnough },
            refused: tallies.reduce(0) { $0 + $1.refused }, share: 100 * interval.share, least: 100 * interval.least,
            most: 100 * interval.most)
    }

    /// For the screen.
    static func table(_ shares: [GuardShare]) -> String {
        let head = ["people", "difference", "guard", "requests each", "large enough", "refused", "share %", "95 % interval"]
        let lines = [head] + shares.map(cells)
        let widths = head.indices.map { column in lines.map { $0[column].count }.max() ?? 0 }
        return lines.map { line in
            zip(line, widths).map { $0 + String(repeating: " ", count: $1 - $0.count) }.joined(separator: "  ")
        }.joined(separator: "\n")
    }

    private static func cells(_ one: GuardShare) -> [String] {
        [
            "\(one.people)", "\(one.fewestDiffering)", one.guardsAtoms ? "atoms" : "pairs", "\(one.requestsEach)", "\(one.largeEnough)",
            "\(one.refused)", short(one.share), "\(short(one.least)) to \(short(one.most))",
        ]
    }

    private static func short(_ share: Double) -> String { String(format: "%.1f", share) }
}

/// A share of requests that come in organisations: whoever was refused once is refused more easily again, so that the requests of one tell
/// less than as many of different ones.
struct ClusteredShare {
    /// 95 % of a normal distribution lie within so many deviations.
    private static let deviations = 1.959964

    /// 0 to 1, as the ends of the interval.
    let share: Double
    let least: Double
    let most: Double

    /// Wilson's interval for as many independent requests as have the variance of the ratio between organisations.
    init(_ organisations: [GuardTally]) {
        let asked = organisations.reduce(0.0) { $0 + Double($1.largeEnough) }
        guard asked > 0 else {
            (share, least, most) = (0, 0, 1)
            return
        }
        let ratio = organisations.reduce(0.0) { $0 + Double($1.refused) } / asked
        let residues = organisations.map { Double($0.refused) - ratio * Double($0.largeEnough) }
        let squares = residues.reduce(0.0) { $0 + $1 * $1 }
        let clusters = Double(organisations.count)
        let between = squares * clusters / max(1, clusters - 1) / (asked * asked)
        let independent = ratio * (1 - ratio) / asked
        let effective = independent > 0 ? asked / max(1, between / independent) : asked
        let squared = Self.deviations * Self.deviations / effective
        let middle = (ratio + squared / 2) / (1 + squared)
        let half = (squared * (ratio * (1 - ratio) + squared / 4)).squareRoot() / (1 + squared)
        (share, least, most) = (ratio, max(0, middle - half), min(1, middle + half))
    }
}
