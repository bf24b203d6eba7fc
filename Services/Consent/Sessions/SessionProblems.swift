// What log-ins, sessions, passwords and mailed links can refuse.

import Contracts

extension Problem {
    /// The one message for whatever is wrong (ACC-11).
    static let credentialsNotValid = Problem(
        "credentials-not-valid", status: 401, title: "Credentials not valid",
        detail: """
            Nobody with this name and password may log in here. Type the password again, or ask for a new one by “forgot password?”. \
            If you have just registered, first follow the link in the mail.
            """,
        errors: [.init(pointer: "/password", detail: "type it again; the name may stay as it is")])

    /// Only with `acc.detailed_login_errors`.
    static let unknownIdentifier = Problem(
        "unknown-identifier", status: 401, title: "Nobody is registered under this name",
        detail: "Correct the name, or register.", errors: [.init(pointer: "/login", detail: "is not registered")])

    /// Only with `acc.detailed_login_errors`.
    static let wrongPassword = Problem(
        "log-in-password-wrong", status: 401, title: "The password is wrong",
        detail: "Type it again, or ask for a new one by “forgot password?”.", errors: [.init(pointer: "/password", detail: "is wrong")])

    static let temporaryPasswordExpired = Problem(
        "temporary-password-expired", status: 403, title: "The temporary password is too old",
        detail: "Ask for a new one by “forgot password?”.")

    static let addressNotConfirmed = Problem(
        "address-not-confirmed", status: 403, title: "The e-mail address is not confirmed yet",
        detail: "Follow the link in the mail that was sent to it; it can be sent again.")

    static let guardianAwaited = Problem(
        "guardian-awaited", status: 403, title: "An adult has not consented yet",
        detail: "The account opens when the guardian follows the link in the mail that was sent to them.")

    /// Only to whoever has the password.
    static let secondFactorNeeded = Problem(
        "second-factor-needed", status: 401, title: "A code is needed too",
        detail: "Send the same again with `code`: six digits of your authenticator, or one of your recovery codes.",
        errors: [.init(pointer: "/code", detail: "is missing")])

    static let secondFactorNotRight = Problem(
        "second-factor-not-right", status: 401, title: "The code is not right",
        detail: "Each code is good once and for about a minute: wait for the next. Lost the authenticator? Use a recovery code.",
        errors: [.init(pointer: "/code", detail: "is wrong, too old, or was used already")])

    /// Where an authenticator is confirmed.
    static let secondFactorWrong = Problem(
        "second-factor-wrong", status: 422, title: "The code is not right",
        detail: "Nothing was changed. Wait for the authenticator's next code; if that is not right either, its clock may be wrong.",
        errors: [.init(pointer: "/code", detail: "is wrong, too old, or was used already")])

    static let secondFactorEnrolled = Problem(
        "second-factor-enrolled", status: 409, title: "A second factor is enrolled already",
        detail: "Take it away first: DELETE /consent/v1/second-factor.")

    static let secondFactorMissing = Problem(
        "second-factor-missing", status: 409, title: "No second factor is enrolled",
        detail: "Enrol one first: POST /consent/v1/second-factor.")

    static let wrongProof = Problem(
        "wrong-proof", status: 422, title: "This does not prove who you are",
        detail: "Nothing was done. Type the password again, or wait for the authenticator's next code.",
        errors: [.init(pointer: "", detail: "password or code is wrong")])

    static let proofLacksCode = Problem(
        "wrong-proof", status: 422, title: "A code is needed too",
        detail: "Send the same again with `code`: six digits of your authenticator, or one of your recovery codes.",
        errors: [.init(pointer: "/code", detail: "is missing")])

    static let sessionOver = Problem(
        "session-over", status: 401, title: "The session is over", detail: "Log in again.",
        errors: [.init(pointer: "/refreshToken", detail: "is not valid any more")])

    static let wrongOldPassword = Problem(
        "wrong-old-password", status: 422, title: "The old password is wrong",
        detail: "The password was not changed. Type the old one again.", errors: [.init(pointer: "/old", detail: "is wrong")])

    /// - Parameter errors: what is wrong with the new password, field by field.
    static func newPasswordRefused(_ errors: [FieldError]) -> Problem {
        Problem(
            "new-password-refused", status: 422, title: "The new password cannot be taken",
            detail: "The password was not changed. Choose a new one and type it twice.", errors: errors)
    }
}
