// What the writer remembers of each series so that most uploads need not read the store.

import Contracts
import Synchronization

/// What is known of one series. It may be too high after a transaction was rolled back, never too low: then a search finds nothing.
struct SeriesState: Sendable {
    /// No stored entry is later.
    var newest: Int64
    /// Chunks since the last roll-up that this process made.
    var freshChunks: Int
}

/// Read and changed within the store's write bodies only, which run one after the other; the lock is for upkeep, which reads it.
final class SeriesMemory: Sendable {
    private struct State {
        var series: [Int64: SeriesState] = [:]
        var nextChunk: Int64
    }

    private let state: Mutex<State>

    /// - Parameter highestChunk: the highest chunk id in the store.
    init(highestChunk: Int64) {
        state = Mutex(State(nextChunk: highestChunk + 1))
    }

    /// The time of the series' newest entry; `load` reads it from the store the first time, nil being an empty series.
    func newest(of series: Series, load: () throws -> Int64?) rethrows -> Int64 {
        let word = series.word
        if let known = state.withLock({ $0.series[word]?.newest }) { return known }
        let loaded = try load() ?? .min
        state.withLock { $0.series[word] = SeriesState(newest: loaded, freshChunks: 0) }
        return loaded
    }

    /// A chunk was added whose last entry is of that time.
    func added(to series: Series, last: Int64) {
        let word = series.word
        state.withLock { state in
            state.series[word, default: SeriesState(newest: last, freshChunks: 0)].added(last)
        }
    }

    /// An id that no chunk has had. Ids that an undone transaction took are not given again.
    func nextChunk() -> Int64 {
        state.withLock { state in
            defer { state.nextChunk += 1 }
            return state.nextChunk
        }
    }

    /// Series that got at least so many chunks since their last roll-up, the count of each starting over.
    func takeBusy(atLeast chunks: Int) -> [Series] {
        state.withLock { state in
            var busy: [Series] = []
            for (word, known) in state.series where known.freshChunks >= chunks {
                state.series[word]?.freshChunks = 0
                if let metric = Metric(number: UInt8(truncatingIfNeeded: word)) {
                    busy.append(Series(person: word >> 8, metric: metric))
                }
            }
            return busy
        }
    }
}

extension SeriesState {
    fileprivate mutating func added(_ last: Int64) {
        newest = max(newest, last)
        freshChunks += 1
    }
}
