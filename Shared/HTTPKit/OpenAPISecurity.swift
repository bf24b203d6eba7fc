// Who may come in by an operation, as the OpenAPI document says it.

import Contracts

enum OpenAPISecurity {
    private static let cookie = "sessionCookie"
    private static let clientCredentials = "clientCredentials"

    /// One scheme for each kind of token that a route admits, and the browsers' cookie where accounts come in.
    static func schemes(of routes: [Route], _ credentials: HTTPServer.Description.ClientCredentials?) -> [JSONValue.Member] {
        let used = Set(routes.flatMap { tokens(of: $0.access) })
        var schemes = Access.allCases.filter(used.contains).map { access in
            var scheme: [JSONValue.Member] = [.init("type", "http"), .init("scheme", "bearer")]
            // Tokens of devices and of integrators say nothing to whoever holds them.
            if access.admitsAccounts { scheme.append(.init("bearerFormat", "JWT")) }
            scheme.append(.init("description", .string(description(of: access))))
            return JSONValue.Member(access.schemeName, .object(scheme))
        }
        if let credentials {
            let scopes = credentials.scopes.map { JSONValue.Member($0.name, .string($0.description)) }
            let flow: JSONValue = ["tokenUrl": .string(credentials.tokenPath), "scopes": .object(scopes)]
            schemes.append(
                .init(
                    clientCredentials,
                    [
                        "type": "oauth2", "flows": ["clientCredentials": flow],
                        "description": "Of an organisation's own programs. The token is opaque: nothing is to be read in it.",
                    ]))
        }
        if routes.contains(where: { $0.access.admitsAccounts }) {
            schemes.append(
                .init(
                    cookie,
                    [
                        "type": "apiKey", "in": "cookie", "name": .string(Cookie.sessionName),
                        "description": "The access token as a browser sends it; unsafe methods need `Origin` to be the suite's own.",
                    ]))
        }
        return schemes
    }

    /// One of these is enough.
    static func requirement(of route: Route) -> JSONValue {
        var ways = tokens(of: route.access).map { JSONValue.object([.init($0.schemeName, [])]) }
        if route.access == .organisation {
            ways.append(.object([.init(clientCredentials, .array(route.scopes.map(JSONValue.string)))]))
        }
        if route.access.admitsAccounts { ways.append(.object([.init(cookie, [])])) }
        return .array(ways)
    }

    /// The kinds of callers whose tokens open a route; clients of organisations have a scheme of their own.
    private static func tokens(of access: Access) -> [Access] {
        switch access {
        case .anyone: []
        case .owner: [.person, .device]
        case .organisation: [.member]
        default: [access]
        }
    }

    private static func description(of access: Access) -> String {
        switch access {
        case .device: "Token of a person's device, opaque."
        case .integrator: "Token of an organisation's software, opaque."
        case .person: "Access token (JWS with EdDSA) of a person's account."
        case .member: "Access token (JWS with EdDSA) of a member of an organisation."
        case .operator: "Access token (JWS with EdDSA) of an operator."
        case .account: "Access token (JWS with EdDSA) of any account."
        case .passwordChange: "Access token (JWS with EdDSA) of any account, also of one that must choose a new password first."
        case .personAnew: "Access token (JWS with EdDSA) of a person's account whose `auth_time` is less than 300 s ago."
        case .accountAnew: "Access token (JWS with EdDSA) of any account whose `auth_time` is less than 300 s ago."
        case .enrolment: "As `accountAnew`, also of an account that must enrol a second factor first."
        case .anyone, .owner, .organisation: ""
        }
    }
}

extension Access {
    /// Of the components of the document: no spaces.
    fileprivate var schemeName: String {
        switch self {
        case .passwordChange: "passwordChange"
        case .personAnew: "personAnew"
        case .accountAnew: "accountAnew"
        case .enrolment: "enrolment"
        default: rawValue
        }
    }
}
