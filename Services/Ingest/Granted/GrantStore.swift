// SQL sentences about the grants that consent has told of: ingest's own copy, by which it decides.

import Contracts
import Foundation
import GRDB
import Storage
import Synchronization

/// `granted`: one row for each grant ever heard of, inactive ones too until the person is erased, so that nothing ever brings one back.
struct GrantTable: Sendable {
    static func create(in db: Database) throws {
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

    /// Takes over what consent says, as far as it does not bring back what was withdrawn: a grant only ever becomes less. So neither a
    /// late fact nor a consent that was put back from a copy widens one.
    func save(_ db: Database, _ state: GrantState) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        let state = try find(db, state.grant).map(state.within) ?? state
        try db.cachedStatement(sql: "INSERT OR REPLACE INTO granted (grant_id, person, version, state) VALUES (?, ?, ?, ?)")
            .execute(arguments: [Data(state.grant.bytes), Data(state.person.bytes), state.version, try encoder.encode(state)])
    }

    /// What a snapshot says is everything: a grant that is not in it is over. What is known to be over stays so.
    func replace(_ db: Database, by states: [GrantState]) throws {
        let named = Set(states.map(\.grant))
        for over in try active(db) where !named.contains(over.grant) {
            try db.cachedStatement(sql: "DELETE FROM granted WHERE grant_id = ?").execute(arguments: [Data(over.grant.bytes)])
        }
        for state in states { try save(db, state) }
    }

    func find(_ db: Database, _ grant: GrantID) throws -> GrantState? {
        try row(db, grant).map { try JSONDecoder().decode(GrantState.self, from: Data($0)) }
    }

    fileprivate func row(_ db: Database, _ grant: GrantID) throws -> [UInt8]? {
        try db.first("SELECT state FROM granted WHERE grant_id = ?") {
            $0.bytes(grant.bytes)
        } read: {
            $0.bytes(0)
        }
    }

    /// Those in force.
    func active(_ db: Database) throws -> [GrantState] {
        try Data.fetchAll(db, sql: "SELECT state FROM granted").map { try JSONDecoder().decode(GrantState.self, from: $0) }.filter(\.active)
    }

    /// Part of erasing the person. Where the account stays, consent says itself which grants are over.
    /// - Returns: how many rows.
    func erase(_ db: Database, _ person: PersonID, scope: ErasureScope) throws -> Int {
        guard scope == .account else { return 0 }
        try db.cachedStatement(sql: "DELETE FROM granted WHERE person = ?").execute(arguments: [Data(person.bytes)])
        return db.changesCount
    }
}

extension GrantState {
    /// What both allow, as the later of the two has it.
    fileprivate func within(_ known: GrantState) -> GrantState {
        var state = version >= known.version ? self : known
        state.types = types.filter(known.types.contains)
        state.active = active && known.active
        return state
    }
}

/// Reads grants for who asks for the same ones again and again: a row that holds what it held is not decoded anew.
final class GrantMemory: Sendable {
    /// More are not remembered.
    private static let most = 10_000

    private let table = GrantTable()
    private let decoded = Mutex<[GrantID: (row: [UInt8], state: GrantState)]>([:])

    /// As `GrantTable.find`.
    func find(_ db: Database, _ grant: GrantID) throws -> GrantState? {
        let row = try table.row(db, grant)
        if let known = decoded.withLock({ $0[grant] }), known.row == row { return known.state }
        let state = try row.map { try JSONDecoder().decode(GrantState.self, from: Data($0)) }
        decoded.withLock { decoded in
            if decoded.count >= Self.most { decoded.removeAll() }
            decoded[grant] = row.flatMap { row in state.map { (row, $0) } }
        }
        return state
    }
}

extension GrantTable {
    /// One fact of `consent.grants`.
    func apply(_ db: Database, _ event: StreamEvent) throws {
        guard let state = try Self.state(event) else { return }
        try save(db, state)
    }

    func begin(_ db: Database, _ snapshot: [StreamEvent]) throws {
        try replace(db, by: snapshot.compactMap(Self.state))
    }

    static func state(_ event: StreamEvent) throws -> GrantState? {
        guard event.header.type == GrantState.type else { return nil }
        return try CheckedJSON.decode(GrantState.self, from: event.payload, of: .suite)
    }
}
