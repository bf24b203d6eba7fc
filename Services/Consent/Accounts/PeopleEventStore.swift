// What is published of a person on `consent.people`, in the transaction that changes their account.

import Contracts
import GRDB
import ServiceKit

/// A fact holds ids, a version and a language, nothing else of the person.
struct PeopleEventStore: Sendable {
    private let facts: StateStream<PersonState>
    private let vault: ProfileVault
    private let relay: EventRelay

    /// - Parameter relay: of the family `consent.people`.
    init(epoch: String, vault: ProfileVault, relay: EventRelay) {
        facts = StateStream(PersonState.type, stream: StreamFamily.people.streams[0], epoch: epoch)
        (self.vault, self.relay) = (vault, relay)
    }

    /// What the account now is, where it is a person's.
    /// - Parameter isGone: the account is deleted in this transaction.
    func publish(_ db: Database, _ row: AccountRow, isGone: Bool = false, at: Timestamp, trace: String) throws {
        guard let person = row.subject.person else { return }
        relay.publish(
            try facts.append(db, state(row, person, isGone: isGone), about: person, at: at, trace: trace), afterCommitOf: db)
    }

    /// One page of everybody who has an account.
    func snapshot(_ db: Database, _ asked: SnapshotStream) throws -> SnapshotStream.Reply {
        try facts.snapshot(db, asked) { (after: AccountNumber, limit: Int) in
            try AccountStore().page(db, of: .person, after: after, limit: limit).map { row in
                let person = row.subject.person
                return (row.number, person, try person.map { try state(row, $0, isGone: false) })
            }
        }
    }

    private func state(_ row: AccountRow, _ person: PersonID, isGone: Bool) throws -> PersonState {
        let isActive = row.state == .active && !isGone
        let language = isGone ? .english : try Self.language { try vault.contact(row).language }
        return PersonState(
            person: person, active: isActive, termsVersion: row.termsVersion ?? "", language: language, readersSince: row.readersSince)
    }

    /// Of somebody whose key is gone nothing is known any more.
    private static func language(_ read: () throws -> Language) throws -> Language {
        do {
            return try read()
        } catch  where error is KeyDestroyed || error is DamagedKey {
            return .english
        }
    }
}
