// Whether somebody reads an address: confirming it, correcting it, and changing it for another.

import Contracts
import Foundation
import HTTPKit
import ServiceKit
import Storage

struct AddressService: Sendable {
    /// Mails to one account's addresses within an hour, so that nobody fills a stranger's mailbox.
    static let mailsPerHour = 5

    let store: Store
    let repository: AccountRepository
    let ending: SessionEndingStore

    /// What the page of a link shows.
    struct Shown: Sendable {
        let address: EmailAddress
        let language: Language
    }

    // MARK: Confirming

    /// Without using the link up.
    /// - Throws: `Problem.linkNotValid`.
    func shown(_ token: String, _ purpose: MailLinkPurpose, at: Timestamp) async throws -> Shown {
        try MailLinkStore.requireToken(token)
        return try await store.readBriefly { [repository] db in
            guard let link = try repository.links.find(db, token, purpose: purpose, at: at) else { throw Problem.linkNotValid }
            let contact = try repository.vault.contact(repository.require(db, link.account))
            guard purpose == .changeAddress || purpose == .undoAddress else {
                return Shown(address: contact.email, language: contact.language)
            }
            guard let new = EmailAddress(String(decoding: link.payload, as: UTF8.self)) else { throw Problem.linkNotValid }
            return Shown(address: new, language: contact.language)
        }
    }

    /// Somebody followed the link in the first mail and said yes.
    /// - Throws: `AccountConflict` where the fiscal code or, meanwhile, the address is another account's.
    func confirm(_ token: String, at: Timestamp, trace: String) async throws {
        try await repository.links.require(token, purpose: .confirmAddress, in: store, at: at)
        let claim = try await store.write { [repository] db -> AccountRepository.Claim in
            guard let link = try repository.links.use(db, token, purpose: .confirmAddress, at: at) else { throw Problem.linkNotValid }
            let row = try repository.require(db, link.account)
            // A link to an address that is not the account's any more confirms nothing. Those made before a registration claimed
            // nothing hold the look-up.
            let address = try repository.vault.contact(row).email
            guard link.payload == Array(address.folded.utf8) || link.payload == repository.lookups.email(address) else {
                throw Problem.linkNotValid
            }
            let claim = try repository.claim(db, row, at: at)
            guard claim == .made else { return claim }
            try repository.table.confirmAddress(db, link.account, at: at)
            try repository.advance(db, link.account, at: at, trace: trace)
            return claim
        }
        // Only now, so that the mail to the owner is on its way.
        if case .taken(let conflict) = claim { throw conflict }
    }

    // MARK: Correcting, before anybody has confirmed

    /// How the first mail fared.
    /// - Parameter token: of the answer to the registration.
    func state(_ token: String, at: Timestamp) async throws -> AccountRow {
        try MailLinkStore.requireToken(token)
        return try await store.readBriefly { [repository] db in
            guard let link = try repository.links.find(db, token, purpose: .correctAddress, at: at) else { throw Problem.linkNotValid }
            return try repository.require(db, link.account)
        }
    }

    /// Sends the mail again, to another address where one is given (ACC-07).
    /// - Throws: `address-already-confirmed`, `AccountConflict.email`, 429.
    func sendAgain(_ token: String, to corrected: EmailAddress?, at: Timestamp) async throws -> AccountRow {
        try await repository.links.require(token, purpose: .correctAddress, in: store, at: at)
        return try await store.write { [repository] db in
            guard let link = try repository.links.find(db, token, purpose: .correctAddress, at: at) else { throw Problem.linkNotValid }
            return try repository.sendAgain(db, link.account, to: corrected, at: at)
        }
    }

    /// As the other, for somebody who is logged in.
    func sendAgain(to person: PersonID, at: Timestamp) async throws -> AccountRow {
        try await store.write { [repository] db in
            try repository.sendAgain(db, repository.requirePerson(db, person).number, to: nil, at: at)
        }
    }

    // MARK: Changing

    /// Asks the new address; until somebody there says yes, the old one stays (ACC-19), and is told at once.
    func change(_ person: PersonID, to new: EmailAddress, at: Timestamp) async throws {
        try await store.write { [repository] db in
            let row = try repository.requirePerson(db, person)
            try repository.requireFewMails(db, row.number, .changeAddress, at: at)
            let holder = try repository.table.find(db, email: repository.lookups.email(new))
            let isTaken = holder.map { $0.number != row.number } ?? false
            try repository.mail.changeAddress(db, row, repository.vault.profile(row), to: new, isTaken: isTaken, at: at)
            try repository.mail.addressChangeAsked(db, row, repository.vault.profile(row), at: at)
            // The answer is the same: only whoever reads the address learns whose it is.
            if isTaken, let holder { try repository.notify(db, holder, at: at) }
        }
    }

    /// Somebody at the new address said yes: it is the account's, and the old one is told.
    /// - Throws: `AccountConflict.email` where another account has taken it meanwhile.
    func confirmChange(_ token: String, at: Timestamp) async throws {
        try await repository.links.require(token, purpose: .changeAddress, in: store, at: at)
        try await store.write { [repository] db in
            guard let link = try repository.links.use(db, token, purpose: .changeAddress, at: at),
                let new = EmailAddress(String(decoding: link.payload, as: UTF8.self))
            else { throw Problem.linkNotValid }
            let row = try repository.require(db, link.account)
            var profile = try repository.vault.profile(row)
            let old = profile.email
            try repository.table.setEmail(db, row.number, lookup: repository.lookups.email(new), confirmedAt: at)
            profile.email = new
            try repository.setProfile(db, row, profile)
            for purpose in [MailLinkPurpose.confirmAddress, .correctAddress, .recover] {
                try repository.links.forget(db, account: row.number, purpose: purpose)
            }
            try repository.mail.addressChanged(db, row, profile, from: old, at: at)
        }
    }

    // MARK: Taking a change back

    /// Somebody at the address before said that it was not them: the address is the account's again, whoever is logged in is logged out,
    /// no link that was mailed elsewhere holds, and a link for a new password goes to it.
    /// - Throws: `link-not-valid`; `AccountConflict.email` where another account has taken it meanwhile.
    func undo(_ token: String, at: Timestamp) async throws {
        try await repository.links.require(token, purpose: .undoAddress, in: store, at: at)
        try await store.write { [repository, ending] db in
            guard let link = try repository.links.use(db, token, purpose: .undoAddress, at: at),
                let old = EmailAddress(String(decoding: link.payload, as: UTF8.self))
            else { throw Problem.linkNotValid }
            let row = try repository.require(db, link.account)
            guard row.state != .closing else { throw Problem.linkNotValid }
            var profile = try repository.vault.profile(row)
            try repository.table.setEmail(db, row.number, lookup: repository.lookups.email(old), confirmedAt: at)
            profile.email = old
            try repository.setProfile(db, row, profile)
            for purpose in [MailLinkPurpose.changeAddress, .confirmAddress, .correctAddress, .recover] {
                try repository.links.forget(db, account: row.number, purpose: purpose)
            }
            try repository.mail.addressTakenBack(db, row, profile, at: at)
            try ending.endAll(db, of: row.number, at: at)
        }
    }
}
