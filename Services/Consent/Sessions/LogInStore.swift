// SQL sentences about one log-in: counted before the password is looked at, and turned into a session or into one failure more.

import Contracts
import Foundation
import GRDB
import Sealing

/// A log-in that may be tried.
struct LogInTry: Sendable {
    /// Nil where nobody has the name that was typed.
    let account: AccountRow?
    let credential: Credential?
    /// Whose run of failures it counts in.
    let subject: [UInt8]
    let address: [UInt8]
}

/// What becomes of a try when it begins.
enum LogInTurn: Sendable {
    case go(LogInTry)
    /// So many failures that the next one must wait.
    case wait(Duration)
}

struct LogInStore: Sendable {
    let names: LogInNames
    let credentials: CredentialStore
    private let runs = LogInRuns()
    private let accounts = AccountStore()
    private let sessions = SessionStore()

    init(names: LogInNames, credentials: CredentialStore) {
        (self.names, self.credentials) = (names, credentials)
    }

    /// Counts the try as a failure until it turns out to be right, so that many at once count too and a crash forgets none. Names
    /// that nobody has take the same way as those that somebody has.
    /// - Parameter browser: where it is known under the typed name: neither strangers nor its address hold it up.
    func begin(
        _ db: Database, typed: String, address: String, browser: KnownBrowser?, at now: Timestamp
    ) throws -> LogInTurn {
        let account = try find(db, typed)
        // -1 is nobody's number: the same questions are asked of the store.
        let number = account?.number ?? -1
        let isKnownAddress = try sessions.isKnown(db, address: names.digest(ofAddress: address), of: number)
        let credential = try credentials.find(db, account: number)
        let subject =
            if let account {
                isKnownAddress ? names.subject(of: account.number, at: address) : names.subject(of: account.number)
            } else {
                names.subject(ofUnknown: typed)
            }
        let begun = LogInTry(
            account: account, credential: credential, subject: browser.map { names.subject(of: $0) } ?? subject,
            address: browser.map(names.place(of:)) ?? names.subject(ofAddress: address))
        return try count(db, begun, at: now)
    }

    /// As `begin`, for somebody who is logged in and shows the old password.
    func begin(_ db: Database, account: AccountRow, at now: Timestamp) throws -> LogInTurn {
        let begun = LogInTry(
            account: account, credential: try credentials.find(db, account: account.number), subject: names.subject(of: account.number),
            address: names.subject(ofAddress: "session of \(account.number)"))
        return try count(db, begun, at: now)
    }

    private func count(_ db: Database, _ begun: LogInTry, at now: Timestamp) throws -> LogInTurn {
        let ofSubject = try runs.find(db, begun.subject, at: now)
        let ofAddress = try runs.find(db, begun.address, at: now)
        let waits = [
            LogInThrottle.account.wait(after: ofSubject, at: now), LogInThrottle.address.wait(after: ofAddress, at: now),
        ].compactMap { $0 }
        if let wait = waits.max() { return .wait(wait) }
        try runs.save(db, begun.subject, LogInThrottle.account.adding(to: ofSubject, at: now))
        try runs.save(db, begun.address, LogInThrottle.address.adding(to: ofAddress, at: now))
        return .go(begun)
    }

    /// The password was right: the account's run is over, and the address has one failure less.
    func succeeded(_ db: Database, _ begun: LogInTry) throws {
        try runs.end(db, begun.subject)
        try runs.takeBack(db, begun.address)
        if let account = begun.account { try runs.end(db, names.subject(of: account.number)) }
    }

    /// The password was never looked at, since too many others were.
    func tookBack(_ db: Database, _ begun: LogInTry) throws {
        try runs.takeBack(db, begun.subject)
        try runs.takeBack(db, begun.address)
    }

    /// True once in a run of failures, when it has become long enough to warn the owner.
    func isOwnerToBeNotified(_ db: Database, _ begun: LogInTry, from count: Int) throws -> Bool {
        try runs.isOwnerToBeNotified(db, begun.subject, from: count)
    }

    /// Whoever proves by mail who they are need not wait any more.
    func forgetFailures(_ db: Database, of account: AccountNumber) throws {
        try runs.end(db, names.subject(of: account))
    }

    func expire(_ db: Database, at now: Timestamp) throws {
        try runs.expire(db, before: now - LogInThrottle.account.memory)
    }

    private func find(_ db: Database, _ typed: String) throws -> AccountRow? {
        let wanted = names.wanted(typed)
        if let email = wanted.email, let row = try accounts.find(db, email: email) { return row }
        if let code = wanted.fiscalCode, let row = try accounts.find(db, fiscalCode: code) { return row }
        if let name = wanted.userName, let row = try accounts.find(db, userName: name) { return row }
        return nil
    }
}
