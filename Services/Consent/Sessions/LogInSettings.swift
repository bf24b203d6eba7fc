// What an operator can set about log-ins, passwords and signing keys.

import Contracts
import ServiceKit

/// By what somebody may say who they are (CON-07).
enum LogInIdentifier: String, CaseIterable, Sendable {
    case email
    case username
    case fiscalCode = "fiscal_code"
}

/// Whether those who reach other people's data must have a second factor.
enum SecondFactorPolicy: String, CaseIterable, Sendable {
    case required
    case offered
}

struct LogInSettings: Sendable {
    let secondFactor: SecondFactorPolicy
    let identifiers: Set<LogInIdentifier>
    /// Whether a refusal tells an unknown name from a wrong password (CON-08: it should not).
    let detailedErrors: Bool
    /// Wrong log-ins in a row after which the owner is warned (ACC-12).
    let failNoticeAfter: Int
    /// Whether a password that the suite made must be changed before anything else (CON-03).
    let temporaryMustChange: Bool
    let temporaryLife: Duration
    let leastPasswordLength: Int
    let life: SessionLife
    let operatorLife: SessionLife
    let logInsPerMinute: Int
    let logInsInAllPerMinute: Int
    let recoveriesPerHour: Int
    let recoveryLife: Duration
    let invitationLife: Duration
    let keyPeriod: Duration

    init(_ reader: inout SettingsReader) {
        identifiers = reader.read(Self.identifierSetting)
        detailedErrors = reader.read(
            .flag("acc.detailed_login_errors", default: false, "Say whether the name or the password was wrong."))
        secondFactor = reader.read(
            .choice(
                "acc.second_factor", default: .required,
                "Whether operators and members of organisations must enrol a second factor at their next log-in; it is offered to everybody."
            ))
        failNoticeAfter = reader.read(
            .integer("acc.fail_notice_after", default: 3, in: 1...10, "Wrong log-ins in a row after which the owner gets a mail."))
        temporaryMustChange = reader.read(
            .flag("acc.temp_must_change", default: true, "A temporary password is good for choosing another one and nothing else."))
        temporaryLife = reader.read(.hours("acc.temp_hours", default: 72, in: 1...720, "How long a temporary password is good."))
        leastPasswordLength = reader.read(
            .integer("acc.password_least", default: 8, in: 8...64, "Characters that a password must have."))
        let absolute = reader.read(
            .hours("acc.session_hours", default: 720, in: 1...8760, "How long a session lives at most, however often it is used."))
        let idle = reader.read(.hours("acc.session_idle_hours", default: 336, in: 1...8760, "How long a session lives without being used."))
        life = SessionLife(idle: idle, absolute: absolute)
        let operatorAbsolute = reader.read(
            .hours("acc.operator_session_hours", default: 8, in: 1...720, "How long an operator's session lives at most."))
        operatorLife = SessionLife(idle: min(idle, operatorAbsolute), absolute: operatorAbsolute)
        logInsPerMinute = reader.read(
            .integer("acc.log_ins_per_minute", default: 20, in: 1...100_000, "Log-ins that one remote address may try in a minute."))
        logInsInAllPerMinute = reader.read(
            .integer("acc.log_ins_in_all_per_minute", default: 300, in: 1...1_000_000, "Log-ins that all together may try in a minute."))
        recoveriesPerHour = reader.read(
            .integer("acc.recoveries_per_hour", default: 20, in: 1...100_000, "Forgotten passwords that an address may report in an hour."))
        recoveryLife = reader.read(.hours("acc.recovery_hours", default: 2, in: 0.25...72, "How long a link for a new password is good."))
        invitationLife = reader.read(
            .hours("acc.invitation_hours", default: 168, in: 1...720, "How long the invitation of an organisation's member is good."))
        keyPeriod = reader.read(.hours("acc.key_hours", default: 720, in: 48...8760, "How long a key signs access tokens."))
    }

    private static let identifierSetting = Setting<Set<LogInIdentifier>>(
        "acc.login_ids", default: [.email],
        allowed: "one or more of \(LogInIdentifier.allCases.map(\.rawValue).joined(separator: ", ")), separated by commas",
        "By what people may say who they are."
    ) { value in
        LogInIdentifier.allCases.filter(value.contains).map(\.rawValue).joined(separator: ",")
    } parse: { text in
        let names = text.split(separator: ",", omittingEmptySubsequences: false).map { LogInIdentifier(rawValue: String($0).trimmed) }
        return names.contains(nil) ? nil : Set(names.compactMap { $0 })
    }

    /// Whose accounts must have one.
    var secondFactorKinds: Set<AccountKind> { secondFactor == .required ? [.operator, .member] : [] }

    /// What no session outlives.
    var longestLife: Duration { max(life.absolute, operatorLife.absolute) }

    func life(of kind: AccountKind) -> SessionLife {
        kind == .operator ? operatorLife : life
    }
}
