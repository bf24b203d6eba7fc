// What is stored is written down: every table of every store, for how long, and what an erasure does to it.

import GRDB
import Storage
import Testing

@testable import ServiceKit

@Suite("Tables of the stores")
struct TableNoteTests {
    private static let stores = ServiceFacts.all.flatMap(\.stores) + [ServiceFacts.keys]

    private static func undeclared(_ store: StoreSchema) throws -> [String] {
        try Set(store.tables().keys).subtracting(store.declared).sorted()
    }

    @Test("every table says what it holds and for how long, and nothing is said of tables that are gone", arguments: stores)
    func declared(store: StoreSchema) throws {
        let undeclared = try Self.undeclared(store)
        #expect(undeclared.isEmpty, "TableNotes.swift lacks them: a TableNote each, then `make docs`")
        let stale = try Set(store.declared).subtracting(store.tables().keys).sorted()
        #expect(stale.isEmpty, "TableNotes.swift describes them, but no migration makes them")
        #expect(Set(store.declared).count == store.declared.count, "a table is described twice")
        for note in store.notes { #expect(!note.holds.isEmpty && !note.kept.isEmpty) }
    }

    /// The dispatchers' synthetic subscriber is nobody.
    private static let synthetic = "canary"

    @Test("a table with a column of people or accounts is not said to be about nobody", arguments: stores)
    func people(store: StoreSchema) throws {
        let tables = try store.tables()
        for note in store.notes where note.erasure == .impersonal {
            for name in note.names where name != Self.synthetic {
                let personal = (tables[name] ?? []).filter { ["person", "account"].contains($0) }
                #expect(personal.isEmpty, "\(name)")
            }
        }
    }

    @Test("a setting by which a table is kept exists")
    func settings() {
        let prefixes = ServiceFacts.all.flatMap(\.settings).map { $0.key.prefix { $0 != "." } } + ["bus"]
        for service in ServiceFacts.all {
            let known = Set((service.settings + ServiceFacts.sharedSettings).map(\.key))
            for note in service.stores.flatMap(\.notes) {
                for match in note.kept.matches(of: "`(([a-z]+)\\.[a-z0-9_]+)`") where prefixes.contains(where: { $0 == match[2] }) {
                    #expect(known.contains(match[1]), "\(note.names): \(match[1])")
                }
            }
        }
    }

    @Test("every list of migrations is that of a store whose tables are described")
    func completeness() {
        let firsts = SourceTree.production.flatMap { file in
            file.code.flatMap { $0.matches(of: "\\bMigration\\(1,") }.map { _ in file.path }
        }
        for service in ServiceFacts.all {
            let own = firsts.filter { $0.hasPrefix(service.folder + "/") }
            #expect(own.count == service.stores.count, "ServiceFacts.swift has other stores than \(own)")
        }
        #expect(firsts.count == Self.stores.count, "\(firsts)")
    }

    @Test("the check bites: a table that nobody describes is named")
    func bites() throws {
        let planted = StoreSchema(
            "planted.db", [Migration(1, "planted") { try $0.execute(sql: "CREATE TABLE rides (ride BLOB PRIMARY KEY) STRICT") }], [])
        #expect(try Self.undeclared(planted) == ["rides"])
    }
}
