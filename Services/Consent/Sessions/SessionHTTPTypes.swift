// What is said over HTTP about log-ins and sessions.

import Contracts
import HTTPKit

struct LogInBody: Codable, Sendable, Documented {
    /// Longer than any password, so that a slip in a long one is a wrong password and not a wrong form.
    static let longestPassword = 512
    static let longestLogin = 320

    var login: String
    var password: String
    var kind: AccountKind?
    var code: String?
    var device: String?
    var cookie: Bool?

    static let schema = JSONSchema.object(
        .required("login", .string(length: 1...longestLogin), "The e-mail address; where switched on, also the user name or fiscal code."),
        .required("password", .string(length: 1...longestPassword, format: "password")),
        .optional(
            "code", .string(length: 1...SecondFactorCodeBody.longest),
            "Where a second factor is enrolled: six digits, or a recovery code."),
        .optional("kind", accountKind, "Where only one kind of account is meant."),
        .optional("device", .string(length: 1...200), "What the device calls itself, for the list of sessions."),
        .optional("cookie", .boolean, "For browsers: the tokens come as cookies.")
    ).named("LogIn")

    static let accountKind = JSONSchema.oneOf(AccountKind.allCases.map(\.rawValue))
}

struct RefreshBody: Codable, Sendable, Documented {
    var refreshToken: String?

    static let schema = JSONSchema.object(
        .optional("refreshToken", .string(length: 1...200), "Absent where a cookie holds it.")
    ).named("Refresh")
}

/// `IssuedTokens` as it is answered: without the tokens where cookies hold them.
struct SessionAnswer: Hashable, Codable, Sendable {
    var session: SessionID
    var kind: AccountKind
    var accessToken: String?
    var expiresIn: Int
    var refreshToken: String?
    var sessionUntil: String
    var passwordChangeRequired: Bool
    var secondFactorRequired: Bool

    init(_ issued: IssuedTokens, withTokens: Bool) {
        (session, kind, expiresIn) = (issued.session, issued.kind, issued.expiresIn)
        (sessionUntil, passwordChangeRequired) = (issued.sessionUntil, issued.passwordChangeRequired)
        secondFactorRequired = issued.secondFactorRequired ?? false
        (accessToken, refreshToken) = withTokens ? (issued.accessToken, issued.refreshToken) : (nil, nil)
    }
}

extension SessionAnswer: Documented {
    static let schema = JSONSchema.object(
        .required("session", .identifier(Session.self)), .required("kind", LogInBody.accountKind),
        .optional("accessToken", .string(), "For `Authorization: Bearer`; absent where a cookie holds it."),
        .required("expiresIn", .integer(in: 0...3600), "Seconds that the access token is good for."),
        .optional("refreshToken", .string(), "Good once, for the next access token; absent where a cookie holds it."),
        .required("sessionUntil", .time, "When the session is over unless it is refreshed before."),
        .required(
            "passwordChangeRequired", .boolean, "The password was a temporary one: choose another first, nothing else is open before."),
        .required(
            "secondFactorRequired", .boolean,
            "Accounts of this kind must have a second factor: enrol one first, nothing else is open before.")
    ).named("Session")
}

/// One of the two, or both.
struct ProofBody: Codable, Sendable, Documented {
    var password: String?
    var code: String?

    static let schema = JSONSchema.object(
        .optional("password", .string(length: 1...LogInBody.longestPassword, format: "password")),
        .optional("code", .string(length: 1...SecondFactorCodeBody.longest), "Of the second factor, or a recovery code.")
    ).named("Proof")

    /// Nil where neither was sent.
    var proof: Reauthentications.Proof? {
        switch (password, code) {
        case (let password?, let code?): .both(password: password, code: code)
        case (let password?, nil): .password(password)
        case (nil, let code?): .code(code)
        case (nil, nil): nil
        }
    }
}

struct SessionItem: Codable, Sendable, Documented {
    var session: SessionID
    var device: String
    var createdAt: String
    var lastUsedAt: String
    var until: String
    var current: Bool

    init(_ view: SessionView) {
        (session, device, current) = (view.session, view.device, view.isCurrent)
        (createdAt, lastUsedAt, until) = (view.createdAt.rfc3339, view.usedAt.rfc3339, view.until.rfc3339)
    }

    static let schema = JSONSchema.object(
        .required("session", .identifier(Session.self)), .required("device", .string(), "What the device called itself at the log-in."),
        .required("createdAt", .time), .required("lastUsedAt", .time, "When it began or was last refreshed."),
        .required("until", .time, "When it is over unless it is refreshed before."),
        .required("current", .boolean, "Whether it is the one that asks.")
    ).named("SessionItem")
}

/// ACC-15: log-out ends access, and says what it does not end.
struct LogOutAnswer: Codable, Sendable, Documented {
    var ended: Int
    var goesOn: [String]
    var notice: String

    private static let afterPerson = ["device-uploads", "sos-supervision", "run-tracker"]

    init(ended: Int, kind: AccountKind, language: Language) {
        self.ended = ended
        goesOn = kind == .person ? Self.afterPerson : []
        notice = Self.notice(kind, language)
    }

    private static func notice(_ kind: AccountKind, _ language: Language) -> String {
        switch (kind, language) {
        case (.person, .english):
            """
            You are logged out. Your paired devices go on delivering, and AutomatedSOS and a running race tracker stay active until you \
            stop them.
            """
        case (.person, .italian):
            """
            Accesso terminato. I dispositivi associati continuano a inviare dati; AutomatedSOS e una corsa in corso restano attivi \
            finché non li ferma.
            """
        case (_, .english): "You are logged out."
        case (_, .italian): "Accesso terminato."
        }
    }

    static let schema = JSONSchema.object(
        .required("ended", .integer(in: 0...1000), "Sessions that were ended."),
        .required("goesOn", .array(of: .oneOf(afterPerson)), "What the log-out does not stop."),
        .required("notice", .string(), "The same for the person, in their language.")
    ).named("LogOut")
}
