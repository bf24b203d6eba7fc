// What came of the canary's emergencies, hour by hour: the availability of the whole chain (NFR-05).

import Contracts

/// Counts of one hour. An emergency in time is `ok`; one that was acknowledged, but later, is `late`; one that never came is `missed`,
/// as is each that was due while this dispatcher was down.
struct CanaryCounts: Hashable, Codable, Sendable {
    var ok = 0
    var late = 0
    var missed = 0

    var total: Int { ok + late + missed }

    /// From 0 to 1; nil before the first one.
    var availability: Double? { total == 0 ? nil : Double(ok) / Double(total) }

    mutating func add(_ other: CanaryCounts) {
        ok += other.ok
        late += other.late
        missed += other.missed
    }

    mutating func note(_ outcome: CanaryOutcome) {
        switch outcome {
        case .ok: ok += 1
        case .late: late += 1
        case .missed: missed += 1
        }
    }
}

enum CanaryOutcome: Hashable, Sendable {
    case ok(Duration)
    case late(Duration)
    case missed

    /// - Parameters:
    ///   - elapsed: From the entry's making to its acknowledgement; nil where there was none.
    ///   - budget: What the chain may take, the prompt's time included.
    init(after elapsed: Duration?, budget: Duration) {
        guard let elapsed else {
            self = .missed
            return
        }
        self = elapsed <= budget + CanaryPlan.tolerance ? .ok(elapsed) : .late(elapsed)
    }

    var word: String {
        switch self {
        case .ok: "ok"
        case .late: "late"
        case .missed: "missed"
        }
    }
}

/// When canaries fly, and when silence is one that was missed.
enum CanaryPlan {
    static let period = Duration.seconds(10)
    /// So much later than budgeted is late.
    static let tolerance = Duration.seconds(1)
    /// Before the next one is due, this one is given up.
    static let timeout = Duration.seconds(9)
    /// So many missed in a row are told to the operator as critical.
    static let alarm = 2
    /// How long counts are kept.
    static let keptHours: Int64 = 24 * 90

    private static let hour: Int64 = 3_600_000

    static func hour(of time: Timestamp) -> Int64 { time.milliseconds / hour }

    /// The canaries that did not fly between two times at which one did, by hour.
    static func missed(from last: Timestamp, to now: Timestamp) -> [Int64: Int] {
        let step = period.wholeMilliseconds
        let begin = max(last.milliseconds, now.milliseconds - keptHours * hour)
        guard now.milliseconds - begin > 2 * step else { return [:] }
        var missed: [Int64: Int] = [:]
        for slot in stride(from: begin + step, to: now.milliseconds - step, by: Int(step)) { missed[slot / hour, default: 0] += 1 }
        return missed
    }
}
