// What sharing needs to know of people, as the subject of accounts tells it inside a transaction.

import Contracts
import GRDB

/// Whoever is asked for their data.
struct SharingPerson: Hashable, Sendable {
    let account: AccountNumber
    let person: PersonID
    let name: String
    let mail: String?
    let language: Language
    /// A child's consents are given by an adult (ACC-36).
    let needsGuardian: Bool

    /// How the person is told at once, with the app closed too (SHR-04).
    var recipient: Recipient { Recipient(person: person, mail: mail) }
    var channels: Set<Channel> { mail == nil ? [.push, .inbox] : [.push, .inbox, .mail] }
}

/// The subject of accounts, as sharing sees it. Each closure runs inside the caller's transaction.
struct SharingPersonStore: Sendable {
    /// The living account of this fiscal code, as it was typed; nil for a code of nobody or one that is none.
    let withFiscalCode: @Sendable (Database, _ code: String, _ now: Timestamp) throws -> SharingPerson?
    /// Nil for somebody who has no account, or not any more.
    let withID: @Sendable (Database, PersonID, _ now: Timestamp) throws -> SharingPerson?
    /// Asks a child's guardian to answer this request, by a link of their own.
    let askGuardian: @Sendable (Database, SharingPerson, RequestID, RequestDetails, _ until: Timestamp) throws -> Void
    /// Takes a choice about anonymous sharing, which is stored already, into the person's record of consents (ACC-32), and tells it to
    /// whoever follows people.
    let recordChoice: @Sendable (Database, SharingPerson, AnonymousChoice, AnswerSource) throws -> Void
}
