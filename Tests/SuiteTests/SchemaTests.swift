// What the schemas of all services have in common.

import Contracts
import Foundation
import GRDB
import Logging
import Storage
import TestKit
import Testing

@testable import Anonymiser
@testable import Consent
@testable import Ingest
@testable import Notifier
@testable import SOSDispatcher
@testable import ServiceKit
@testable import ThirdPartyGateway

@Suite("The schemas of all services")
struct SchemaTests {
    private typealias Schema = (name: String, applicationID: Int32, migrations: [Migration])

    private static let schemas: [Schema] = [
        ("consent", ConsentSchema.applicationID, ConsentSchema.migrations),
        ("ingest", IngestSchema.applicationID, IngestSchema.migrations),
        ("notifier", Notifier.Migrations.applicationID, Notifier.Migrations.all),
        ("sos-dispatcher", SOSDispatcher.Migrations.applicationID, SOSDispatcher.Migrations.all),
        ("thirdparty-gateway", GatewaySchema.applicationID, GatewaySchema.migrations),
        ("anonymiser", AnonymiserSchema.applicationID, AnonymiserSchema.migrations),
    ]

    /// Each service's store, new and empty.
    private static func each(_ body: (_ name: String, Store) async throws -> Void) async throws {
        for schema in schemas { try await with(schema) { try await body(schema.name, $0) } }
    }

    private static func with(_ schema: Schema, _ body: (Store) async throws -> Void) async throws {
        try await withTemporaryFolder { folder in
            let store = try Store.open(
                folder.appendingPathComponent("store.db"), applicationID: schema.applicationID, migrations: schema.migrations,
                settings: StoreSettings(), logger: Running.quiet)
            try await body(store)
            await store.close()
        }
    }

    @Test("Every service notices that its store was put back; those that say facts know where their logs part from the ones before")
    func life() async throws {
        try await Self.each { name, store in
            let (hasLife, hasFormer) = try await store.read { db in
                (try StoreLife.isKept(in: db), try db.tableExists("stream_former_epochs"))
            }
            #expect(hasLife && hasFormer == (name != "thirdparty-gateway"), "\(name)")
        }
    }

    /// Where there is none, SQLite reads the whole referring table each time that a row goes which could be referred to.
    @Test("An account's erasure does not search everybody's rows: each reference can be followed backwards by an index")
    func references() async throws {
        try await Self.each { name, store in
            let unserved = try await store.read { db in
                try String.fetchAll(
                    db,
                    sql: """
                        SELECT tables.name || '.' || refers."from" FROM sqlite_master AS tables,
                            pragma_foreign_key_list(tables.name) AS refers
                        WHERE tables.type = 'table' AND refers.seq = 0
                        AND NOT EXISTS (SELECT 1 FROM pragma_table_info(tables.name) WHERE pk = 1 AND name = refers."from")
                        AND NOT EXISTS (
                            SELECT 1 FROM pragma_index_list(tables.name) AS indexes, pragma_index_info(indexes.name) AS first
                            WHERE indexes.partial = 0 AND first.seqno = 0 AND first.name = refers."from")
                        """)
            }
            #expect(unserved.isEmpty, "\(name)")
        }
    }

    /// What SQLite's changesets need, by which another machine can follow a store: rows that can be named, and no effects of their own.
    @Test("Every table of every store has a primary key, and no store has a trigger")
    func keys() async throws {
        let further: [Schema] = [
            ("keys", PersonKeys.applicationID, PersonKeys.migrations),
            ("consent-accesses", AccessStore.applicationID, AccessStore.migrations),
        ]
        for schema in Self.schemas + further {
            try await Self.with(schema) { store in
                let (keyless, triggers) = try await store.read { db in (try Self.keyless(db), try Self.triggers(db)) }
                #expect(keyless == [], "\(schema.name)")
                #expect(triggers == [], "\(schema.name)")
            }
        }
    }

    private static func keyless(_ db: Database) throws -> [String] {
        try String.fetchAll(
            db,
            sql: """
                SELECT name FROM pragma_table_list AS tables
                WHERE schema = 'main' AND type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'
                AND NOT EXISTS (SELECT 1 FROM pragma_table_info(tables.name) WHERE pk > 0)
                """)
    }

    private static func triggers(_ db: Database) throws -> [String] {
        try String.fetchAll(db, sql: "SELECT name FROM sqlite_schema WHERE type = 'trigger'")
    }

    @Test("The check bites: a table with row ids alone and a trigger are found")
    func bites() async throws {
        let planted = Migration(1, "planted") { db in
            try db.execute(
                sql: """
                    CREATE TABLE keyed (one INTEGER PRIMARY KEY, other INTEGER) STRICT;
                    CREATE TABLE keyless (one INTEGER NOT NULL UNIQUE) STRICT;
                    CREATE TRIGGER planted AFTER DELETE ON keyed BEGIN DELETE FROM keyless; END;
                    """)
        }
        try await Self.with(("planted", 1, [planted])) { store in
            let (keyless, triggers) = try await store.read { db in (try Self.keyless(db), try Self.triggers(db)) }
            #expect(keyless == ["keyless"] && triggers == ["planted"])
        }
    }
}
