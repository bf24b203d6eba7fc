// Very many accesses in ingest's own log, as if consent had been away while they happened.

import Contracts
import Foundation
import GRDB

/// Ingest must not run. What it wrote itself of each access is said again under the next numbers of the stream.
struct AccessCopiesStore {
    private static let stream = StreamFamily.accesses.streams[0]

    /// ingest.db.
    let file: URL

    /// Adds copies of the last `count` facts, in their order.
    func add(_ count: Int) throws {
        let queue = try DatabaseQueue(path: file.path)
        defer { try? queue.close() }
        try queue.write { db in
            try db.execute(
                sql: """
                    INSERT INTO stream_log (stream, sequence, type, subject, at, trace, body)
                    SELECT stream_log.stream, sequence + ?1, type, subject, at, trace, body
                    FROM stream_log JOIN stream_heads ON stream_heads.number = stream_log.stream
                    WHERE stream_heads.stream = ?2 AND sequence > head - ?1
                    """, arguments: [count, Self.stream])
            guard db.changesCount == count else { throw BenchmarkError("\(file.path) holds \(db.changesCount) of \(count) accesses") }
            try db.execute(sql: "UPDATE stream_heads SET head = head + ? WHERE stream = ?", arguments: [count, Self.stream])
        }
    }
}
