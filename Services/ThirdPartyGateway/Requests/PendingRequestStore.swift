// SQL sentences about forms that wait for consent's answer: written before anybody is asked, so that a crash loses none.

import Contracts
import Foundation
import GRDB
import Storage

/// What came of one form.
enum PendingRequestOutcome: String, Codable, CaseIterable, Hashable, Sendable {
    /// It is before the person.
    case opened
    /// The fiscal code is nobody's (SHR-03).
    case noSuchPerson = "no-such-person"
    /// Too many codes of nobody were asked for today (CON-15).
    case tooManyUnknown = "too-many-unknown-codes"
    /// An open request covers a part of it (SHR-18).
    case covered = "open-request-covers-this"
    /// Consent does not let it be asked now; the detail says why.
    case refused
}

/// One form on its way.
struct PendingRequest: Hashable, Sendable {
    /// Under this id consent is asked, however often: 16 random bytes.
    let question: [UInt8]
    let batch: JobID
    /// In its list, from 0.
    let place: Int
    let organisation: OrganisationID
    /// As the person sees it.
    let organisationName: String
    let persons: Int
    /// Of the price that was shown; nil where none was named.
    let priceListVersion: Int?
    let createdAt: Timestamp
    /// `RequestDraft`, sealed; nil once it is settled.
    let form: [UInt8]?
    let outcome: PendingRequestOutcome?
    /// The request that was opened, or the one that covers it.
    let request: RequestID?
    /// For people, where consent gave a reason. Not personal.
    let detail: String?
}

/// A list that was sent, of one form or of many.
struct RequestBatch: Hashable, Sendable {
    let id: JobID
    let organisation: OrganisationID
    let organisationName: String
    let persons: Int
    let priceListVersion: Int?
    let createdAt: Timestamp
}

struct PendingRequestStore: Sendable {
    static func create(in db: Database) throws {
        try db.execute(
            sql: """
                CREATE TABLE request_batches (
                    batch BLOB PRIMARY KEY,
                    organisation BLOB NOT NULL,
                    organisation_name TEXT NOT NULL,
                    persons INTEGER NOT NULL,
                    price_list_version INTEGER,
                    created_at INTEGER NOT NULL
                ) STRICT, WITHOUT ROWID;
                CREATE TABLE request_intents (
                    question BLOB PRIMARY KEY,
                    batch BLOB NOT NULL REFERENCES request_batches (batch),
                    place INTEGER NOT NULL,
                    form BLOB,
                    outcome TEXT,
                    request BLOB,
                    detail TEXT,
                    UNIQUE (batch, place),
                    CHECK ((form IS NULL) = (outcome IS NOT NULL))
                ) STRICT, WITHOUT ROWID;
                CREATE INDEX request_intents_waiting ON request_intents (batch, place) WHERE outcome IS NULL;
                """)
    }

    func add(_ db: Database, _ batch: RequestBatch) throws {
        try db.cachedStatement(
            sql: """
                INSERT INTO request_batches (batch, organisation, organisation_name, persons, price_list_version, created_at)
                VALUES (?, ?, ?, ?, ?, ?)
                """
        ).execute(arguments: [batch.id, batch.organisation, batch.organisationName, batch.persons, batch.priceListVersion, batch.createdAt])
    }

    func add(_ db: Database, _ batch: JobID, place: Int, question: [UInt8], form: [UInt8]) throws {
        try db.cachedStatement(sql: "INSERT INTO request_intents (question, batch, place, form) VALUES (?, ?, ?, ?)")
            .execute(arguments: [Data(question), batch, place, Data(form)])
    }

    /// Keeps what came of it, once; the form is forgotten.
    /// - Returns: false where it was settled before.
    func settle(
        _ db: Database, _ question: [UInt8], _ outcome: PendingRequestOutcome, request: RequestID?, detail: String?
    ) throws -> Bool {
        try db.cachedStatement(
            sql: "UPDATE request_intents SET form = NULL, outcome = ?, request = ?, detail = ? WHERE question = ? AND outcome IS NULL"
        ).execute(arguments: [outcome.rawValue, request, detail, Data(question)])
        return db.changesCount == 1
    }

    /// What an organisation's forms agreed to that consent has not answered.
    func agreed(_ db: Database, of organisation: OrganisationID) throws -> [AgreedPrice] {
        try Row.fetchAll(
            db.cachedStatement(
                sql: """
                    SELECT DISTINCT persons, price_list_version FROM request_intents JOIN request_batches USING (batch)
                    WHERE outcome IS NULL AND organisation = ?
                    """), arguments: [organisation]
        ).map { AgreedPrice(persons: $0[0], priceListVersion: $0[1]) }
    }

    /// Nobody is asked any more for an organisation that is gone; its forms are forgotten.
    func abandon(_ db: Database, of organisation: OrganisationID, detail: String) throws {
        try db.cachedStatement(
            sql: """
                UPDATE request_intents SET form = NULL, outcome = ?, detail = ? WHERE outcome IS NULL
                AND batch IN (SELECT batch FROM request_batches WHERE organisation = ?)
                """
        ).execute(arguments: [PendingRequestOutcome.refused.rawValue, detail, organisation])
    }

    private static let columns = """
        SELECT question, batch, place, organisation, organisation_name, persons, created_at, form, outcome, request, detail,
        price_list_version
        FROM request_intents JOIN request_batches USING (batch)
        """

    /// Those that consent has not answered, the oldest lists first.
    func waiting(_ db: Database, limit: Int) throws -> [PendingRequest] {
        try rows(db, "outcome IS NULL ORDER BY created_at, place LIMIT ?", [limit])
    }

    func find(_ db: Database, question: [UInt8]) throws -> PendingRequest? {
        try rows(db, "question = ?", [Data(question)]).first
    }

    func batch(_ db: Database, _ batch: JobID, of organisation: OrganisationID) throws -> RequestBatch? {
        try Row.fetchOne(
            db.cachedStatement(
                sql:
                    "SELECT organisation_name, persons, created_at, price_list_version FROM request_batches WHERE batch = ? AND organisation = ?"
            ), arguments: [batch, organisation]
        ).map { row in
            RequestBatch(
                id: batch, organisation: organisation, organisationName: row[0], persons: row[1], priceListVersion: row[3],
                createdAt: row[2])
        }
    }

    /// In the order of the list, from `place` on.
    func requests(_ db: Database, of batch: JobID, from place: Int = 0, limit: Int) throws -> [PendingRequest] {
        try rows(db, "batch = ? AND place >= ? ORDER BY place LIMIT ?", [batch, place, limit])
    }

    /// How many forms of a list consent has not answered.
    func waitingCount(_ db: Database, of batch: JobID) throws -> Int {
        try Int.fetchOne(
            db.cachedStatement(sql: "SELECT count(*) FROM request_intents WHERE batch = ? AND outcome IS NULL"),
            arguments: [batch]) ?? 0
    }

    /// Lists that are settled and older; what was opened stands under requests.
    /// - Returns: how many.
    @discardableResult
    func expire(_ db: Database, before moment: Timestamp) throws -> Int {
        let batches = try Data.fetchAll(
            db,
            sql: """
                SELECT batch FROM request_batches WHERE created_at < ?
                AND NOT EXISTS (SELECT 1 FROM request_intents i WHERE i.batch = request_batches.batch AND i.outcome IS NULL)
                """, arguments: [moment])
        for batch in batches {
            try db.execute(sql: "DELETE FROM request_intents WHERE batch = ?", arguments: [batch])
            try db.execute(sql: "DELETE FROM request_batches WHERE batch = ?", arguments: [batch])
        }
        return batches.count
    }

    private func rows(_ db: Database, _ condition: String, _ arguments: StatementArguments) throws -> [PendingRequest] {
        try Row.fetchAll(db.cachedStatement(sql: "\(Self.columns) WHERE \(condition)"), arguments: arguments).map { row in
            guard let batch: JobID = row.value(1), let organisation: OrganisationID = row.value(3) else { throw UnreadableRequest() }
            return PendingRequest(
                question: [UInt8](row[0] as Data), batch: batch, place: row[2], organisation: organisation, organisationName: row[4],
                persons: row[5], priceListVersion: row[11], createdAt: row[6], form: (row[7] as Data?).map { [UInt8]($0) },
                outcome: (row[8] as String?).flatMap(PendingRequestOutcome.init), request: row.value(9), detail: row[10])
        }
    }
}
