// What the dispatcher is told of its subscribers: exactly them, as their profile stands, sealed; and profiles that say the same.

import Contracts
import Foundation
import GRDB
import Logging
import ServiceKit
import Storage
import TestKit
import Testing

@testable import Consent

@Suite("Emergency cards")
struct EmergencyCardStories {
    private struct Cards: Sendable {
        let harness: AccountHarness
        let cards: EmergencyCardStore

        init(_ harness: AccountHarness) async throws {
            self.harness = harness
            cards = EmergencyCardStore(
                store: harness.opened.store, repository: harness.parts.repository, places: harness.parts.places,
                epoch: harness.opened.epoch,
                relay: try await harness.opened.relay(of: .emergencyCards), wakeUp: WakeUpSignal(), logger: Running.quiet)
        }

        func hear(_ person: PersonID, _ subscribed: Bool) async throws {
            try await harness.opened.store.write { db in
                try EmergencySubscriberStore().note(db, SubscriptionState(person: person, subscribed: subscribed))
            }
            try await cards.publishDue()
        }

        /// Everything that was said, as a replay renders it; nil for a row whose person's key is gone.
        func said() async throws -> [EmergencyCardState?] {
            let rows = try await rows()
            return try rows.map { row in
                try cards.render(row).map { try JSONDecoder().decode(EmergencyCardState.self, from: Data($0)) }
            }
        }

        func rows() async throws -> [StreamRow] {
            try await harness.opened.store.read { db in
                try StreamLog().rows(db, StreamFamily.emergencyCards.streams[0], from: 1, limit: 100)
            }
        }

        func snapshot() async throws -> [String] {
            try await cards.snapshot(SnapshotStream(stream: StreamFamily.emergencyCards.streams[0], after: nil)).facts.map(\.payload)
        }
    }

    @Test("SOS-16, SOS-20, ACC-06: a subscriber's card is said, again when the profile changes, and taken back when the subscription ends")
    func cards() async throws {
        try await AccountHarness.run { harness in
            let cards = try await Cards(harness)
            let form = Applicant.form(["phone": "333 1234567", "language": "it"])
            let person = try await harness.register(form).decoded(as: RegistrationItem.self).person
            try await cards.cards.publishDue()
            #expect(try await cards.rows().isEmpty, "of who is not subscribed nothing is said")
            #expect(try await cards.snapshot().isEmpty)
            #expect(try await cards.cards.cards(of: [person]).isEmpty, "whoever asks")

            try await cards.hear(person, true)
            let known = try harness.parts.repository.vault.profile(try #require(try await harness.row(person)))
            let card = try #require(try await cards.said().last??.card)
            #expect(card.name == "\(known.name) \(known.surname)" && card.telephone == "+393331234567" && card.language == "it")
            #expect(card.birthYear == Int(known.birthDate.date.year) && card.medicalNotes == nil)
            #expect(card.address?.hasPrefix(known.address) == true && card.sex != nil)
            #expect(known.automatedSOS.status == .active)
            for row in try await cards.rows() {
                #expect(Data(row.body).range(of: Data(known.surname.utf8)) == nil, "the row is sealed")
            }
            #expect(try await cards.snapshot().count == 1)
            #expect(
                try await cards.cards.cards(of: [.random(), person]) == [EmergencyCardState(person: person, card: card)],
                "a dispatcher that knew of the subscription too late asks for it")

            let changed = try await harness.request(
                "PATCH", "/consent/v1/profile", token: person.description, json: ["address": "Via Nuova 5"])
            #expect(changed.status == 200)
            #expect(try await cards.cards.publishDue() == 1)
            #expect(try await cards.said().last??.card?.address?.hasPrefix("Via Nuova 5") == true)
            #expect(try await cards.cards.publishDue() == 0)

            try await cards.hear(person, false)
            #expect(try await cards.said().last == EmergencyCardState(person: person, card: nil))
            let after = try harness.parts.repository.vault.profile(try #require(try await harness.row(person)))
            #expect(after.automatedSOS.status == .left)
            #expect(try await cards.snapshot().isEmpty)
            #expect(try await cards.cards.cards(of: [person]).isEmpty)
            #expect(try await harness.count("emergency_subscribers") == 0)
            let consents = try await harness.opened.store.read { [repository = harness.parts.repository] db in
                let row = try repository.requirePerson(db, person)
                return try repository.consents.page(db, account: row.number, of: row.subject, before: nil, limit: 10)
            }
            #expect(consents.filter { $0.record.what == .automatedSOS }.map(\.record.given) == [false, true])
        }
    }

    @Test("Of people without an account, and of the erased, nothing is said and nothing can be read")
    func strangers() async throws {
        try await AccountHarness.run { harness in
            let cards = try await Cards(harness)
            try await cards.hear(.random(), true)
            #expect(try await cards.rows().isEmpty)
            let person = try await harness.register(Applicant.form()).decoded(as: RegistrationItem.self).person
            try await cards.hear(person, true)
            #expect(try await cards.said().count == 1)
            try await harness.opened.keys.destroyKey(of: person)
            #expect(try await cards.said() == [nil])
            try await cards.hear(person, false)
            #expect(try await cards.rows().count == 1)
            #expect(try await cards.snapshot().isEmpty)
        }
    }

    @Test("As many people with damaged keys as are said at once kept everybody behind them from being said, and the loop from resting")
    func damagedKeys() async throws {
        try await AccountHarness.run { harness in
            let cards = try await Cards(harness)
            var registered: [PersonID] = []
            for form in [Applicant.form(), Applicant.form(email: "b@example.org", surname: "Rossi")] {
                registered.append(try await harness.register(form).decoded(as: RegistrationItem.self).person)
            }
            let people = registered.sorted { $0.bits < $1.bits }
            // Forgotten in memory, and whole no more in the file.
            try await harness.opened.keys.destroyKey(of: people[0])
            let file = harness.runtime.settings.storeFolder.appendingPathComponent("consent-keys.db")
            try await DatabaseQueue(path: file.path).write { [damaged = people[0]] db in
                try db.execute(
                    sql: "UPDATE wrapped_keys SET wrapped = x'0102', destroyed_at = NULL WHERE subject = ?",
                    arguments: [Data(damaged.bytes)])
            }
            #expect(throws: DamagedKey.self) { try harness.opened.keys.key(of: people[0]) }
            try await harness.opened.store.write { db in
                for person in people { try EmergencySubscriberStore().note(db, SubscriptionState(person: person, subscribed: true)) }
            }
            #expect(try await cards.cards.publishDue(step: 1) == 2)
            #expect(try await cards.said().compactMap { $0?.person } == [people[1]])
            #expect(try await cards.cards.publishDue(step: 1) == 1, "it is due until its key is back, and is not said again and again")
        }
    }

    @Test("SOS-20: one flipped bit in a profile kept everybody's cards behind it from being said", arguments: [false, true])
    func damagedProfile(isSealed: Bool) async throws {
        try await AccountHarness.run { harness in
            let cards = try await Cards(harness)
            var registered: [PersonID] = []
            for form in [Applicant.form(), Applicant.form(email: "b@example.org", surname: "Rossi")] {
                registered.append(try await harness.register(form).decoded(as: RegistrationItem.self).person)
            }
            let people = registered.sorted { $0.bits < $1.bits }
            try await harness.opened.store.write { [repository = harness.parts.repository] db in
                let row = try repository.requirePerson(db, people[0])
                // Sealed, it cannot be decoded, as where another release has written it.
                let bytes = try isSealed ? repository.vault.seal(Array("{}".utf8), at: "accounts.profile", of: row.subject) : [1, 2]
                try db.execute(sql: "UPDATE accounts SET profile = ? WHERE number = ?", arguments: [Data(bytes), row.number])
                for person in people { try EmergencySubscriberStore().note(db, SubscriptionState(person: person, subscribed: true)) }
            }
            #expect(try await cards.cards.publishDue() == 2)
            #expect(try await cards.said().compactMap { $0?.person } == [people[1]])
            #expect(try await cards.snapshot().count == 1)
            #expect(try await cards.cards.publishDue() == 1, "it is due until the profile can be read")
        }
    }

    @Test("A snapshot of subscriptions replaces what was known: who is not in it has left")
    func snapshot() async throws {
        try await AccountHarness.run { harness in
            let cards = try await Cards(harness)
            let person = try await harness.register(Applicant.form()).decoded(as: RegistrationItem.self).person
            try await cards.hear(person, true)
            try await harness.opened.store.write { db in
                let table = EmergencySubscriberStore()
                for person in try table.known(db, after: [], limit: .max) { try table.note(db, left: person) }
            }
            try await cards.cards.publishDue()
            #expect(try await cards.said().last == EmergencyCardState(person: person, card: nil))
        }
    }
}
