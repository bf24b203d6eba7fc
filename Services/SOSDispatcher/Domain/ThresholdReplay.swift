// What bounds would have done: the last weeks' entries once more through the machine, before somebody saves them.

import Contracts

/// Feeds the machine itself, so that a preview cannot promise what supervision would not do. What differs from the days themselves:
/// each entry is heard at the time it was measured, nobody answers a prompt, and an emergency service answers each call at once.
/// Only entries around critical minutes are needed: in between nothing that the machine does depends on a value.
struct ThresholdReplay: Sendable {
    /// Before a critical minute and after it: longer than a value stands for how the person is, and than values stay normal before an
    /// emergency is closed.
    static let margin = Duration.seconds(600)
    /// Pieces that are nearer than this are read as one.
    static let gap = Duration.seconds(1800)

    /// One alert that there would have been.
    struct Alert: Hashable, Sendable {
        var at: Timestamp
        var passed: PassedBound
        /// Whether the call would have gone out, or values were back in range before.
        var called = false
    }

    private var machine: Supervision
    private(set) var alerts: [Alert] = []
    /// How many entries were compared.
    private(set) var entries = 0

    /// - Parameter state: with the bounds; nothing else of it counts.
    init(_ state: Supervision.State, rules: SupervisionRules, from: Timestamp) {
        var fresh = Supervision.State()
        (fresh.own, fresh.personal) = (state.own, state.personal)
        machine = Supervision(rules: rules, state: fresh)
        _ = machine.subscribed(own: state.own, declaredInterval: nil, at: from)
    }

    var thresholds: Thresholds { machine.thresholds }

    /// Whether the last alert is not over: more entries are needed to know how it ends.
    var isRunning: Bool { machine.emergencyRuns }

    /// Entries in order of time, none earlier than those before. Those of one time are one upload.
    mutating func hear(_ samples: [Sample]) {
        var rest = samples[...]
        while let first = rest.first {
            let together = rest.prefix { $0.at == first.at }
            rest = rest.dropFirst(together.count)
            entries += together.count
            follow(machine.uploaded(Supervision.Upload(at: first.at, receivedAt: first.at, entries: Array(together))))
        }
    }

    /// Time without entries.
    mutating func pass(to time: Timestamp) {
        follow(machine.timePassed(to: time))
    }

    private mutating func follow(_ actions: [SupervisionAction]) {
        for action in actions {
            switch action.kind {
            case .opened:
                if let episode = action.episode { alerts.append(Alert(at: episode.receivedAt, passed: episode.trigger.passed)) }
            case .dispatched:
                if !alerts.isEmpty { alerts[alerts.count - 1].called = true }
                follow(machine.acknowledged(at: action.at))
            default: break
            }
        }
    }
}

/// Which stretches of a history have to be heard.
struct ReplayPlan: Sendable {
    let stretches: [Range<Timestamp>]
    /// From where on the stretches are complete: later than the period's beginning where there were too many entries.
    let from: Timestamp

    /// - Parameters:
    ///   - history: of every metric that the bounds watch.
    ///   - most: entries; the latest stretches that hold no more are taken.
    init(_ history: [Metric: [HistoryMinute]], under thresholds: Thresholds, in period: Range<Timestamp>, most: Int) {
        var critical: [Timestamp] = []
        for (metric, minutes) in history {
            for minute in minutes
            where thresholds.passed(metric, minute.least) != nil || thresholds.passed(metric, minute.greatest) != nil {
                critical.append(minute.at)
            }
        }
        critical.sort()
        var joined: [Range<Timestamp>] = []
        for minute in critical {
            let stretch = (minute - ThresholdReplay.margin)..<(minute + .seconds(60) + ThresholdReplay.margin)
            if let last = joined.last, stretch.lowerBound - last.upperBound <= ThresholdReplay.gap {
                joined[joined.count - 1] = last.lowerBound..<max(last.upperBound, stretch.upperBound)
            } else {
                joined.append(stretch)
            }
        }
        (stretches, from) = ReplayPlan.latest(of: joined, history, in: period, most: most)
    }

    private static func latest(
        of stretches: [Range<Timestamp>], _ history: [Metric: [HistoryMinute]], in period: Range<Timestamp>, most: Int
    ) -> ([Range<Timestamp>], Timestamp) {
        var counts = [Int](repeating: 0, count: stretches.count)
        for minutes in history.values {
            var place = 0
            for minute in minutes {
                while place < stretches.count, stretches[place].upperBound <= minute.at { place += 1 }
                if place < stretches.count, stretches[place].contains(minute.at) { counts[place] += minute.count }
            }
        }
        var (sum, first) = (0, stretches.count)
        while first > 0, sum + counts[first - 1] <= most {
            first -= 1
            sum += counts[first]
        }
        guard first > 0 else { return (stretches, period.lowerBound) }
        // One stretch that is too long by itself is heard in its later part.
        guard first < stretches.count else {
            let last = stretches[stretches.count - 1]
            let share = Double(most) / Double(max(1, counts[stretches.count - 1]))
            let length = Int64(Double((last.upperBound.milliseconds - last.lowerBound.milliseconds)) * share)
            let begin = Timestamp(milliseconds: last.upperBound.milliseconds - length)
            return ([begin..<last.upperBound], begin)
        }
        return (Array(stretches[first...]), stretches[first].lowerBound)
    }
}
