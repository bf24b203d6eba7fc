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
