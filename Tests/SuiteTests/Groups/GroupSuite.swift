// Thousands of people who share anonymously, in a running suite: brought in at once, and what of them the anonymiser knows.

import Contracts
import Foundation
import GRDB
import ServiceKit
import Storage
import TestKit

@testable import Anonymiser
@testable import Consent

/// Somebody with an account, a password and a session of their own among those who are brought in.
struct GroupGuest: Sendable {
    static let password = "sette fari nella nebbia"

    let person: PersonID
    let token: String
    let email: String
    let surname: String

    /// A man of Rome, born in 1970, who shares nothing yet.
    /// - Parameters:
    ///   - name: another one for each of a story.
    ///   - home: code of a city.
    init(in suite: StorySuite, named name: String, home: String) async throws {
        surname = "Gruppetti"
        email = "\(name.lowercased())@gruppetti.example"
        let code = FiscalCode.computed(surname: surname, name: name, year: 1970, month: 1, day: 1, sex: .male, place: "H501")
        let own: [String: any Sendable] = ["fiscalCode": code, "birthDate": "1970-01-01", "cityOfResidence": home]
        let form = registrationForm(name: name, surname: surname, email: email, password: Self.password, terms: Conditions.version)
        (person, token) = try await HarnessClient(suite.consent).join(form.merging(own) { $1 })
    }

    /// Over HTTP.
    func share(_ metric: Metric, _ isShared: Bool, in suite: StorySuite) async throws -> Int {
        try await suite.say("PUT", suite.consent + "/consent/v1/policy/anonymous/\(metric.code)", ["shared": isShared], as: token).status
    }
}

extension StorySuite {
    /// A debug build sums hours up, and closes them, by some hundreds a second.
    private static let longestClosing = Duration.seconds(480)

    /// Brings them in: what they measured, then who they are and what they share. Once in a story. When it returns, groups can be made of
    /// all that they measured before yesterday.
    func gather(_ people: [GroupPerson]) async throws {
        try await measure(people)
        // Ingest hears of everybody before it closes the first hour, and not while they are being enrolled: of whoever shares later what
        // is closed by then is never said.
        try await restart(.ingest) { try await enrol(people) }
        try await knowEverybody()
        let hour = GroupDay(before: 1).begin.milliseconds / CohortHourSummed.milliseconds
        try await eventually("everything before yesterday is closed", within: Self.longestClosing) {
            let closed = try await modules.anonymiser.opened.store.read { db in
                try Int64.fetchOne(db, sql: "SELECT closed_through FROM cohort_state")
            }
            return closed ?? 0 >= hour
        }
    }

    /// Until the anonymiser has taken all that consent had to say of who shares.
    func knowEverybody() async throws {
        try await eventually("consent has said who shares", within: .seconds(120)) { try await dueProfiles() == 0 }
        try await eventually("the anonymiser knows who shares", within: .seconds(120)) {
            try await hasHeardAll(StreamFamily.cohortProfiles.streams[0], of: .consent, by: .anonymiser)
        }
    }

    // MARK: What the anonymiser keeps

    /// Sealed chunks of closed hours, and rows with their pseudonyms, as they lie there.
    struct KeptOfGroups: Sendable {
        struct Person: Sendable {
            /// Nil once they are erased.
            let pseudonym: Data?
            let sealed: Data
        }

        let chunks: Set<Data>
        /// By row.
        let rows: [Int: Person]
    }

    func keptOfGroups() async throws -> KeptOfGroups {
        try await modules.anonymiser.opened.store.read { db in
            let chunks = try Data.fetchAll(db, sql: "SELECT sealed FROM cohort_chunks")
            let rows = try Row.fetchAll(db, sql: "SELECT row, pseudonym, sealed FROM cohort_rows").map { row in
                (row[0] as Int, KeptOfGroups.Person(pseudonym: row[1] as Data?, sealed: row[2] as Data))
            }
            return KeptOfGroups(chunks: Set(chunks), rows: Dictionary(uniqueKeysWithValues: rows))
        }
    }
}
