// What is published of a person on `consent.people`, in the transaction that changes their account or what they share anonymously.

import Contracts
import GRDB
import ServiceKit
import Storage

/// A fact holds ids, a version, a language and types of data, nothing else of the person.
struct PeopleEventStore: Sendable {
    /// JSON of a fact with every type of the registry is below 3 KiB, and a page at most 1 MiB.
    private static let snapshotPage = 300

    private let facts: StateStream<PersonState>
    private let vault: ProfileVault
    private let relay: EventRelay
    /// Notified after each commit that may concern what is said on `consent.cohort`.
    let cohortsWakeUp = WakeUpSignal()
    private let choices = AnonymousSharingStore()
    private let sharers = CohortSharerStore()

    /// - Parameter relay: of the family `consent.people`.
    init(epoch: String, vault: ProfileVault, relay: EventRelay) {
        facts = StateStream(PersonState.type, stream: StreamFamily.people.streams[0], epoch: epoch)
        (self.vault, self.relay) = (vault, relay)
    }

    /// What the account now is, where it is a person's; whoever shares something anonymously is due on `consent.cohort`, too.
    /// - Parameter isGone: the account is deleted in this transaction.
    func publish(_ db: Database, _ row: AccountRow, isGone: Bool = false, at: Timestamp, trace: String) throws {
        guard let person = row.subject.person else { return }
        let state = try state(row, person, isGone: isGone, optIns: choices.optIns(db, of: row.number))
        relay.publish(try facts.append(db, state, about: person, at: at, trace: trace), afterCommitOf: db)
        try sharers.note(db, person, shares: state.sharesAnonymously != nil)
        db.afterCommit { [cohortsWakeUp] in cohortsWakeUp.notify() }
    }

    /// One page of everybody who has an account.
    func snapshot(_ db: Database, _ asked: SnapshotStream) throws -> SnapshotStream.Reply {
        try facts.snapshot(db, asked, limit: Self.snapshotPage) { (after: AccountNumber, limit: Int) in
            try page(db, after: after, limit: limit)
        }
    }

    private func page(
        _ db: Database, after: AccountNumber, limit: Int
    ) throws -> [(place: AccountNumber, person: PersonID?, fact: PersonState?)] {
        let rows = try AccountStore().page(db, of: .person, after: after, limit: limit)
        let optIns = try choices.optIns(db, after: after, through: rows.last?.number ?? after)
        return try rows.map { row in
            let person = row.subject.person
            return (row.number, person, try person.map { try state(row, $0, isGone: false, optIns: optIns[row.number] ?? []) })
        }
    }

    private func state(_ row: AccountRow, _ person: PersonID, isGone: Bool, optIns: [CohortOptIn]) throws -> PersonState {
        let isActive = row.state == .active && !isGone
        let language = isGone ? .english : try Self.language { try vault.contact(row).language }
        return PersonState(
            person: person, active: isActive, termsVersion: row.termsVersion ?? "", language: language, readersSince: row.readersSince,
            sharesAnonymously: isActive && !optIns.isEmpty ? optIns : nil)
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
