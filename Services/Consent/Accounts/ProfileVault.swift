// Where profiles are sealed and opened: a person's under the person's own key, those of members and operators under the service's.

import Contracts
import Foundation
import Sealing
import ServiceKit
import Storage

/// What every kind of account has said of itself: whom to write to, and how.
struct AccountContact: Hashable, Codable, Sendable {
    var name: String
    var surname: String
    var email: EmailAddress
    var language: Language

    /// How a message addresses its reader: members of organisations and operators have not said a name, and no value of a message is
    /// empty.
    var greeted: String { name.isEmpty ? email.text : name }
}

struct ProfileVault: Sendable {
    let keys: PersonKeys
    /// `runtime.key("accounts")`: for whoever has no key of their own.
    let serviceKey: SymmetricKey

    /// Call before the transaction that stores something sealed: a person's key is durable before the first row that uses it.
    /// - Throws: `KeyDestroyed`.
    func makeKey(for person: PersonID) async throws {
        _ = try await keys.makeKey(for: person)
    }

    // MARK: Profiles

    /// - Throws: `KeyDestroyed` where the person's key is gone.
    func seal(_ profile: Profile, of person: PersonID) throws -> [UInt8] {
        try seal(JSONEncoder().encode(profile), at: "accounts.profile", of: .person(person))
    }

    func seal(_ contact: AccountContact, of subject: AccountSubject) throws -> [UInt8] {
        try seal(JSONEncoder().encode(contact), at: "accounts.profile", of: subject)
    }

    /// Of a person's account.
    func profile(_ row: AccountRow) throws -> Profile {
        try JSONDecoder().decode(Profile.self, from: Data(open(row.sealedProfile, at: "accounts.profile", of: row.subject)))
    }

    /// Of an account of any kind.
    func contact(_ row: AccountRow) throws -> AccountContact {
        try JSONDecoder().decode(AccountContact.self, from: Data(open(row.sealedProfile, at: "accounts.profile", of: row.subject)))
    }

    /// Whether it concerns one person's key or profile alone. What the database says must roll back.
    static func isDamage(_ error: any Error) -> Bool {
        error is DamagedKey || error is SealingError || error is DecodingError
    }

    // MARK: Facts

    /// Rows of a stream are sealed under the key of the person whom each is about.
    func factSeal(of stream: String) -> FactSeal {
        @Sendable func place(_ at: Timestamp) -> String { "stream_log.\(stream) \(at.milliseconds)" }
        return FactSeal { payload, fact in
            guard let person = fact.subject else { throw KeyDestroyed() }
            return try seal(payload, at: place(fact.at), of: .person(person))
        } open: { row in
            guard let person = row.subject else { return nil }
            do {
                return try open(row.body, at: place(row.at), of: .person(person))
            } catch  where error is KeyDestroyed || error is DamagedKey {
                return nil
            }
        }
    }

    // MARK: Anything else

    /// Seals what is kept of one account; `place` names the table and what else finds the row.
    func seal(_ plain: some Collection<UInt8>, at place: String, of subject: AccountSubject) throws -> [UInt8] {
        try Seal.seal(plain, key: key(of: subject), context: Self.context(place, subject))
    }

    /// - Throws: `KeyDestroyed`, or `SealingError` where it is not what was stored.
    func open(_ sealed: [UInt8], at place: String, of subject: AccountSubject) throws -> [UInt8] {
        try Seal.open(sealed, key: key(of: subject), context: Self.context(place, subject))
    }

    private func key(of subject: AccountSubject) throws -> SymmetricKey {
        guard let person = subject.person else { return serviceKey }
        guard let key = try keys.key(of: person) else { throw KeyDestroyed() }
        return key
    }

    private static func context(_ place: String, _ subject: AccountSubject) -> [UInt8] {
        Array(place.utf8) + [0] + Array(subject.kind.rawValue.utf8) + [0] + subject.bytes
    }
}
