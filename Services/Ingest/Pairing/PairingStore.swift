// SQL sentences about devices that offer to be paired. Secrets, numbers and tokens are here as keyed digests, the rest sealed.

import Contracts
import Foundation
import GRDB
import Storage

/// One offer as the store has it.
struct PairingRow: Sendable {
    let pairing: PairingID
    /// Keyed digest of the secret with which the device polls.
    let secretLookup: [UInt8]
    /// Keyed digests of the numbers that the device shows one after the other.
    let numberLookups: [[UInt8]]
    /// Keyed digest of the token that the device will get.
    let tokenLookup: [UInt8]
    /// An `OfferedDevice`, sealed under a key of the service.
    let sealed: [UInt8]
    var offer: PairingOffer
    /// The device that was made of it.
    var device: DeviceID?
}

struct PairingStore: Sendable {
    static func create(in db: Database) throws {
        try db.execute(
            sql: """
                CREATE TABLE pairings (
                    pairing BLOB PRIMARY KEY,
                    secret_lookup BLOB NOT NULL,
                    number_lookups BLOB NOT NULL,
                    token_lookup BLOB NOT NULL,
                    sealed BLOB NOT NULL,
                    state TEXT NOT NULL,
                    wrong INTEGER NOT NULL,
                    expires_at INTEGER NOT NULL,
                    device BLOB
                ) STRICT, WITHOUT ROWID;
                CREATE INDEX pairings_by_end ON pairings (expires_at);
                """)
    }

    func add(_ db: Database, _ row: PairingRow) throws {
        try db.execute(
            sql: """
                INSERT INTO pairings (pairing, secret_lookup, number_lookups, token_lookup, sealed, state, wrong, expires_at)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?)
                """,
            arguments: [
                row.pairing, Data(row.secretLookup), Data(row.numberLookups.flatMap { $0 }), Data(row.tokenLookup),
                Data(row.sealed), row.offer.state.rawValue, row.offer.wrong, row.offer.expiresAt,
            ])
    }

    func find(_ db: Database, _ pairing: PairingID) throws -> PairingRow? {
        try Row.fetchOne(db, sql: "SELECT * FROM pairings WHERE pairing = ?", arguments: [pairing])
            .flatMap(PairingRow.init)
    }

    /// Stores how far the offer has come.
    func keep(_ db: Database, _ row: PairingRow) throws {
        try db.execute(
            sql: "UPDATE pairings SET state = ?, wrong = ?, device = ? WHERE pairing = ?",
            arguments: [row.offer.state.rawValue, row.offer.wrong, row.device, row.pairing])
    }

    func delete(_ db: Database, _ pairing: PairingID) throws {
        try db.execute(sql: "DELETE FROM pairings WHERE pairing = ?", arguments: [pairing])
    }

    /// Forgets what ended before.
    func expire(_ db: Database, before: Timestamp) throws {
        try db.execute(sql: "DELETE FROM pairings WHERE expires_at < ?", arguments: [before])
    }

    func count(_ db: Database) throws -> Int {
        try Int.fetchOne(db, sql: "SELECT count(*) FROM pairings") ?? 0
    }
}

extension PairingRow {
    fileprivate init?(_ row: Row) {
        guard let pairing: PairingID = row.value("pairing"), let state = PairingOffer.State(rawValue: row["state"]) else { return nil }
        let lookups = [UInt8](row["number_lookups"] as Data)
        let size = lookups.count / PairingOffer.wrongNumbers
        self.init(
            pairing: pairing, secretLookup: [UInt8](row["secret_lookup"] as Data),
            numberLookups: stride(from: 0, to: lookups.count, by: max(1, size)).map { Array(lookups[$0..<min(lookups.count, $0 + size)]) },
            tokenLookup: [UInt8](row["token_lookup"] as Data), sealed: [UInt8](row["sealed"] as Data),
            offer: PairingOffer(state: state, wrong: row["wrong"], expiresAt: row["expires_at"]), device: row.value("device"))
    }
}
