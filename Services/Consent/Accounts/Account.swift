// One account of any kind, as every subject of this service knows it.

import Contracts

/// The account's number in this store: never given out, never used again (ACC-33).
typealias AccountNumber = Int64

/// Whose account it is, by the id that never changes.
enum AccountSubject: Hashable, Sendable {
    case person(PersonID)
    case member(MemberID, OrganisationID)
    case `operator`(OperatorID)

    var kind: AccountKind {
        switch self {
        case .person: .person
        case .member: .member
        case .operator: .operator
        }
    }

    /// The 16 bytes that the store keeps.
    var bytes: [UInt8] {
        switch self {
        case .person(let person): person.bytes
        case .member(let member, _): member.bytes
        case .operator(let anOperator): anOperator.bytes
        }
    }

    /// Nil for members and operators.
    var person: PersonID? {
        if case .person(let person) = self { person } else { nil }
    }

    /// Nil for people and operators.
    var organisation: OrganisationID? {
        if case .member(_, let organisation) = self { organisation } else { nil }
    }

    init?(kind: AccountKind, bytes: some Collection<UInt8>, organisation: OrganisationID?) {
        switch kind {
        case .person:
            guard let person = PersonID(bytes: bytes) else { return nil }
            self = .person(person)
        case .member:
            guard let member = MemberID(bytes: bytes), let organisation else { return nil }
            self = .member(member, organisation)
        case .operator:
            guard let anOperator = OperatorID(bytes: bytes) else { return nil }
            self = .operator(anOperator)
        }
    }
}

/// What an account may be used for now.
enum AccountState: String, Codable, Sendable, CaseIterable {
    /// Everything that the account is for.
    case active
    /// The address must be confirmed first (`acc.confirm_required`, CON-04).
    case unconfirmed
    /// A child's account, until an adult has given the consents (ACC-36).
    case awaitingGuardian = "awaiting-guardian"
    /// Being erased: no log-in, nothing new (ACC-30).
    case closing
}

/// One row of `accounts`. Whatever the person said of themselves is in `sealedProfile` alone.
struct AccountRow: Sendable {
    let number: AccountNumber
    let subject: AccountSubject
    let state: AccountState
    let createdAt: Timestamp
    /// When the present address was confirmed; nil where it was not.
    let addressConfirmedAt: Timestamp?
    /// When mail to the present address last came back; nil where none did.
    let addressFailedAt: Timestamp?
    /// The version of the conditions that was accepted; nil before, and for members and operators.
    let termsVersion: String?
    /// When the owner took the account back and let no device of before read on; nil where that never happened.
    let readersSince: Timestamp?
    /// By `AccountLookups`.
    let emailLookup: [UInt8]
    let sealedProfile: [UInt8]
}

/// A value that serves one account only (ACC-04, CON-06).
enum AccountConflict: Error, Hashable, Sendable {
    case fiscalCode
    case email
    case userName
}
