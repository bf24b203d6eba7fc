// SQL sentences about price lists: every version that was ever in force.

import Contracts
import Foundation
import GRDB

/// One row of `price_lists`.
struct PriceVersion: Hashable, Sendable {
    let version: Int
    /// Nil for the list that holds until there is one.
    let from: Timestamp?
    let prices: PriceList

    static let none = PriceVersion(version: 0, from: nil, prices: .free)
}

struct PriceListStore: Sendable {
    static func create(in db: Database) throws {
        try db.execute(
            sql: """
                CREATE TABLE price_lists (
                    version INTEGER PRIMARY KEY AUTOINCREMENT,
                    from_at INTEGER NOT NULL,
                    list TEXT NOT NULL
                ) STRICT;
                """)
    }

    func add(_ db: Database, _ prices: PriceList, at: Timestamp) throws -> PriceVersion {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        let text = String(decoding: try encoder.encode(prices), as: UTF8.self)
        try db.execute(sql: "INSERT INTO price_lists (from_at, list) VALUES (?, ?)", arguments: [at, text])
        return PriceVersion(version: Int(db.lastInsertedRowID), from: at, prices: prices)
    }

    /// The one in force.
    func current(_ db: Database) throws -> PriceVersion {
        try Row.fetchOne(
            db.cachedStatement(sql: "SELECT version, from_at, list FROM price_lists ORDER BY version DESC LIMIT 1")
        ).map(PriceVersion.init) ?? .none
    }

    /// Version 0 is what held before the first one.
    func find(_ db: Database, _ version: Int) throws -> PriceVersion? {
        guard version > 0 else { return version == 0 ? PriceVersion.none : nil }
        return try Row.fetchOne(
            db.cachedStatement(sql: "SELECT version, from_at, list FROM price_lists WHERE version = ?"), arguments: [version]
        ).map(PriceVersion.init)
    }

    /// When the list after this one came into force; nil for the one in force.
    func replaced(_ db: Database, _ version: Int) throws -> Timestamp? {
        try Timestamp.fetchOne(
            db.cachedStatement(sql: "SELECT from_at FROM price_lists WHERE version > ? ORDER BY version LIMIT 1"), arguments: [version])
    }
}

extension PriceVersion {
    fileprivate init(_ row: Row) throws {
        let prices = try JSONDecoder().decode(PriceList.self, from: Data((row[2] as String).utf8))
        self.init(version: row[0], from: row[1], prices: prices)
    }
}
