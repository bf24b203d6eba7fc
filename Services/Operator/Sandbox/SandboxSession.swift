// One log-in at consent that is kept alive: the access token is good for ten minutes, the refresh token once.

struct SandboxSession: Sendable {
    private let client: PeopleClient
    private let login: String
    private let password: String
    private var accessToken: String?
    private var refreshToken: String?

    init(client: PeopleClient, login: String, password: String) {
        (self.client, self.login, self.password) = (client, login, password)
    }

    /// Logs in, for whoever needs one token only.
    func begin() async throws -> String {
        var session = self
        return try await session.token()
    }

    /// The token that is good as far as is known.
    mutating func token() async throws -> String {
        if let accessToken { return accessToken }
        return try await renew()
    }

    /// A token that is newer than the one that was refused.
    mutating func renew() async throws -> String {
        if let refreshToken {
            let reply = try await client.call("POST", .consent, "/consent/v1/sessions/refresh", body: ["refreshToken": refreshToken])
            if reply.status == 200, let token = keep(reply) { return token }
        }
        let body = ["login": login, "password": password, "device": "trackme sandbox"]
        let reply = try await client.call("POST", .consent, "/consent/v1/sessions", body: body).expecting(200, "logging in")
        guard let token = keep(reply) else {
            throw OperatorError(.failed, "the log-in's answer holds no token", mend: "see consent's log lines")
        }
        return token
    }

    private mutating func keep(_ reply: PeopleReply) -> String? {
        (accessToken, refreshToken) = (reply.text("accessToken"), reply.text("refreshToken"))
        return accessToken
    }
}
