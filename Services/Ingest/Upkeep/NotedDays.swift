// Of which days the writer knows that the store has noted new entries.

import Contracts
import Synchronization

/// The last noted day of each series, in memory: nearly every upload is of the day of the one before, and asking the store each time
/// whether that day is noted costs a quarter of what storing an entry does.
///
/// Holds committed notes alone, else a day would never be summed up. Added to after the commit, on the writer's thread; whatever
/// takes notes away does so in a write body and reports it here in the same body. It may know too little: then the note is written again.
final class NotedDays: Sendable {
    /// A note that was written and is not committed yet.
    struct Written: Sendable {
        let key: DayKey
        /// How often notes had been taken away.
        fileprivate let taken: Int
    }

    private struct State {
        /// By series.
        var days: [Int64: Int64] = [:]
        var taken = 0
    }

    private let state = Mutex(State())

    func has(_ key: DayKey) -> Bool {
        state.withLock { $0.days[key.series.word] == key.day }
    }

    func written(_ key: DayKey) -> Written {
        Written(key: key, taken: state.withLock { $0.taken })
    }

    /// What was written before notes were taken away, in the same commit, may be gone with them.
    func add(_ note: Written) {
        state.withLock { state in
            if state.taken == note.taken { state.days[note.key.series.word] = note.key.day }
        }
    }

    func forget(_ series: Series) {
        state.withLock { state in
            state.days[series.word] = nil
            state.taken += 1
        }
    }

    func forget(person: Int64) {
        state.withLock { state in
            for metric in Metric.all { state.days[Series(person: person, metric: metric).word] = nil }
            state.taken += 1
        }
    }
}
