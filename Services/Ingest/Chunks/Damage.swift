// Chunks that do not open any more: each takes only its own entries with it, is reported to whoever reads, and logged.

import Contracts
import Logging
import Metrics
import Sealing
import Synchronization

/// What of one reading lies in chunks that could not be opened. A seal that does not open is the sign: GCM's tag is a checksum of the chunk.
final class DamagedPeriods: Sendable {
    private let found = Mutex<Set<ClosedRange<Int64>>>([])

    func note(_ outline: ChunkOutline) {
        guard outline.first <= outline.last else { return }
        found.withLock { _ = $0.insert(outline.first...outline.last) }
    }

    /// From the first entry to the last one of each, in order of time.
    var all: [ClosedRange<Int64>] {
        found.withLock { $0.sorted { ($0.lowerBound, $0.upperBound) < ($1.lowerBound, $1.upperBound) } }
    }

    /// For a peer on the bus: no time outside the asked period; nil where there is nothing to report.
    func reported(in period: Range<Int64>) -> [DamagedPeriod]? {
        let periods = all.compactMap { found -> DamagedPeriod? in
            let (from, to) = (max(found.lowerBound, period.lowerBound), min(found.upperBound, period.upperBound - 1))
            return from <= to ? DamagedPeriod(from: Timestamp(milliseconds: from), to: Timestamp(milliseconds: to)) : nil
        }
        return periods.isEmpty ? nil : periods
    }
}

/// The damaged chunks that anybody has come across since the start: each logged once, counted for the alarm.
final class DamagedChunks: Sendable {
    private let known = Mutex<Set<Int64>>([])
    private let gauge = Gauge(label: "ingest_damaged_chunks")
    private let logger: Logger

    init(logger: Logger) {
        self.logger = logger
        gauge.record(0)
    }

    var count: Int { known.withLock { $0.count } }

    func note(_ chunk: ChunkRow) {
        let count = known.withLock { known in known.insert(chunk.id).inserted ? known.count : nil }
        guard let count else { return }
        gauge.record(count)
        logger.error(
            "a chunk of entries is damaged and is skipped: check the disk; its entries return once its device delivers them again",
            metadata: ["chunk": "\(chunk.id)", "metric": "\(chunk.metric)"])
    }

    /// After the whole store was scanned: what is not among these is there no longer.
    func keep(only ids: Set<Int64>) {
        gauge.record(
            known.withLock { known in
                known.formIntersection(ids)
                return known.count
            })
    }
}

extension ChunkVault {
    /// What `open` makes of the chunk; nil where it is damaged, which is noted.
    func undamaged<Value>(_ chunk: ChunkRow, noting periods: DamagedPeriods? = nil, _ open: (ChunkRow) throws -> Value) throws -> Value? {
        do {
            return try open(chunk)
        } catch let error where error is CorruptBytes || error as? SealingError == .cannotOpen {
            damage.note(chunk)
            periods?.note(chunk.outline)
            return nil
        }
    }
}
