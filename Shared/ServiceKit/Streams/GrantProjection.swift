// The one reading of `consent.grants`: a service's own copy of what people allow, by which it decides.

package import Contracts
import Foundation
package import GRDB
import Storage

/// `granted`: one row for each grant that was ever published, until its person's account is erased.
///
/// **A grant only ever becomes less** (decision 0013): what a row allows is what every fact about it allows. So neither a late fact nor
/// a consent that was restored from a copy gives back what a person withdrew, and the order in which facts come does not matter. A grant
/// that a whole snapshot does not have is not in force either; unlike one that was withdrawn it counts again, within what is left of it,
/// once consent publishes it again.
package struct GrantProjection: Sendable {
    package init() {}

    // MARK: Schema

    /// For a migration; `addMissing` belongs to it.
    package static func create(in db: Database) throws {
        try db.execute(
            sql: """
                CREATE TABLE granted (
                    grant_id BLOB PRIMARY KEY,
                    person BLOB NOT NULL,
                    version INTEGER NOT NULL,
                    state BLOB NOT NULL
                ) STRICT, WITHOUT ROWID;
                CREATE INDEX granted_by_person ON granted (person);
                """)
    }

    /// As `create`, for a store that has had the table since before a snapshot could leave a row there.
    package static func addMissing(to db: Database) throws {
        try db.execute(sql: "ALTER TABLE granted ADD COLUMN is_missing INTEGER NOT NULL DEFAULT 0")
    }

    // MARK: Facts

    /// Nil for facts of other types, and about people who have been erased since: a fact may come later than the order to erase.
    package static func fact(of event: StreamEvent, keys: PersonKeys) throws -> GrantState? {
        guard let state = try event.fact(GrantState.self, type: GrantState.type), try !keys.isDestroyed(state.person) else { return nil }
        return state
    }

    /// One fact, of the stream or of a snapshot.
    /// - Returns: the grant as it is now, which may be less than was published.
    @discardableResult
    package func save(_ db: Database, _ published: GrantState) throws -> GrantState {
        let known = try row(db, published.grant).map { try Self.decode($0.state) }
        let state = known.map(published.within) ?? published
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        try db.cachedStatement(sql: "INSERT OR REPLACE INTO granted (grant_id, person, version, state, is_missing) VALUES (?, ?, ?, ?, 0)")
            .execute(arguments: [state.grant, state.person, state.version, try encoder.encode(state)])
        return state
    }

    /// All that were ever published, in order.
    package func known(_ db: Database, after: [UInt8], limit: Int) throws -> [GrantID] {
        try Data.fetchAll(
            db.cachedStatement(sql: "SELECT grant_id FROM granted WHERE grant_id > ? ORDER BY grant_id LIMIT ?"),
            arguments: [Data(after), limit]
        ).compactMap { GrantID(bytes: $0) }
    }

    /// A whole snapshot did not have it.
    /// - Returns: the grant as it is now; nil where it was over already.
    package func end(_ db: Database, _ grant: GrantID) throws -> GrantState? {
        guard var known = try find(db, grant), known.active else { return nil }
        try db.cachedStatement(sql: "UPDATE granted SET is_missing = 1 WHERE grant_id = ?").execute(arguments: [grant])
        known.active = false
        return known
    }

    // MARK: Reading

    /// Nil where nothing was ever published of it.
    package func find(_ db: Database, _ grant: GrantID) throws -> GrantState? {
        try row(db, grant)?.decoded()
    }

    /// Those in force.
    package func active(_ db: Database) throws -> [GrantState] {
        try Data.fetchAll(db, sql: "SELECT state FROM granted WHERE is_missing = 0").map { try Self.decode(Array($0)) }.filter(\.active)
    }

    /// A row as it is stored: equal ones are the same grant in the same state, so that whoever asks often need not decode again.
    package struct Stored: Hashable, Sendable {
        fileprivate let state: [UInt8]
        fileprivate let isMissing: Bool

        package func decoded() throws -> GrantState {
            var state = try GrantProjection.decode(state)
            if isMissing { state.active = false }
            return state
        }
    }

    package func row(_ db: Database, _ grant: GrantID) throws -> Stored? {
        try db.first("SELECT state, is_missing FROM granted WHERE grant_id = ?") {
            $0.bytes(grant.bytes)
        } read: {
            Stored(state: $0.bytes(0), isMissing: $0.integer(1) != 0)
        }
    }

    fileprivate static func decode(_ stored: [UInt8]) throws -> GrantState {
        try JSONDecoder().decode(GrantState.self, from: Data(stored))
    }

    // MARK: Erasing

    /// Part of erasing the person, in slices: ask again until nothing was deleted. Where the account stays, consent says itself which
    /// grants are over, and the rows stay so that nothing brings one back.
    /// - Returns: how many rows.
    package func erase(_ db: Database, _ person: PersonID, scope: ErasureScope) throws -> Int {
        guard scope == .account else { return 0 }
        var slice = DeletionSlice()
        try slice.delete(db, from: "granted", key: "grant_id", where: "person = ?", [person])
        return slice.deleted
    }
}

extension GrantState {
    /// What both allow; whom and what it is about is as the later of the two has it.
    fileprivate func within(_ known: GrantState) -> GrantState {
        var state = version >= known.version ? self : known
        state.types = types.filter(known.types.contains)
        state.from = max(from, known.from)
        state.to = max(state.from, min(to, known.to))
        state.granularity = granularity.isCoarser(than: known.granularity) ? granularity : known.granularity
        state.active = active && known.active
        return state
    }
}

extension GrantGranularity {
    fileprivate func isCoarser(than other: GrantGranularity) -> Bool {
        switch (self, other) {
        case (.hours, .minutes), (.hours, .seconds), (.minutes, .seconds): true
        default: false
        }
    }
}
