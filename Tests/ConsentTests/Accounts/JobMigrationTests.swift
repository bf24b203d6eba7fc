// What an earlier version had still to tell others, told by this one.

import Contracts
import Foundation
import GRDB
import Sealing
import ServiceKit
import Storage
import TestKit
import Testing

@testable import Consent

@Suite("Jobs of an earlier version")
struct JobMigrationTests {
    /// What waited when the earlier version was stopped.
    private struct Old {
        let person: PersonID
        let message = SendMessage(
            message: .random(), recipient: Recipient(person: nil, mail: "old@example.org"), channels: [.mail], template: .passwordChanged,
            language: .english, values: ["name": "Anna", "time": "2026-01-10T00:31:00.000Z"])
        let row: AccountRow
        let duties: [(kind: String, id: String, body: Data, isHeld: Bool)]
        let sealed: Data

        /// Rows as the program of then sealed them.
        init(_ harness: AccountHarness, _ person: PersonID) async throws {
            let vault = harness.parts.repository.vault
            let entries = RecordEntries(person: person, samples: [Sample(type: .bodyWeight, at: .now, value: 61)])
            let join = SubscribePerson(person: person, clausesAccepted: true, bounds: [:])
            func seal(_ body: some Encodable, _ id: String) throws -> Data {
                Data(try vault.seal(JSONEncoder().encode(body), at: "account_duties.body \(id)", of: .person(person)))
            }
            self.person = person
            row = try #require(try await harness.row(person))
            duties = [
                ("record-entries", "a", try seal(entries, "a"), false), ("record-entries", "b", try seal(entries, "b"), true),
                ("join-sos", "c", try seal(join, "c"), false),
            ]
            let context = Array("message_outbox|\(message.message)".utf8)
            sealed = Data(try Seal.seal(JSONEncoder().encode(message), key: harness.runtime.key("outbox"), context: context))
        }

        /// In place of the store that is there; its keys stay.
        func write(in folder: URL) async throws {
            for name in ["consent.db", "consent.db-wal", "consent.db-shm", "consent.life"] {
                try? FileManager.default.removeItem(at: folder.appendingPathComponent(name))
            }
            let store = try Store.open(
                folder.appendingPathComponent("consent.db"), applicationID: ConsentSchema.applicationID,
                migrations: Array(ConsentSchema.migrations.prefix { $0.name != "one table for all jobs" }),
                logger: RecordingLog().logger)
            try await store.write { [row, duties, message, sealed] db in
                let number = try AccountStore().add(
                    db, row.subject, keys: .init(email: row.emailLookup), profile: row.sealedProfile, state: .active, at: row.createdAt)
                for duty in duties {
                    try db.execute(
                        sql: "INSERT INTO account_duties (account, question, kind, body, held, due_at) VALUES (?, ?, ?, ?, ?, 1)",
                        arguments: [number, duty.id, duty.kind, duty.body, duty.isHeld])
                }
                try db.execute(
                    sql: "INSERT INTO message_outbox (message, sealed) VALUES (?, ?)", arguments: [Data(message.message.bytes), sealed])
            }
            await store.close()
        }
    }

    @Test("ACC-06, ACC-F: an earlier version's messages, entries and wishes to join are each told once; what is held stays held")
    func carried() async throws {
        try await withTemporaryFolder { folder in
            let old = try await AccountHarness.run(in: folder, background: false) { harness in
                try await Old(harness, harness.register(Applicant.form()).decoded(as: RegistrationItem.self).person)
            }
            try await old.write(in: folder.appendingPathComponent("store"))
            try await AccountHarness.run(in: folder) { harness in
                _ = try await harness.mail.arrived(to: "old@example.org", .passwordChanged)
                try await eventually("all is told") { try await harness.count("jobs WHERE due IS NOT NULL") == 0 }
                #expect(harness.around.ids == ["a"] && harness.around.entries.map(\.person) == [old.person])
                #expect(harness.around.subscriptions.map(\.person) == [old.person])
                let profile = try await harness.request("GET", "/consent/v1/profile", token: old.person.description).decoded(
                    as: ProfileItem.self)
                #expect(profile.automatedSOS.status == .active)
                #expect(try await harness.count("jobs") == 1)
            }
            try await AccountHarness.run(in: folder) { harness in
                try await harness.opened.store.write { [jobs = harness.parts.repository.jobs] db in try jobs.release(db, of: old.person) }
                try await eventually("what was held is told") { try await harness.count("jobs") == 0 }
                #expect(harness.around.ids == ["b"] && harness.around.subscriptions.isEmpty)
                #expect(harness.mail.messages(to: "old@example.org").isEmpty)
            }
        }
    }
}
