// The doors of forgotten passwords and invitations: an API for apps, and pages for whoever follows a mailed link.

import Contracts
import HTTPKit

struct RecoveryRoutes: Sendable {
    let recoveries: Recoveries

    var all: [Route] {
        [ask, choose, askPage, askForm] + [MailLinkPurpose.recover, .invitation].flatMap { [page($0), form($0)] }
    }

    /// The page of a link.
    static func path(_ purpose: MailLinkPurpose, _ token: String) -> String {
        "\(pages(purpose))/\(token)"
    }

    private static func pages(_ purpose: MailLinkPurpose) -> String {
        purpose == .invitation ? "/consent/v1/invitation" : "/consent/v1/recovery"
    }

    // MARK: For apps

    private var ask: Route {
        Route(
            .post, "/consent/v1/recoveries", as: "requestPasswordRecovery", access: .anyone, summary: "Asks for a new password",
            description: "The answer is the same whether or not somebody has an account at this address; a mail is sent only if so.",
            body: .json(RecoveryBody.self, examples: [["email": "anna@example.org"]]),
            answers: [.json(202, "If there is such an account, a mail is on its way", RecoveryAnswer.self)], isRateLimited: true
        ) { exchange in
            let body: RecoveryBody = try await exchange.json()
            let language = exchange.language
            try await recoveries.ask(email: body.email, language: language, address: exchange.remoteAddress)
            return try .json(RecoveryAnswer(notice: RecoveryPages(language: language).neutral), status: 202)
        }
    }

    private var choose: Route {
        Route(
            .post, "/consent/v1/recoveries/password", as: "recoverPassword", access: .anyone,
            summary: "Chooses a new password by a mailed link",
            description: """
                The token is the end of the link. It can be used once; all sessions end, and devices that were paired before read nothing any \
                more unless `keepDevices` says so (they go on delivering). Log in afterwards.
                """,
            body: .json(ChosenPasswordBody.self),
            answers: [
                Answer(204, "The password is set"), .problem(404, "link-not-valid"), .problem(422, "new-password-refused"),
            ], isRateLimited: true
        ) { exchange in
            let body: ChosenPasswordBody = try await exchange.json()
            try await recoveries.choose(
                NewPassword(typed: body.password, again: body.passwordAgain), by: body.token,
                body.invitation == true ? .invitation : .recover, keepsDevices: body.keepDevices ?? false,
                at: .init(first: "/password", second: "/passwordAgain"))
            return .empty()
        }
    }

    // MARK: Pages

    private var askPage: Route {
        Route(
            .get, "/consent/v1/recovery", as: "getRecoveryPage", access: .anyone, summary: "The page that asks for a new password",
            answers: [.page(200, "A form for the address")]
        ) { exchange in
            RecoveryPages(language: exchange.language).asking()
        }
    }

    private var askForm: Route {
        Route(
            .post, "/consent/v1/recovery", as: "submitRecoveryPage", access: .anyone, summary: "Sends the form of that page",
            body: .form(.object(.optional("email", .string()))),
            answers: [.page(200, "The neutral answer"), .page(422, "The form again"), .problem(403, "wrong-origin")],
            isRateLimited: true
        ) { exchange in
            try exchange.refuseForeignOrigin()
            let fields = try await exchange.form()
            let pages = RecoveryPages(language: exchange.language)
            let typed = fields["email"] ?? ""
            guard EmailAddress(typed) != nil else { return pages.asking(again: typed) }
            try await recoveries.ask(email: typed, language: exchange.language, address: exchange.remoteAddress)
            return try pages.asked()
        }
    }

    private func page(_ purpose: MailLinkPurpose) -> Route {
        Route(
            .get, "\(Self.pages(purpose))/{token}", access: .anyone, summary: "The page of a mailed link: a form for the new password",
            description: "Looking uses nothing up, so that whatever reads mail before its owner does no harm.",
            parameters: [.path("token", .string(), "The end of the mailed link.")],
            answers: [.page(200, "The form"), .page(404, "The link does not hold any more")]
        ) { exchange in
            let pages = RecoveryPages(language: exchange.language)
            guard try await recoveries.isOpen(exchange.path("token"), purpose) else { return pages.tooLate(purpose) }
            return try pages.choosing(purpose)
        }
    }

    private func form(_ purpose: MailLinkPurpose) -> Route {
        Route(
            .post, "\(Self.pages(purpose))/{token}", access: .anyone, summary: "Sends the form of that page",
            parameters: [.path("token", .string(), "The end of the mailed link.")],
            body: .form(
                .object(
                    .optional("password", .string()), .optional("passwordAgain", .string()),
                    .optional("keepDevices", .string(), "Ticked: paired devices read on."))),
            answers: [
                .page(200, "The password is set"), .page(404, "The link does not hold any more"), .page(422, "The form again"),
                .problem(403, "wrong-origin"),
            ],
            isRateLimited: true
        ) { exchange in
            try exchange.refuseForeignOrigin()
            let fields = try await exchange.form()
            let pages = RecoveryPages(language: exchange.language)
            let new = NewPassword(typed: fields.exactly("password") ?? "", again: fields.exactly("passwordAgain") ?? "")
            do {
                try await recoveries.choose(
                    new, by: exchange.path("token"), purpose, keepsDevices: fields["keepDevices"] != nil,
                    at: .init(first: "password", second: "passwordAgain"))
                return try pages.chosen()
            } catch let problem as Problem where problem.type == Problem.linkNotValid.type {
                return pages.tooLate(purpose)
            } catch let problem as Problem where problem.status == 422 {
                return try pages.choosing(purpose, faults: problem.errors ?? [])
            }
        }
    }
}

struct RecoveryBody: Codable, Sendable, Documented {
    var email: String

    static let schema = JSONSchema.object(.required("email", .string(length: 1...LogInBody.longestLogin))).named("Recovery")
}

struct RecoveryAnswer: Codable, Sendable, Documented {
    var notice: String

    static let schema = JSONSchema.object(.required("notice", .string(), "For the person, in their language.")).named("RecoveryAsked")
}

struct ChosenPasswordBody: Codable, Sendable, Documented {
    var token: String
    var password: String
    var passwordAgain: String
    var invitation: Bool?
    var keepDevices: Bool?

    static let schema = JSONSchema.object(
        .required("token", .string(length: 1...200), "The end of the mailed link."),
        .required("password", .string(length: 1...LogInBody.longestPassword, format: "password")),
        .required("passwordAgain", .string(length: 1...LogInBody.longestPassword, format: "password"), "The same again."),
        .optional("invitation", .boolean, "Whether the link was an invitation."),
        .optional(
            "keepDevices", .boolean,
            "Whether devices that were paired before go on reading; false unless told. Delivering goes on in any case.")
    ).named("ChosenPassword")
}
