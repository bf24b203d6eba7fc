// SQL sentences over second factors and what belongs in one transaction with them: a code that is taken, and the mail to its owner.

import Contracts
import GRDB
import Sealing
import ServiceKit

/// Second factors as log-ins, recoveries and enrolments share them.
struct SecondFactorBook: Sendable {
    /// Whose accounts must have one.
    let required: Set<AccountKind>
    let table: SecondFactorTable
    let vault: ProfileVault
    let outbox: MessageOutbox
    private static let place = "second_factors.secret"

    init(required: Set<AccountKind>, table: SecondFactorTable, vault: ProfileVault, outbox: MessageOutbox) {
        (self.required, self.table, self.vault, self.outbox) = (required, table, vault, outbox)
    }

    // MARK: Showing one

    /// Of an account whose first factor was right.
    enum Finding: Hashable, Sendable {
        /// Nothing more is asked of it.
        case notEnrolled
        case right
        case missing
        case wrong
    }

    /// Takes a code that is right, so that nobody can use it again.
    /// - Parameter code: an authenticator's, or a recovery code; nil where nothing was shown.
    func check(_ db: Database, _ account: AccountRow, _ code: String?, at now: Timestamp) throws -> Finding {
        guard let factor = try table.find(db, account.number), factor.confirmedAt != nil else { return .notEnrolled }
        guard let code else { return .missing }
        if try takes(db, factor, code, of: account, at: now) { return .right }
        guard let recovery = RecoveryCode.typed(code), try table.spend(db, account.number, recovery) else { return .wrong }
        try tell(db, account, .codeUsed, at: now)
        return .right
    }

    /// Whether it is an authenticator's code that is good now; nobody can use it again then.
    func takes(_ db: Database, _ factor: SecondFactorRow, _ code: String, of account: AccountRow, at now: Timestamp) throws -> Bool {
        guard let typed = OneTimePassword.typed(code) else { return false }
        let secret = try vault.open(factor.secret, at: Self.place, of: account.subject)
        // All of them, so that the time tells nothing.
        let right = OneTimePassword.steps(at: now, after: factor.lastStep).filter { step in
            let mac = Digest.hmacSHA1(OneTimePassword.message(step), keyBytes: secret)
            return Digest.constantTimeEqual(Array(OneTimePassword.text(of: mac).utf8), Array(typed.utf8))
        }
        guard let step = right.first else { return false }
        try table.use(db, account.number, step: step)
        return true
    }

    /// Whether a session of the account is good for enrolling alone.
    func mustEnrol(_ db: Database, _ account: AccountRow) throws -> Bool {
        guard required.contains(account.subject.kind) else { return false }
        return try table.find(db, account.number)?.confirmedAt == nil
    }

    /// Of an account that has changed hands: whoever enrolled it then is not its owner.
    func forget(_ db: Database, _ account: AccountNumber) throws {
        try table.remove(db, account)
    }

    func begin(_ db: Database, _ account: AccountRow, secret: [UInt8], at time: Timestamp) throws {
        try table.begin(db, account.number, secret: vault.seal(secret, at: Self.place, of: account.subject), at: time)
    }

    // MARK: Telling the owner

    enum Change: Sendable {
        case enrolled
        case removed
        case codesRenewed
        case codeUsed
    }

    func tell(_ db: Database, _ account: AccountRow, _ change: Change, at time: Timestamp) throws {
        let contact = try vault.contact(account)
        try outbox.enqueue(
            db,
            SendMessage(
                message: .random(), recipient: Recipient(person: account.subject.person, mail: contact.email.text), channels: [.mail],
                template: .secondFactorChanged, language: contact.language,
                values: ["name": contact.greeted, "time": time.rfc3339, "change": Self.words(change, contact.language)]))
    }

    private static func words(_ change: Change, _ language: Language) -> String {
        switch (change, language) {
        case (.enrolled, .english): "a second factor was enrolled: each log-in now asks for a code"
        case (.enrolled, .italian): "è stato aggiunto un secondo fattore: ogni accesso ora chiede un codice"
        case (.removed, .english): "the second factor was taken away"
        case (.removed, .italian): "il secondo fattore è stato tolto"
        case (.codesRenewed, .english): "new recovery codes were made; the earlier ones are worth nothing"
        case (.codesRenewed, .italian): "sono stati fatti nuovi codici di recupero; quelli di prima non valgono più"
        case (.codeUsed, .english): "somebody logged in with a recovery code in place of the authenticator"
        case (.codeUsed, .italian): "qualcuno ha avuto accesso con un codice di recupero al posto dell'autenticatore"
        }
    }
}
