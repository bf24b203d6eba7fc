// Accounts of simulated people in the running consent: rows as registration writes them, without a password and what hashing it costs.

import Contracts
import GRDB
import ServiceKit
import Storage

@testable import Consent

extension StorySuite {
    private static let accountsOfCommit = 200

    /// Everybody has an account and shares what is theirs to share; what follows of it the service says by itself.
    func enrol(_ people: [GroupPerson]) async throws {
        let (store, repository) = (modules.consent.opened.store, modules.consent.accounts.repository)
        try await inParallel(people) { try await repository.vault.makeKey(for: $0.id) }
        for start in stride(from: 0, to: people.count, by: Self.accountsOfCommit) {
            let page = Array(people.enumerated().dropFirst(start).prefix(Self.accountsOfCommit))
            try await store.write { db in
                for (number, person) in page {
                    let account = try repository.account(db, of: person, number: number)
                    for metric in person.shares {
                        try AnonymousSharingStore().choose(db, account, metric, shared: true, at: person.since)
                    }
                    try repository.publish(db, account, at: .now, trace: "")
                }
            }
        }
    }

    /// Of whom it is still to be said on `consent.cohort` what they share.
    func dueProfiles() async throws -> Int {
        try await modules.consent.opened.store.read { db in
            try Int.fetchOne(db, sql: "SELECT count(*) FROM cohort_profiles WHERE due = 1") ?? 0
        }
    }
}

/// A simulated person is no person that consent could have.
private struct NoSuchProfile: Error {}

extension AccountRepository {
    /// - Parameter number: another one for each.
    fileprivate func account(_ db: Database, of person: GroupPerson, number: Int) throws -> AccountNumber {
        if person.hasAccount {
            guard let row = try table.find(db, person: person.id) else { throw NoSuchProfile() }
            return row.number
        }
        let profile = try Profile(person, number: number)
        let account = try table.add(
            db, .person(person.id), keys: keys(profile), profile: vault.seal(profile, of: person.id), state: .active, at: .now)
        try table.acceptTerms(db, account, version: Conditions.version)
        return account
    }
}

extension Profile {
    private static let consonants = Array("BCDFGLMNPRSTVZ")

    /// Three consonants, other ones for each number.
    private static func name(_ number: Int) -> String {
        let count = consonants.count
        return "\(consonants[number % count])a\(consonants[number / count % count])e\(consonants[number / count / count % count])i"
    }

    fileprivate init(_ person: GroupPerson, number: Int) throws {
        let letters = Self.consonants.count * Self.consonants.count * Self.consonants.count
        let (name, surname) = (Self.name(number % letters), Self.name(number / letters))
        let (year, month, day) = (Int(person.born.year), Int(person.born.month), Int(person.born.day))
        let code = FiscalCode.computed(
            surname: surname, name: name, year: year, month: month, day: day, sex: person.sex == "female" ? .female : .male,
            place: person.birthPlace)
        guard let email = EmailAddress("person-\(number)@simulated.example"), let occupation = Occupation(rawValue: person.occupation)
        else { throw NoSuchProfile() }
        self.init(
            name: name, surname: surname, email: email, language: .italian, fiscalCode: code, birthDate: BirthDate(person.born),
            cityOfBirth: person.birthPlace, cityOfResidence: person.home, address: "Via Roma 1", occupation: occupation,
            weight: person.weight, height: person.height, gender: Gender(rawValue: person.sex))
    }
}
