// SQL sentences about accounts of every kind. Names and addresses are here only as keyed look-ups and sealed.

import Contracts
import Foundation
import GRDB
import Sealing
import Storage

/// `accounts`: one row for each person, member of an organisation and operator. Numbers are never used again; deleting the row
/// frees e-mail, user name and fiscal code (ACC-31). Rows of other subjects refer to `accounts (number)`.
struct AccountStore: Sendable {
    static func create(in db: Database) throws {
        try db.execute(
            sql: """
                CREATE TABLE accounts (
                    number INTEGER PRIMARY KEY AUTOINCREMENT,
                    kind TEXT NOT NULL CHECK (kind IN ('person', 'member', 'operator')),
                    subject BLOB NOT NULL UNIQUE,
                    organisation BLOB,
                    email_lookup BLOB NOT NULL UNIQUE,
                    fiscal_code_lookup BLOB UNIQUE,
                    user_name_lookup BLOB UNIQUE,
                    profile BLOB NOT NULL,
                    state TEXT NOT NULL,
                    terms_version TEXT,
                    created_at INTEGER NOT NULL,
                    address_confirmed_at INTEGER,
                    address_failed_at INTEGER,
                    CHECK ((organisation IS NOT NULL) = (kind = 'member'))
                ) STRICT;
                CREATE INDEX accounts_by_organisation ON accounts (organisation) WHERE organisation IS NOT NULL;
                """)
    }

    static func addReaders(in db: Database) throws {
        try db.execute(sql: "ALTER TABLE accounts ADD COLUMN readers_since INTEGER")
    }

    /// The look-ups of one account; fiscal code and user name only where there is one.
    struct Keys: Hashable, Sendable {
        var email: [UInt8]
        var fiscalCode: [UInt8]?
        var userName: [UInt8]?

        /// Of a registration that nobody has confirmed: nobody finds it by what was typed, and it keeps nothing from anybody else.
        static var unclaimed: Keys { Keys(email: Random.bytes(32)) }
    }

    // MARK: Writing

    /// Adds an account.
    /// - Parameter profile: sealed by `ProfileVault`.
    /// - Throws: `AccountConflict`, in the order fiscal code, e-mail, user name.
    func add(
        _ db: Database, _ subject: AccountSubject, keys: Keys, profile: [UInt8], state: AccountState, at: Timestamp
    ) throws -> AccountNumber {
        try requireFree(db, keys)
        try db.cachedStatement(
            sql: """
                INSERT INTO accounts
                (kind, subject, organisation, email_lookup, fiscal_code_lookup, user_name_lookup, profile, state, created_at)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
                """
        ).execute(arguments: [
            subject.kind.rawValue, Data(subject.bytes), subject.organisation, Data(keys.email),
            keys.fiscalCode.map { Data($0) }, keys.userName.map { Data($0) }, Data(profile), state.rawValue, at,
        ])
        return db.lastInsertedRowID
    }

    /// - Parameter own: the account whose own values do not count.
    /// - Throws: `AccountConflict` for the first value that another account has.
    func requireFree(_ db: Database, _ keys: Keys, except own: AccountNumber? = nil) throws {
        func isTaken(_ column: String, _ lookup: [UInt8]?) throws -> Bool {
            guard let lookup, let number = try number(db, column, lookup) else { return false }
            return number != own
        }
        if try isTaken("fiscal_code_lookup", keys.fiscalCode) { throw AccountConflict.fiscalCode }
        if try isTaken("email_lookup", keys.email) { throw AccountConflict.email }
        if try isTaken("user_name_lookup", keys.userName) { throw AccountConflict.userName }
    }

    /// From now on the account is found by these, and nobody else's can be.
    /// - Throws: `AccountConflict` for the first value that another account has.
    func claim(_ db: Database, _ number: AccountNumber, _ keys: Keys) throws {
        try requireFree(db, keys, except: number)
        try db.cachedStatement(
            sql: "UPDATE accounts SET email_lookup = ?, fiscal_code_lookup = ?, user_name_lookup = ? WHERE number = ?"
        ).execute(arguments: [Data(keys.email), keys.fiscalCode.map { Data($0) }, keys.userName.map { Data($0) }, number])
    }

    func setProfile(_ db: Database, _ number: AccountNumber, _ profile: [UInt8]) throws {
        try db.cachedStatement(sql: "UPDATE accounts SET profile = ? WHERE number = ?").execute(arguments: [Data(profile), number])
    }

    /// Nil takes the user name away.
    /// - Throws: `AccountConflict.userName`.
    func setUserName(_ db: Database, _ number: AccountNumber, lookup: [UInt8]?) throws {
        if let lookup, let owner = try self.number(db, "user_name_lookup", lookup), owner != number { throw AccountConflict.userName }
        try db.cachedStatement(sql: "UPDATE accounts SET user_name_lookup = ? WHERE number = ?")
            .execute(arguments: [lookup.map { Data($0) }, number])
    }

    /// Another address: what was known of the old one is forgotten.
    /// - Parameter confirmedAt: where the person has shown already that they read it.
    /// - Throws: `AccountConflict.email`.
    func setEmail(_ db: Database, _ number: AccountNumber, lookup: [UInt8], confirmedAt: Timestamp?) throws {
        if let owner = try self.number(db, "email_lookup", lookup), owner != number { throw AccountConflict.email }
        try db.cachedStatement(
            sql: "UPDATE accounts SET email_lookup = ?, address_confirmed_at = ?, address_failed_at = NULL WHERE number = ?"
        ).execute(arguments: [Data(lookup), confirmedAt, number])
    }

    /// The version of the conditions that was accepted, by the person or for them.
    func acceptTerms(_ db: Database, _ number: AccountNumber, version: String) throws {
        try db.cachedStatement(sql: "UPDATE accounts SET terms_version = ? WHERE number = ?").execute(arguments: [version, number])
    }

    /// Devices that were paired before read nothing any more.
    func endReading(_ db: Database, _ number: AccountNumber, at: Timestamp) throws {
        try db.cachedStatement(sql: "UPDATE accounts SET readers_since = ? WHERE number = ?").execute(arguments: [at, number])
    }

    func setState(_ db: Database, _ number: AccountNumber, _ state: AccountState) throws {
        try db.cachedStatement(sql: "UPDATE accounts SET state = ? WHERE number = ?").execute(arguments: [state.rawValue, number])
    }

    /// The first time counts.
    func confirmAddress(_ db: Database, _ number: AccountNumber, at: Timestamp) throws {
        try db.cachedStatement(
            sql: """
                UPDATE accounts SET address_confirmed_at = coalesce(address_confirmed_at, ?), address_failed_at = NULL
                WHERE number = ?
                """
        ).execute(arguments: [at, number])
    }

    func addressFailed(_ db: Database, _ number: AccountNumber, at: Timestamp) throws {
        try db.cachedStatement(sql: "UPDATE accounts SET address_failed_at = ? WHERE number = ?")
            .execute(arguments: [at, number])
    }

    /// Frees e-mail, user name and fiscal code. Rows that refer to the account must have gone before.
    func delete(_ db: Database, _ number: AccountNumber) throws {
        try db.cachedStatement(sql: "DELETE FROM accounts WHERE number = ?").execute(arguments: [number])
    }
}

// MARK: Finding

extension AccountStore {
    private static let columns = """
        SELECT number, kind, subject, organisation, state, created_at, address_confirmed_at, address_failed_at, profile, terms_version,
        email_lookup, readers_since FROM accounts
        """

    func find(_ db: Database, number: AccountNumber) throws -> AccountRow? {
        try row(db, "number = ?", [number])
    }

    func find(_ db: Database, person: PersonID) throws -> AccountRow? {
        try row(db, "subject = ? AND kind = 'person'", [person])
    }

    func find(_ db: Database, member: MemberID) throws -> AccountRow? {
        try row(db, "subject = ? AND kind = 'member'", [member])
    }

    func find(_ db: Database, operator anOperator: OperatorID) throws -> AccountRow? {
        try row(db, "subject = ? AND kind = 'operator'", [anOperator])
    }

    /// Of any kind: an address serves one account only.
    func find(_ db: Database, email lookup: [UInt8]) throws -> AccountRow? {
        try row(db, "email_lookup = ?", [Data(lookup)])
    }

    func find(_ db: Database, fiscalCode lookup: [UInt8]) throws -> AccountRow? {
        try row(db, "fiscal_code_lookup = ?", [Data(lookup)])
    }

    func find(_ db: Database, userName lookup: [UInt8]) throws -> AccountRow? {
        try row(db, "user_name_lookup = ?", [Data(lookup)])
    }

    /// Accounts of one kind in the order of their numbers, at most `limit`.
    func page(_ db: Database, of kind: AccountKind, after number: AccountNumber, limit: Int) throws -> [AccountRow] {
        try Row.fetchAll(
            db.cachedStatement(sql: "\(Self.columns) WHERE kind = ? AND number > ? ORDER BY number LIMIT ?"),
            arguments: [kind.rawValue, number, limit]
        ).compactMap(AccountRow.init)
    }

    /// People's accounts that have been in this state since their making, before then.
    func waiting(_ db: Database, in state: AccountState, since: Timestamp, limit: Int = 1000) throws -> [AccountRow] {
        try Row.fetchAll(
            db.cachedStatement(sql: "\(Self.columns) WHERE kind = 'person' AND state = ? AND created_at <= ? ORDER BY number LIMIT ?"),
            arguments: [state.rawValue, since, limit]
        ).compactMap(AccountRow.init)
    }

    func members(_ db: Database, of organisation: OrganisationID) throws -> [AccountRow] {
        try Row.fetchAll(
            db.cachedStatement(sql: "\(Self.columns) WHERE organisation = ? ORDER BY number"), arguments: [organisation]
        ).compactMap(AccountRow.init)
    }

    func count(_ db: Database, of kind: AccountKind) throws -> Int {
        try Int.fetchOne(db.cachedStatement(sql: "SELECT count(*) FROM accounts WHERE kind = ?"), arguments: [kind.rawValue]) ?? 0
    }

    private func row(_ db: Database, _ condition: String, _ arguments: StatementArguments) throws -> AccountRow? {
        try Row.fetchOne(db.cachedStatement(sql: "\(Self.columns) WHERE \(condition)"), arguments: arguments).flatMap(AccountRow.init)
    }

    private func number(_ db: Database, _ column: String, _ lookup: [UInt8]) throws -> AccountNumber? {
        try Int64.fetchOne(db.cachedStatement(sql: "SELECT number FROM accounts WHERE \(column) = ?"), arguments: [Data(lookup)])
    }
}

extension AccountRow {
    fileprivate init?(_ row: Row) {
        guard let kind = AccountKind(rawValue: row[1]), let state = AccountState(rawValue: row[4]),
            let subject = AccountSubject(kind: kind, bytes: row[2] as Data, organisation: row.value(3))
        else { return nil }
        self.init(
            number: row[0], subject: subject, state: state, createdAt: row[5], addressConfirmedAt: row[6], addressFailedAt: row[7],
            termsVersion: row[9], readersSince: row[11], emailLookup: [UInt8](row[10] as Data), sealedProfile: [UInt8](row[8] as Data))
    }
}
