// From what somebody types at the log-in to the account it names, and to the run of failures it counts in.

import Contracts
import Sealing

/// What was typed, read as everything that it may be.
struct LogInNames: Sendable {
    let identifiers: Set<LogInIdentifier>
    let lookups: AccountLookups
    /// `runtime.lookupKey(for: "log-in-runs")`.
    let runKey: LookupKey

    /// Keyed digests to look for, in the order in which they are tried.
    struct Wanted: Sendable {
        var email: [UInt8]?
        var userName: [UInt8]?
        var fiscalCode: [UInt8]?
    }

    func wanted(_ typed: String) -> Wanted {
        var wanted = Wanted()
        if identifiers.contains(.email) { wanted.email = EmailAddress(typed).map(lookups.email) }
        if identifiers.contains(.fiscalCode) { wanted.fiscalCode = PersonIdentifier(typed).map(lookups.fiscalCode) }
        if identifiers.contains(.username) { wanted.userName = UserName(typed).map(lookups.userName) }
        return wanted
    }

    // MARK: Whose failures

    /// Of an account, by whatever name it was tried.
    func subject(of account: AccountNumber) -> [UInt8] {
        runKey.lookup("account:\(account)")
    }

    /// Of an account, tried from where its owner is logged in: strangers' failures do not make the owner wait.
    func subject(of account: AccountNumber, at address: String) -> [UInt8] {
        runKey.lookup("account:\(account) address:\(address)")
    }

    /// Of a name that nobody has: it is counted as if somebody had.
    func subject(ofUnknown typed: String) -> [UInt8] {
        runKey.lookup("name:" + typed.trimmed.lowercased())
    }

    /// Of a browser that is known under the name that was typed.
    func subject(of browser: KnownBrowser) -> [UInt8] {
        runKey.lookup(Array("browser:".utf8) + browser.id)
    }

    /// Where a known browser is: not at its address, behind which others may guess.
    func place(of browser: KnownBrowser) -> [UInt8] {
        runKey.lookup(Array("browser-address:".utf8) + browser.id)
    }

    func subject(ofAddress address: String) -> [UInt8] {
        runKey.lookup("address:" + address)
    }

    /// What a session remembers of where it began.
    func digest(ofAddress address: String) -> [UInt8] {
        runKey.lookup("session-address:" + address)
    }
}
