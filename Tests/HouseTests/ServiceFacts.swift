// What each service says of itself in values: its settings and its stores.

import Contracts
import GRDB
import Storage
import Testing

@testable import Anonymiser
@testable import Consent
@testable import Ingest
@testable import Notifier
@testable import SOSDispatcher
@testable import ServiceKit
@testable import ThirdPartyGateway

/// One service, as its assembly and its schemas declare it.
struct ServiceFacts: Sendable {
    let folder: String
    let product: String
    /// Of the executable: more than one where another place has another peer.
    let places: [ServicePlace]
    /// Those of every service aside.
    let settings: [SettingsReader.Row]
    /// Beside the keys of its people, which every service has.
    let stores: [StoreSchema]

    static let all = [
        ServiceFacts(IngestAssembly.self, [StoreSchema("ingest.db", IngestSchema.migrations, IngestSchema.notes)]),
        ServiceFacts(
            ConsentAssembly.self,
            [
                StoreSchema("consent.db", ConsentSchema.migrations, ConsentSchema.notes),
                StoreSchema("consent-accesses.db", AccessStore.migrations, AccessStore.notes),
            ]),
        ServiceFacts(
            SOSAssembly.self, [StoreSchema("sos-dispatcher.db", SOSDispatcher.Migrations.all, SOSDispatcher.Migrations.notes)],
            elsewhere: ["TRACKME_SOS_PLACE": "second"]),
        ServiceFacts(NotifierAssembly.self, [StoreSchema("notifier.db", Notifier.Migrations.all, Notifier.Migrations.notes)]),
        ServiceFacts(GatewayAssembly.self, [StoreSchema("thirdparty-gateway.db", GatewaySchema.migrations, GatewaySchema.notes)]),
        ServiceFacts(AnonymiserAssembly.self, [StoreSchema("anonymiser.db", AnonymiserSchema.migrations, AnonymiserSchema.notes)]),
    ]

    /// The store that ServiceKit opens beside each service's own.
    static let keys = StoreSchema("<service>-keys.db", PersonKeys.migrations, TableNote.keys)

    /// Of every service, with those of the country.
    static let sharedSettings: [SettingsReader.Row] = {
        var reader = SettingsReader(environment: [:])
        _ = CountrySettings(&reader)
        _ = SuiteSettings(&reader, peer: Peer("<peer>"), httpPort: 0)
        return reader.rows
    }()

    static let sharedPrefixes = SuiteSettings.prefixes.union([CountrySettings.prefix])

    /// - Parameter elsewhere: the environment of its second place.
    private init<Built: Assembly>(_ assembly: Built.Type, _ stores: [StoreSchema], elsewhere: [String: String]? = nil) {
        // `Consent.ConsentAssembly`: a target's folder has the target's name.
        folder = "Services/" + String(reflecting: assembly).prefix { $0 != "." }
        (product, self.stores) = (Built.peer.name, stores)
        places = ([[:]] + [elsewhere].compactMap(\.self)).map(Built.place)
        var reader = SettingsReader(environment: [:])
        _ = Built.settings(&reader)
        settings = reader.rows.filter { row in !Self.sharedPrefixes.contains(String(row.key.prefix { $0 != "." })) }
    }
}

/// A store by its migrations, and what is declared of its tables.
struct StoreSchema: Sendable, CustomTestStringConvertible {
    let file: String
    let migrations: [Migration]
    let notes: [TableNote]

    init(_ file: String, _ migrations: [Migration], _ notes: [TableNote]) {
        (self.file, self.migrations, self.notes) = (file, migrations, notes)
    }

    var testDescription: String { file }

    /// The columns of every table that the migrations make in an empty file.
    func tables() throws -> [String: [String]] {
        let queue = try DatabaseQueue()
        for migration in migrations { try queue.write { db in try migration.apply(db) } }
        return try queue.read { db in
            let names = try String.fetchAll(
                db, sql: "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'")
            return try Dictionary(uniqueKeysWithValues: names.map { name in (name, try db.columns(in: name).map(\.name)) })
        }
    }

    var declared: [String] { notes.flatMap(\.names) }
}
