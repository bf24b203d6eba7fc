// What the anonymiser and ingest are told of who shares anonymously: exactly them, as they chose and as their profile stands, sealed.

import Contracts
import Foundation
import GRDB
import HTTPKit
import ServiceKit
import Storage
import TestKit
import Testing

@testable import Consent

/// What is said on `consent.cohort` and of whom on `consent.people`.
private struct Cohorts: Sendable {
    let store: Store
    let profiles: CohortProfileStore

    init(_ harness: AccountHarness) async throws {
        store = harness.opened.store
        profiles = CohortProfileStore(
            store: store, repository: harness.parts.repository, epoch: harness.opened.epoch,
            relay: try await harness.opened.relay(of: .cohortProfiles), logger: Running.quiet)
    }

    init(_ parts: ConsentModule) {
        (store, profiles) = (parts.opened.store, parts.cohorts)
    }

    /// Everything that was said, as a replay renders it, once all that is due is; nil for a row whose person's key is gone.
    func said() async throws -> [CohortProfileState?] {
        try await profiles.publishDue()
        return try await rows().map { row in
            try profiles.render(row).map { try JSONDecoder().decode(CohortProfileState.self, from: Data($0)) }
        }
    }

    func rows() async throws -> [StreamRow] {
        try await store.read { db in try StreamLog().rows(db, StreamFamily.cohortProfiles.streams[0], from: 1, limit: 100) }
    }

    func snapshot() async throws -> [CohortProfileState] {
        try await profiles.snapshot(SnapshotStream(stream: StreamFamily.cohortProfiles.streams[0], after: nil)).facts.map {
            try JSONDecoder().decode(CohortProfileState.self, from: Data($0.payload.utf8))
        }
    }

    /// What ingest heard of somebody, in order.
    func states(of person: PersonID) async throws -> [PersonState] {
        try await store.read { db in
            try StreamLog().rows(db, StreamFamily.people.streams[0], from: 1, limit: 1000).filter { $0.subject == person }.map { row in
                try JSONDecoder().decode(PersonState.self, from: Data(row.body))
            }
        }
    }

    func count(_ table: String) async throws -> Int {
        try await store.read { db in try Int.fetchOne(db, sql: "SELECT count(*) FROM \(table)") ?? 0 }
    }
}

/// The whole of consent at work, with nobody around it.
private struct CohortHarness: Sendable {
    let parts: ConsentModule
    let cohorts: Cohorts
    let folder: URL

    static func run(_ body: (CohortHarness) async throws -> Void) async throws {
        try await withTemporaryHarness { harness in
            try harness.introducePeers()
            let own = try harness.runtime(.consent)
            var reader = SettingsReader(environment: ["TRACKME_ACC_CONFIRM_REQUIRED": "false", "TRACKME_ACC_SECOND_FACTOR": "offered"])
            let parts = try await ConsentModule(ConsentSettings(&reader), on: own)
            harness.start(parts.services)
            try await body(CohortHarness(parts: parts, cohorts: Cohorts(parts), folder: harness.folder))
        }
    }

    func person(email: String = "anna@example.org", surname: String = "Esposito", shares types: [String] = []) async throws -> PersonID {
        let form = try RegistrationTests.form(Applicant.form(email: email, surname: surname, ["anonymousTypes": types]))
        let origin = RegistrationOrigin(
            request: RepeatableRequest(key: nil, body: [], scope: ""), remote: "-", trace: "", at: .now)
        return try #require(try await parts.accounts.registrations.register(form, origin).row.subject.person)
    }

    func choose(_ metric: Metric, _ shared: Bool, of person: PersonID) async throws {
        _ = try await parts.sharing.policy.choose(metric, shared: shared, of: person)
    }

    func change(_ person: PersonID, _ fields: [String: Any]) async throws {
        let form = try RegistrationTests.form(fields)
        _ = try await parts.accounts.profiles.change(person, form, at: .now, trace: "")
    }
}

@Suite("Profiles of who shares anonymously", .timeLimit(.minutes(3)))
struct CohortProfileStories {
    @Test("ANO-09, ACC-06: types chosen at registration are said with since when, each later choice is, and that none is shared any more")
    func choices() async throws {
        try await CohortHarness.run { harness in
            let cohorts = harness.cohorts
            let silent = try await harness.person(email: "bruno@example.org", surname: "Verdini")
            #expect(try await cohorts.said().isEmpty, "of who shares nothing nothing is said")
            #expect(try await cohorts.states(of: silent).map(\.sharesAnonymously) == [nil])

            let person = try await harness.person(shares: ["position", "heart-rate"])
            let first = try #require(try await cohorts.said().last??.profile)
            #expect(first.shares.map(\.metric) == [.heartRate, .position], "in the order of the registry")
            #expect(first.sex == nil, "the fiscal code would tell; it was not stated")
            #expect(first.birthDate == "1940-05-01" && first.cityOfBirth == "H501" && first.cityOfResidence == "F205")
            #expect(first.occupation == "student" && first.weight == 61.5 && first.height == 162)
            #expect(try await cohorts.states(of: person).last?.sharesAnonymously == first.shares)

            try await harness.choose(.position, false, of: person)
            #expect(try await cohorts.said().last??.profile?.shares == [first.shares[0]], "what stands keeps its time")
            #expect(try await cohorts.states(of: person).last?.sharesAnonymously == [first.shares[0]])
            let told = try await cohorts.rows().count
            try await harness.choose(.heartRate, true, of: person)
            #expect(try await cohorts.said().count == told, "the same choice again is none")

            try await harness.choose(.heartRate, false, of: person)
            #expect(try await cohorts.said().last == CohortProfileState(person: person, profile: nil))
            #expect(try await cohorts.states(of: person).last?.sharesAnonymously == nil)
            #expect(try await cohorts.count("cohort_profiles") == 0)
            try await harness.change(person, ["weight": 70])
            #expect(try await cohorts.said().count == told + 1, "who left is not spoken of again")

            try await harness.choose(.heartRate, true, of: person)
            let again = try #require(try await cohorts.said().last??.profile?.shares.first)
            #expect(again.metric == .heartRate && again.since >= first.shares[0].since)
            #expect(try await cohorts.rows().allSatisfy { $0.subject == person })
        }
    }

    @Test("A changed profile is said again; nothing of it stands readable in the files")
    func changes() async throws {
        try await CohortHarness.run { harness in
            let cohorts = harness.cohorts
            let person = try await harness.person(shares: ["heart-rate"])
            let silent = try await harness.person(email: "bruno@example.org", surname: "Verdini")
            #expect(try await cohorts.said().count == 1)
            try await harness.change(person, ["weight": 71.5, "gender": "other"])
            let profile = try #require(try await cohorts.said().last??.profile)
            #expect(profile.weight == 71.5 && profile.sex == "other" && profile.shares.map(\.metric) == [.heartRate])
            try await harness.change(silent, ["weight": 80])
            #expect(try await cohorts.said().compactMap { $0?.person } == [person, person])
            #expect(try await cohorts.snapshot() == [CohortProfileState(person: person, profile: profile)])

            let hunt = CanaryHunt(texts: ["1940-05-01", "cityOfResidence", "birthDate"], numbers: [])
            #expect(hunt.findings(in: harness.folder).found == [])
            let bait = CanaryHunt(texts: [CohortProfileState.type], numbers: [])
            #expect(!bait.findings(in: harness.folder).found.isEmpty, "the hunt reads the log")
        }
    }

    @Test("Whose account is erased is in no snapshot from the order on, and nothing said of them is left")
    func erased() async throws {
        try await CohortHarness.run { harness in
            let cohorts = harness.cohorts
            let (anna, bruno) = (
                try await harness.person(shares: ["heart-rate"]),
                try await harness.person(email: "bruno@example.org", surname: "Verdini", shares: ["glucose"])
            )
            _ = try await harness.person(email: "carla@example.org", surname: "Bianchi")
            _ = try await cohorts.said()
            #expect(Set(try await cohorts.snapshot().map(\.person)) == [anna, bruno])

            let service = harness.parts.erasure.service
            let data = await service.ask(bruno, .data, at: .now)
            _ = try await service.confirm(bruno, data.confirmation, password: AccountHarness.password, at: .now, trace: "")
            let wish = await service.ask(anna, .account, at: .now)
            _ = try await service.confirm(anna, wish.confirmation, password: AccountHarness.password, at: .now, trace: "")
            #expect(try await cohorts.snapshot().map(\.person) == [bruno], "with the data alone erased the choices stand")
            try await eventually("consent has done its part") { try await cohorts.count("accounts") == 2 }
            try await eventually("what was said of her is emptied") { try await cohorts.rows().allSatisfy { $0.subject != anna } }
            #expect(try await cohorts.said().compactMap { $0?.person } == [bruno])
            #expect(try await cohorts.count("cohort_profiles") == 1)
        }
    }

    @Test("A closing account takes back what was said of who shares, while its key is there")
    func closing() async throws {
        try await AccountHarness.run { harness in
            let cohorts = try await Cohorts(harness)
            let form = Applicant.form(["anonymousTypes": ["heart-rate"]])
            let person = try await harness.register(form).decoded(as: RegistrationItem.self).person
            #expect(try await cohorts.said().last??.profile != nil)
            try await harness.opened.store.write { [repository = harness.parts.repository] db in
                let row = try repository.requirePerson(db, person)
                try repository.events.publish(db, row, isGone: true, at: .now, trace: "")
                try repository.table.setState(db, row.number, .closing)
            }
            #expect(try await cohorts.said().last == CohortProfileState(person: person, profile: nil))
            #expect(try await cohorts.states(of: person).last?.sharesAnonymously == nil)
            #expect(try await cohorts.snapshot().isEmpty)
        }
    }

    @Test("ACC-36: of a child nothing is said before the adult consents, and of an unconfirmed account nothing before it opens")
    func waiting() async throws {
        try await AccountHarness.run(["TRACKME_ACC_CONFIRM_REQUIRED": "true"]) { harness in
            let cohorts = try await Cohorts(harness)
            let form = Applicant.child(["anonymousTypes": ["heart-rate"]])
            let child = try await harness.register(form).decoded(as: RegistrationItem.self).person
            #expect(try await harness.request("POST", harness.link(to: "luca@example.org", .confirmAddress)).status == 200)
            let other = Applicant.form(["anonymousTypes": ["glucose"]])
            let adult = try await harness.register(other).decoded(as: RegistrationItem.self).person
            #expect(try await cohorts.said().isEmpty)
            #expect(try await cohorts.snapshot().isEmpty)

            let link = try await harness.link(to: "mamma@example.org", .guardianConsent)
            let consent = "answer=consent&name=Maria+Verdi&adult=yes&conditions=yes&anonymous=yes"
            #expect(try await harness.request("POST", link, form: consent).status == 200)
            #expect(try await cohorts.said().map { $0?.person } == [child])
            #expect(try await harness.request("POST", harness.link(to: "anna@example.org", .confirmAddress)).status == 200)
            #expect(try await cohorts.said().map { $0?.person } == [child, adult])
            #expect(try await cohorts.states(of: adult).map { $0.sharesAnonymously?.map(\.metric) } == [nil, [.glucose]])
        }
    }

    @Test("Who shared before an upgrade is told once, to the anonymiser and to ingest")
    func earlierVersion() async throws {
        try await AccountHarness.run { harness in
            let cohorts = try await Cohorts(harness)
            var people: [PersonID] = []
            for (email, surname) in [("a@example.org", "Rossi"), ("b@example.org", "Bianchi"), ("c@example.org", "Verdi")] {
                let types = email.hasPrefix("c") ? [] : ["heart-rate"]
                let form = Applicant.form(email: email, surname: surname, ["anonymousTypes": types])
                people.append(try await harness.register(form).decoded(as: RegistrationItem.self).person)
            }
            // As the earlier version left it.
            try await harness.opened.store.write { db in
                try db.execute(sql: "DROP TABLE cohort_profiles")
                try CohortSharerStore.create(in: db)
            }
            #expect(try await cohorts.profiles.publishDue(step: 1) == 2)
            #expect(Set(try await cohorts.said().compactMap { $0?.person }) == Set(people.prefix(2)))
            for person in people.prefix(2) {
                #expect(try await cohorts.states(of: person).count == 2, "that it is registered, and that it shares")
                #expect(try await cohorts.states(of: person).last?.sharesAnonymously?.map(\.metric) == [.heartRate])
            }
            #expect(try await cohorts.states(of: people[2]).count == 1)
            #expect(try await cohorts.rows().count == 2, "once")

            let page = try await harness.parts.snapshot(SnapshotStream(stream: "consent.people", after: nil))
            let states = try page.facts.map { try JSONDecoder().decode(PersonState.self, from: Data($0.payload.utf8)) }
            let shared = Dictionary(uniqueKeysWithValues: states.map { ($0.person, $0.sharesAnonymously?.map(\.metric)) })
            #expect(shared == [people[0]: [.heartRate], people[1]: [.heartRate], people[2]: nil])
        }
    }

    @Test("One unreadable profile keeps nobody behind it from being said, and is said when it can be read")
    func damagedProfile() async throws {
        try await AccountHarness.run { harness in
            let cohorts = try await Cohorts(harness)
            var registered: [PersonID] = []
            for (email, surname) in [("a@example.org", "Rossi"), ("b@example.org", "Bianchi")] {
                let form = Applicant.form(email: email, surname: surname, ["anonymousTypes": ["heart-rate"]])
                registered.append(try await harness.register(form).decoded(as: RegistrationItem.self).person)
            }
            let people = registered.sorted { $0.bits < $1.bits }
            let row = try #require(try await harness.row(people[0]))
            @Sendable func store(_ profile: [UInt8]) async throws {
                try await harness.opened.store.write { db in try AccountStore().setProfile(db, row.number, profile) }
            }
            try await store([1, 2])
            #expect(try await cohorts.said().map { $0?.person } == [people[1]])
            #expect(try await cohorts.snapshot().map(\.person) == [people[1]])
            try await store(row.sealedProfile)
            #expect(try await cohorts.said().map { $0?.person } == [people[1], people[0]])
        }
    }
}
