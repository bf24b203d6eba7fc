// SQL sentences about mails to account holders: each is enqueued where its reason is stored, and what comes back is noted.

import Contracts
import Foundation
import GRDB
import ServiceKit

/// Writes the mails of registration and profiles. Also keeps, for a month, which message went to which account's own address, so that
/// a mail that cannot be delivered is shown to the person (ACC-07).
struct AccountMailStore: Sendable {
    let outbox: MessageOutbox
    let links: MailLinkStore
    /// `https://host:port`.
    let publicOrigin: String
    let confirmTime: Duration
    let guardianTime: Duration
    let temporaryPasswordTime: Duration

    /// How long the address before may take a change back.
    static let undoTime: Duration = .seconds(7 * 24 * 3600)
    /// How long a message's fate is waited for.
    static let memory: Duration = .seconds(30 * 24 * 3600)

    static func create(in db: Database) throws {
        try db.execute(
            sql: """
                CREATE TABLE account_mails (
                    message BLOB PRIMARY KEY,
                    account INTEGER NOT NULL REFERENCES accounts (number) ON DELETE CASCADE,
                    email_lookup BLOB NOT NULL,
                    at INTEGER NOT NULL
                ) STRICT, WITHOUT ROWID;
                CREATE INDEX account_mails_by_account ON account_mails (account);
                CREATE INDEX account_mails_by_time ON account_mails (at);
                """)
    }

    // MARK: To the account's own address

    /// Confirms the registration; following the link confirms the address (ACC-07).
    func accountCreated(_ db: Database, _ row: AccountRow, _ profile: Profile, at: Timestamp) throws {
        let link = try confirmLink(db, row, profile, at: at)
        try send(db, .accountCreated, ["name": profile.name, "link": link], to: row, profile, at: at)
    }

    /// Asks once more whether somebody reads the address.
    func confirmAddress(_ db: Database, _ row: AccountRow, _ profile: Profile, at: Timestamp) throws {
        let link = try confirmLink(db, row, profile, at: at)
        try send(
            db, .confirmAddress, ["name": profile.name, "link": link, "hours": Self.hours(confirmTime)], to: row, profile, at: at)
    }

    func temporaryPassword(_ db: Database, _ row: AccountRow, _ profile: Profile, _ password: String, at: Timestamp) throws {
        try send(
            db, .temporaryPassword, ["name": profile.name, "password": password, "hours": Self.hours(temporaryPasswordTime)], to: row,
            profile, at: at)
    }

    func guardianAnswered(_ db: Database, _ row: AccountRow, _ profile: Profile, consented: Bool, at: Timestamp) throws {
        let answer =
            switch (profile.language, consented) {
            case (.italian, true): "ha acconsentito"
            case (.italian, false): "non ha acconsentito"
            case (.english, true): "has consented"
            case (.english, false): "has not consented"
            }
        // Without the person: the message outlives an account that ends with this answer.
        let recipient = Recipient(person: consented ? row.subject.person : nil, mail: profile.email.text)
        try enqueue(db, .guardianAnswered, ["name": profile.name, "answer": answer], to: recipient, profile.language)
    }

    /// Where `confirmAddress` is not sent because the address is somebody's: a link that nobody is given, so that asking again is
    /// limited, and takes as long, as if it were nobody's.
    func countConfirmation(_ db: Database, _ row: AccountRow, _ profile: Profile, at: Timestamp) throws {
        _ = try confirmLink(db, row, profile, at: at)
    }

    /// The payload names the address: links for an earlier one of the account do not confirm this one.
    private func confirmLink(_ db: Database, _ row: AccountRow, _ profile: Profile, at: Timestamp) throws -> String {
        let token = try links.make(
            db, purpose: .confirmAddress, account: row.number, payload: Array(profile.email.folded.utf8), at: at, lasting: confirmTime)
        return "\(publicOrigin)/consent/v1/confirm-address/\(token)"
    }

    /// To the owner of an account whose address or fiscal code somebody has given for another one.
    func alreadyRegistered(_ db: Database, _ holder: AccountRow, _ contact: AccountContact, at: Timestamp) throws {
        try enqueue(
            db, .alreadyRegistered, ["name": contact.greeted, "time": at.rfc3339, "link": "\(publicOrigin)/consent/v1/recovery"],
            to: Recipient(person: holder.subject.person, mail: contact.email.text), contact.language)
    }

    /// Whoever holds a stolen token reads the inbox, too: it goes everywhere.
    func phoneChanged(_ db: Database, _ row: AccountRow, _ profile: Profile, at: Timestamp) throws {
        try enqueue(
            db, .phoneChanged, ["name": profile.name, "time": at.rfc3339],
            to: Recipient(person: row.subject.person, mail: profile.email.text), by: [.mail, .inbox, .push], profile.language)
    }

    // MARK: To other addresses

    /// To the new address: only following the link makes it the account's. Where it is another account's already, no mail is sent.
    func changeAddress(
        _ db: Database, _ row: AccountRow, _ profile: Profile, to address: EmailAddress, isTaken: Bool, at: Timestamp
    ) throws {
        try links.forget(db, account: row.number, purpose: .changeAddress)
        let token = try links.make(
            db, purpose: .changeAddress, account: row.number, payload: Array(address.text.utf8), at: at, lasting: confirmTime)
        guard !isTaken else { return }
        try enqueue(
            db, .changeAddress,
            [
                "name": profile.name, "link": "\(publicOrigin)/consent/v1/change-address/\(token)", "hours": Self.hours(confirmTime),
            ], to: Recipient(person: row.subject.person, mail: address.text), profile.language, notAfter: at + confirmTime)
    }

    /// To the address that is still the account's: whoever reads it may stop what was asked for.
    func addressChangeAsked(_ db: Database, _ row: AccountRow, _ profile: Profile, at: Timestamp) throws {
        // It holds for as long after the latest moment at which the change can happen.
        let link = try undoLink(db, row, to: profile.email, at: at, lasting: confirmTime + Self.undoTime)
        try enqueue(
            db, .addressChangeAsked, ["name": profile.name, "time": at.rfc3339, "link": link],
            to: Recipient(person: row.subject.person, mail: profile.email.text), profile.language)
    }

    /// To the address that was the account's until now.
    func addressChanged(_ db: Database, _ row: AccountRow, _ profile: Profile, from old: EmailAddress, at: Timestamp) throws {
        let link = try undoLink(db, row, to: old, at: at, lasting: Self.undoTime)
        try enqueue(
            db, .addressChanged, ["name": profile.name, "time": at.rfc3339, "link": link],
            to: Recipient(person: row.subject.person, mail: old.text), profile.language)
    }

    /// To an address that has come back: whoever changed it may know the password.
    func addressTakenBack(_ db: Database, _ row: AccountRow, _ profile: Profile, at: Timestamp) throws {
        let token = try links.make(db, purpose: .recover, account: row.number, at: at, lasting: confirmTime)
        try enqueue(
            db, .recoverPassword,
            ["name": profile.name, "link": publicOrigin + RecoveryRoutes.path(.recover, token), "hours": Self.hours(confirmTime)],
            to: Recipient(person: row.subject.person, mail: profile.email.text), profile.language, notAfter: at + confirmTime)
    }

    private func undoLink(
        _ db: Database, _ row: AccountRow, to address: EmailAddress, at: Timestamp, lasting: Duration
    ) throws -> String {
        let token = try links.make(
            db, purpose: .undoAddress, account: row.number, payload: Array(address.text.utf8), at: at, lasting: lasting)
        return "\(publicOrigin)/consent/v1/undo-address/\(token)"
    }

    /// Asks an adult to consent for a child (ACC-36).
    func guardianConsent(_ db: Database, _ row: AccountRow, _ profile: Profile, to guardian: EmailAddress, at: Timestamp) throws {
        try links.forget(db, account: row.number, purpose: .guardian)
        try askGuardian(db, row, profile, guardian, about: [], at: at, lasting: guardianTime)
    }

    /// Asks the same adult to answer an organisation's request for the child.
    func guardianRequest(
        _ db: Database, _ row: AccountRow, _ profile: Profile, _ matter: GuardianMatter, at: Timestamp, until: Timestamp
    ) throws {
        guard let guardian = profile.guardian else { return }
        try askGuardian(db, row, profile, guardian, about: Array(JSONEncoder().encode(matter)), at: at, lasting: until - at)
    }

    private func askGuardian(
        _ db: Database, _ row: AccountRow, _ profile: Profile, _ guardian: EmailAddress, about payload: [UInt8], at: Timestamp,
        lasting: Duration
    ) throws {
        let token = try links.make(db, purpose: .guardian, account: row.number, payload: payload, at: at, lasting: lasting)
        try enqueue(
            db, .guardianConsent,
            [
                "name": guardian.text, "child": "\(profile.name) \(profile.surname)",
                "link": "\(publicOrigin)/consent/v1/guardian/\(token)", "hours": Self.hours(lasting),
            ], to: Recipient(person: row.subject.person, mail: guardian.text), profile.language, notAfter: at + lasting)
    }

    // MARK: Sending

    private func send(
        _ db: Database, _ template: MessageTemplate, _ values: [String: String], to row: AccountRow, _ profile: Profile, at: Timestamp
    ) throws {
        let message = try enqueue(
            db, template, values, to: Recipient(person: row.subject.person, mail: profile.email.text), profile.language)
        try db.cachedStatement(sql: "INSERT INTO account_mails (message, account, email_lookup, at) VALUES (?, ?, ?, ?)")
            .execute(arguments: [message, row.number, Data(row.emailLookup), at])
    }

    @discardableResult
    private func enqueue(
        _ db: Database, _ template: MessageTemplate, _ values: [String: String], to recipient: Recipient,
        by channels: Set<Channel> = [.mail], _ language: Language, notAfter: Timestamp? = nil
    ) throws -> MessageID {
        let message = MessageID.random()
        try outbox.enqueue(
            db,
            SendMessage(
                message: message, recipient: recipient, channels: channels, template: template, language: language, values: values,
                notAfter: notAfter))
        return message
    }

    private static func hours(_ duration: Duration) -> String {
        String(Int((duration / .seconds(3600)).rounded()))
    }

    // MARK: What became of them

    /// Notes a mail that came back, unless the address has changed since; for the follower of `notify.deliveries`.
    func settled(_ db: Database, _ settled: MessageSettled, at: Timestamp) throws {
        guard settled.channel == .mail else { return }
        let row = try Row.fetchOne(
            db.cachedStatement(sql: "SELECT account, email_lookup FROM account_mails WHERE message = ?"),
            arguments: [settled.message])
        guard let row else { return }
        let account = try AccountStore().find(db, number: row[0])
        if settled.state == .failed, let account, account.emailLookup == [UInt8](row[1] as Data) {
            try AccountStore().addressFailed(db, account.number, at: at)
        }
        try db.cachedStatement(sql: "DELETE FROM account_mails WHERE message = ?").execute(arguments: [settled.message])
    }

    func expire(_ db: Database, now: Timestamp) throws {
        try db.cachedStatement(sql: "DELETE FROM account_mails WHERE at < ?").execute(arguments: [now - Self.memory])
    }
}
