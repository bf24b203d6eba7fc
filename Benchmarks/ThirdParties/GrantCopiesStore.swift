// Very many grants in consent's own file.

import Contracts
import Foundation
import GRDB

/// Consent must not run. What it wrote itself of each accepted request is copied under new ids, so that every row is as it writes them, but
/// for the person: each grant is somebody else's, so that whoever keeps something for each person keeps as much as for a million. They have
/// no account of their own, which a snapshot does not look at.
struct GrantCopiesStore {
    private static let atOnce = 50_000

    /// consent.db.
    let file: URL

    /// - Returns: of all grants, the one that a snapshot tells last.
    func add(_ count: Int) throws -> GrantID {
        let queue = try DatabaseQueue(path: file.path)
        defer { try? queue.close() }
        let (accepted, through) = try queue.read { db in
            let table = "FROM sharing_requests WHERE status = 'APPROVED'"
            return (
                try Int.fetchOne(db, sql: "SELECT count(*) \(table)") ?? 0, try Int64.fetchOne(db, sql: "SELECT max(number) \(table)") ?? 0
            )
        }
        guard accepted > 0 else { throw BenchmarkError("nobody has accepted anything") }
        var left = count
        while left > 0 {
            let copies = max(1, min(left, Self.atOnce) / accepted)
            try queue.write { db in try copy(db, through, copies) }
            left -= copies * accepted
        }
        let last = try queue.read { db in
            try Data.fetchOne(db, sql: "SELECT grant_id FROM sharing_requests WHERE status = 'APPROVED' ORDER BY grant_id DESC LIMIT 1")
        }
        guard let grant = last.flatMap({ GrantID(bytes: $0) }) else { throw BenchmarkError("no grant in \(file.path)") }
        return grant
    }

    private func copy(_ db: Database, _ through: Int64, _ copies: Int) throws {
        try db.execute(
            sql: """
                WITH RECURSIVE copies (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM copies WHERE n < ?)
                INSERT INTO sharing_requests
                (request, organisation, account, person, details, types, from_at, to_at, granularity, opened_at, answer_by, status,
                changed_at, answered_at, grant_id, grant_types, grant_version)
                SELECT randomblob(16), organisation, account, randomblob(16), details, types, from_at, to_at, granularity, opened_at,
                answer_by, status, changed_at, answered_at, randomblob(16), grant_types, grant_version
                FROM sharing_requests CROSS JOIN copies WHERE number <= ? AND status = 'APPROVED'
                """, arguments: [copies, through])
    }
}
