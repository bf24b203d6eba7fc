// The door by which somebody who is logged in chooses another password.

import Contracts
import HTTPKit

struct PasswordRoutes: Sendable {
    let changes: PasswordChanges

    var all: [Route] { [change] }

    private var change: Route {
        Route(
            .put, "/consent/v1/password", as: "changePassword", access: .passwordChange, summary: "Changes the password",
            description: """
                The old one once, the new one twice. Also the only thing that somebody can do who logged in with a temporary password; \
                the access token of the answer is then good for everything. A wrong old password counts as a failed log-in.
                """,
            body: .json(
                PasswordChangeBody.self,
                examples: [["old": "k3xv-9qrt-m2hw-7cpd", "new": "una frase che ricordo", "newAgain": "una frase che ricordo"]]),
            answers: [
                .json(200, "Changed", PasswordChangeAnswer.self).sending(.setCookie),
                .problem(422, "new-password-refused", "wrong-old-password"),
            ], isRateLimited: true
        ) { exchange in
            let session = try exchange.account.session
            let body: PasswordChangeBody = try await exchange.json()
            let token = try await changes.change(
                .init(
                    old: body.old, new: NewPassword(typed: body.new, again: body.newAgain), endsOtherSessions: body.endOtherSessions ?? true
                ),
                in: session)
            let expires = Int(SessionLife.accessToken.components.seconds)
            guard exchange.isByCookie else { return try .json(PasswordChangeAnswer(accessToken: token, expiresIn: expires)) }
            return try HTTPAnswer.json(PasswordChangeAnswer(accessToken: nil, expiresIn: expires))
                .with(cookie: .session(token, lasting: SessionLife.accessToken))
        }
    }
}

struct PasswordChangeBody: Codable, Sendable, Documented {
    var old: String
    var new: String
    var newAgain: String
    var endOtherSessions: Bool?

    static let schema = JSONSchema.object(
        .required("old", .string(length: 1...LogInBody.longestPassword, format: "password")),
        .required("new", .string(length: 1...LogInBody.longestPassword, format: "password")),
        .required("newAgain", .string(length: 1...LogInBody.longestPassword, format: "password"), "The same as `new`."),
        .optional("endOtherSessions", .boolean, "Whether everybody else who is logged in must log in again; true unless told.")
    ).named("PasswordChange")
}

struct PasswordChangeAnswer: Codable, Sendable, Documented {
    var accessToken: String?
    var expiresIn: Int

    static let schema = JSONSchema.object(
        .optional("accessToken", .string(), "For the same session; absent where a cookie holds it."),
        .required("expiresIn", .integer(in: 0...3600), "Seconds.")
    ).named("PasswordChanged")
}
