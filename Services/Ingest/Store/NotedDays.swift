// Of which days the writer knows that the store has noted their news.

import Contracts
import Synchronization

/// The last noted day of each series, in memory: nearly every upload is of the day of the one before, and asking the store each time
/// whether that day is noted costs a quarter of what storing an entry does.
///
/// Says so of committed notes alone, else a day would never be summed up. Added to after the commit, on the writer's thread; whatever
/// takes notes away does so in a write body and says it here in the same body. It may know too little: then the note is written again.
final class NotedDays: Sendable {
    /// By series.
    private let days = Mutex<[Int64: Int64]>([:])

    func has(_ key: DayKey) -> Bool {
        days.withLock { $0[key.series.word] == key.day }
    }

    func add(_ key: DayKey) {
        days.withLock { $0[key.series.word] = key.day }
    }

    func forget(_ series: Series) {
        days.withLock { $0[series.word] = nil }
    }

    func forget(person: Int64) {
        days.withLock { days in
            for metric in Metric.all { days[Series(person: person, metric: metric).word] = nil }
        }
    }
}
