// What comes next, at a thousand subscriptions: how long from an accepted sample to the third party, on all three ways, and how soon
// nothing more comes once a person has withdrawn.

import Contracts
import Foundation
import ServiceKit

struct SubscriptionsBenchmark {
    /// Two organisations for each way; each subscribes to two types of everybody: 167 people make 1,002 subscriptions.
    private static let (people, firms) = (167, 6)
    /// Of one `--seconds`; four give a minute.
    private static let stretch = 15
    /// Left out of the figures at the beginning.
    private static let warming = 3
    /// Seconds after the measured ones, which arrive meanwhile: one receiver of webhooks refuses everything from `refusing` on, people
    /// withdraw from `withdrawing` on, and it takes again from `mended` on.
    private static let (refusing, withdrawing, mended, tail) = (3, 6, 12, 14)
    private static let withdrawals = 50
    private static let wait = 20

    let stage: Stage

    func rows() async throws -> [Row] {
        let sharing = try await SharingSuite(
            in: stage.emptyFolder("subscriptions"), people: min(Self.people, stage.devices), firms: Self.firms)
        let metrics = Self.metrics
        let now = Timestamp.now
        let shares = try await sharing.share(from: now - .seconds(60), to: now + .seconds(86_400)) { firm in
            Array(metrics[(2 * firm.number)..<(2 * firm.number + 2)])
        }
        let run = try await SubscriptionsRun(
            sharing: sharing, shares: shares, metrics: metrics, measured: Self.stretch * stage.seconds, tail: Self.tail, wait: Self.wait)
        let withdrawn = try await run.run(
            withdrawals: min(Self.withdrawals, sharing.wearers.count), from: .seconds(Self.withdrawing),
            refusing: (.seconds(Self.refusing), .seconds(Self.mended)))
        await sharing.end()
        return rows(run, withdrawn)
    }

    /// Those of which 60 to 100 is a possible value.
    private static var metrics: [Metric] {
        Array(
            Metric.all.filter {
                $0.definition.shape == .scalar && $0.definition.possible.contains(60) && $0.definition.possible.contains(100)
            }
            .prefix(2 * firms))
    }

    static func way(of firm: Int) -> DeliveryWay { DeliveryWay.allCases[firm / 2] }

    private func rows(_ run: SubscriptionsRun, _ withdrawn: [SubscriptionsRun.Withdrawal]) -> [Row] {
        let name = "\(run.shares.count) subscriptions, \(run.samplesPerSecond) samples/s"
        let left = Set(withdrawn.map(\.request))
        var rows: [Row] = []
        var (expected, missing) = (0, 0)
        for way in DeliveryWay.allCases {
            let measured = run.ledger.account(of: way, seconds: Self.warming..<run.measured)
            let all = run.ledger.account(of: way, seconds: 0..<run.measured + Self.tail, without: left)
            (expected, missing) = (expected + all.expected, missing + all.missing)
            rows += [
                Row("\(name), accepted to \(way.rawValue), p50", "ms", [measured.took.percentile(50)]),
                Row("\(name), accepted to \(way.rawValue), p99", "ms", [measured.took.percentile(99)], .below(1000)),
                Row("\(name), accepted to \(way.rawValue), longest", "ms", [measured.took.last ?? .nan]),
            ]
        }
        let odd = run.ledger.oddities
        print(
            "  \(expected) items expected, \(missing) missing, \(odd.duplicates) came again, \(odd.outOfOrder) out of order, \(odd.strange) strange"
        )
        rows.append(Row("\(name), items", "lost", [Double(missing + odd.outOfOrder + odd.strange)], .below(1)))
        let took = withdrawn.map(\.took)
        print("  \(took.count { $0 > 0 }) of \(took.count) withdrawals were followed by an item that was on its way")
        rows.append(Row("\(name), \(took.count) withdrawals, click to the last item", "ms", [took.max() ?? .nan], .below(1000)))
        return rows
    }
}
