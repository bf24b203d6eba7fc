// Where the chunks are that the index of times does not have yet.

import Contracts
import Synchronization

/// The chunks of late, by series, in memory. Written into the index one by one, each upload's chunk would change a page of its own;
/// upkeep writes all that a series got meanwhile at once (`ChunkStore.settle`).
///
/// Holds every chunk above a certain id, and may hold some that are gone or were never committed: whoever finds one here reads its
/// row. Ids are not given twice as long as a process lives.
final class FreshChunks: Sendable {
    struct Chunk: Sendable {
        let id: Int64
        let first: Int64
        let last: Int64
    }

    private struct State {
        var series: [Int64: [Chunk]] = [:]
        var count = 0
        /// Every chunk with a higher id is here.
        var complete: Int64
        /// The index has every chunk up to this id.
        var settled: Int64
    }

    private let state: Mutex<State>

    /// - Parameter id: up to which the index has every chunk.
    init(settledThrough id: Int64) {
        state = Mutex(State(complete: id, settled: id))
    }

    /// How many wait for the index.
    var count: Int { state.withLock { $0.count } }

    /// Called before the chunk's commit, so that nobody sees a chunk in the store that is missed here. Ids come in order.
    func add(_ chunk: Chunk, to series: Series) {
        add(chunk, to: series.word)
    }

    /// - Parameter series: its word.
    func add(_ chunk: Chunk, to series: Int64) {
        state.withLock { state in
            state.series[series, default: []].append(chunk)
            state.count += 1
        }
    }

    /// The series' chunks with a higher id; nil where some of them are no longer remembered.
    func chunks(of series: Series, after id: Int64) -> ArraySlice<Chunk>? {
        state.withLock { state in
            guard id >= state.complete else { return nil }
            return state.series[series.word].map { $0.after(id) } ?? []
        }
    }

    /// What the index does not have up to `id`, the chunks of a series beside each other and the series in the index's order.
    func waiting(through id: Int64) -> [Int64] {
        let found = state.withLock { state in
            state.series.map { ($0.key, $0.value.after(state.settled).prefix { $0.id <= id }) }
        }
        return found.sorted { $0.0 < $1.0 }.flatMap { $0.1.map(\.id) }
    }

    /// The index has every chunk up to `id` now. What it had before is forgotten; the rest is kept for readers that began earlier.
    func settled(through id: Int64) {
        state.withLock { state in
            guard id > state.settled else { return }
            (state.complete, state.settled) = (state.settled, id)
            let complete = state.complete
            state.series = state.series.compactMapValues { chunks in
                let kept = chunks.after(complete)
                return kept.isEmpty ? nil : Array(kept)
            }
            state.count = state.series.values.reduce(0) { $0 + $1.after(id).count }
        }
    }
}

extension [FreshChunks.Chunk] {
    /// Those with a higher id; they are in order.
    fileprivate func after(_ id: Int64) -> ArraySlice<FreshChunks.Chunk> {
        var (low, high) = (startIndex, endIndex)
        while low < high {
            let middle = (low + high) / 2
            if self[middle].id > id { high = middle } else { low = middle + 1 }
        }
        return self[low...]
    }
}
