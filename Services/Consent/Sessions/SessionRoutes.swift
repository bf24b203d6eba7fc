// The doors of log-in and log-out: for programs with tokens in the body, for browsers with cookies.

import Contracts
import HTTPKit
import HTTPTypes

struct SessionRoutes: Sendable {
    let logIns: LogIns
    let sessions: Sessions
    let reauthentications: Reauthentications

    var all: [Route] { [logIn, refresh, prove, list, endAll, logOut, end] }

    // MARK: In

    private var logIn: Route {
        Route(
            .post, "/consent/v1/sessions", as: "logIn", access: .anyone, summary: "Logs in",
            description: """
                People, members of organisations and operators alike. Whatever is wrong, the answer is the same. From the fifth failure \
                in a row on, the next try must wait as long as `Retry-After` says, a minute at most. With `cookie` the tokens come as \
                cookies that no script can read. Every log-in that succeeds also sets a cookie by which the browser is known: whoever \
                shows it is held up by no failures but those of the same browser.
                """,
            body: .json(
                LogInBody.self, examples: [["login": "anna@example.org", "password": "una frase che ricordo", "device": "Anna's phone"]]),
            answers: [
                .json(200, "Logged in", SessionAnswer.self).sending(.setCookie),
                .problem(401, "credentials-not-valid", "second-factor-needed", "second-factor-not-right"),
                .problem(401, Problem.unknownIdentifier.name, Problem.wrongPassword.name),
                .problem(403, "temporary-password-expired", "address-not-confirmed", "guardian-awaited", "wrong-origin"),
            ], isRateLimited: true
        ) { exchange in
            let body: LogInBody = try await exchange.json()
            let byCookie = body.cookie ?? false
            if byCookie { try exchange.refuseForeignOrigin() }
            let loggedIn = try await logIns.logIn(
                LogInAttempt(
                    login: body.login, password: body.password, kind: body.kind, device: Self.device(body.device, exchange),
                    address: exchange.remoteAddress, code: body.code, browser: exchange.cookie(Cookie.browserName)))
            return try Self.answer(loggedIn.tokens, byCookie: byCookie)
                .with(cookie: .browser(loggedIn.browser, lasting: KnownBrowsers.life))
        }
    }

    /// What the list of sessions shows: what the app says, else what the browser says.
    private static func device(_ named: String?, _ exchange: Exchange) -> String {
        let name = (named ?? exchange.header("User-Agent") ?? "").trimmed
        return name.isEmpty ? "–" : String(name.prefix(LogIns.longestDevice))
    }

    private static func answer(_ issued: IssuedTokens, byCookie: Bool) throws -> HTTPAnswer {
        guard byCookie else { return try .json(SessionAnswer(issued, withTokens: true)) }
        // The store's own end of the session decides; the cookie may live a little longer.
        return try HTTPAnswer.json(SessionAnswer(issued, withTokens: false))
            .with(cookie: .session(issued.accessToken, lasting: SessionLife.accessToken))
            .with(cookie: .refresh(issued.refreshToken, lasting: .seconds(30 * 24 * 3600)))
    }

    private var refresh: Route {
        Route(
            .post, "/consent/v1/sessions/refresh", as: "refreshSession", access: .anyone, summary: "Gets the next access token",
            description: """
                The refresh token is good once: the answer holds the next. Where the answer was lost, the same token gets the same answer \
                again for a minute, until the next one has been used; after that, and with any older token, the session ends. Browsers send \
                `{}` and their cookies, and `Origin`.
                """,
            parameters: [
                .header(
                    "Idempotency-Key", .string(length: 1...IdempotencyRule.longestKey),
                    "Not needed: the token itself says what is asked again.")
            ],
            body: .json(RefreshBody.self),
            answers: [
                .json(200, "Refreshed", SessionAnswer.self).sending(.setCookie), .problem(401, "session-over"),
                .problem(403, "wrong-origin"),
            ]
        ) { exchange in
            let body: RefreshBody = try await exchange.json()
            // Taken as everywhere, and refused where it is malformed.
            _ = try exchange.idempotencyKey
            if let token = body.refreshToken {
                return try Self.answer(try await sessions.refresh(token), byCookie: false)
            }
            guard let token = exchange.cookie(Cookie.refreshName) else { throw Problem.sessionOver }
            try exchange.requireOwnOrigin()
            return try Self.answer(try await sessions.refresh(token), byCookie: true)
        }
    }

    // MARK: Once more

    private var prove: Route {
        Route(
            .post, "/consent/v1/sessions/current/authentication", as: "authenticateAgain", access: .account,
            summary: "Proves once more who one is",
            description: """
                Password, or code of the second factor, or both; where a second factor is enrolled, never the password alone. The access token of the answer opens for five minutes what asks for a \
                fresh proof; elsewhere it is as any other. A wrong one counts as a failed log-in.
                """,
            body: .json(ProofBody.self, examples: [["password": "una frase che ricordo"]]),
            answers: [
                .json(200, "Proved", PasswordChangeAnswer.self).sending(.setCookie), .problem(422, "wrong-proof", "invalid-body"),
            ], isRateLimited: true
        ) { exchange in
            let session = try exchange.account.session
            let body: ProofBody = try await exchange.json()
            guard let proof = body.proof else {
                throw Problem.invalidBody([.init(pointer: "/password", .proofMissing)])
            }
            let token = try await reauthentications.prove(proof, in: session)
            let expires = Int(SessionLife.accessToken.components.seconds)
            guard exchange.isByCookie else { return try .json(PasswordChangeAnswer(accessToken: token, expiresIn: expires)) }
            return try HTTPAnswer.json(PasswordChangeAnswer(accessToken: nil, expiresIn: expires))
                .with(cookie: .session(token, lasting: SessionLife.accessToken))
        }
    }

    // MARK: What there is

    private var list: Route {
        Route(
            .get, "/consent/v1/sessions", access: .account, summary: "Where one is logged in, last used first",
            answers: [.json(200, "One's own sessions", Page<SessionItem>.self)]
        ) { exchange in
            let views = try await sessions.list(for: try exchange.account.session)
            return try .json(Page(items: views.map(SessionItem.init), next: nil))
        }
    }

    // MARK: Out

    private var logOut: Route {
        Route(
            .delete, "/consent/v1/sessions/current", as: "logOut", access: .passwordChange, summary: "Logs out on this device",
            description: "At once, in every service. What the answer names goes on until it is stopped by itself.",
            answers: [.json(200, "Logged out, and what goes on", LogOutAnswer.self).sending(.setCookie)]
        ) { exchange in
            let (holder, session) = try exchange.account
            try await sessions.end(session, for: session)
            let answer = try HTTPAnswer.json(LogOutAnswer(ended: 1, kind: holder.kind, language: exchange.language))
            return exchange.isByCookie ? answer.with(cookie: .removed).with(cookie: .refreshRemoved) : answer
        }
    }

    private var end: Route {
        Route(
            .delete, "/consent/v1/sessions/{session}", as: "logOutSession", access: .accountAnew, summary: "Logs out on one device",
            parameters: [.path("session", .identifier(Session.self), "One of one's own sessions.")],
            answers: [.json(200, "Logged out, and what goes on", LogOutAnswer.self), .problem(404, "not-found")]
        ) { exchange in
            let (holder, current) = try exchange.account
            try await sessions.end(try exchange.identifier("session", of: Session.self), for: current)
            return try .json(LogOutAnswer(ended: 1, kind: holder.kind, language: exchange.language))
        }
    }

    private var endAll: Route {
        Route(
            .delete, "/consent/v1/sessions", as: "logOutEverywhere", access: .accountAnew, summary: "Logs out everywhere",
            parameters: [.query("keepCurrent", .boolean, "Whether this session stays; it ends unless told.")],
            answers: [.json(200, "Logged out, and what goes on", LogOutAnswer.self).sending(.setCookie)]
        ) { exchange in
            let (holder, session) = try exchange.account
            let keepsCurrent = try exchange.queryFlag("keepCurrent") ?? false
            let ended = try await sessions.endAll(for: session, keepingCurrent: keepsCurrent)
            let answer = try HTTPAnswer.json(LogOutAnswer(ended: ended, kind: holder.kind, language: exchange.language))
            return exchange.isByCookie && !keepsCurrent ? answer.with(cookie: .removed).with(cookie: .refreshRemoved) : answer
        }
    }
}

extension Exchange {
    /// Whether whoever asks is a browser that was proved by its cookie.
    var isByCookie: Bool {
        header("Authorization") == nil && cookie(Cookie.sessionName) != nil
    }
}
