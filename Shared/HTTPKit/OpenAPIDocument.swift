// The OpenAPI 3.1 document of a service, made from its routes.

import Contracts

/// Holds every route, internal ones included, and what HTTPKit answers by itself.
package enum OpenAPIDocument {
    static func route(_ description: HTTPServer.Description, describing routes: [Route]) -> Route {
        func itself(_ text: String) -> Route {
            Route(
                .get, "/\(description.prefix)/openapi.json", access: .anyone, summary: "This document",
                answers: [.json(200, "OpenAPI 3.1", .anything)]
            ) { _ in .text(text, contentType: MediaType.json) }
        }
        return itself(json(description, routes: routes + [itself("")]).text)
    }

    /// The same routes in the same order give the same bytes.
    package static func json(_ description: HTTPServer.Description, routes: [Route]) -> JSONValue {
        var components: [String: JSONValue] = [:]
        _ = Problem.schema.json(&components)
        var paths: [JSONValue.Member] = []
        for route in routes {
            let operation = JSONValue.Member(route.method.rawValue.lowercased(), self.operation(route, &components))
            if let index = paths.firstIndex(where: { $0.name == route.path }), case .object(let others) = paths[index].value {
                paths[index].value = .object(others + [operation])
            } else {
                paths.append(.init(route.path, .object([operation])))
            }
        }
        return [
            "openapi": "3.1.0",
            "info": [
                "title": .string(description.title), "version": .string(description.version), "summary": .string(description.summary),
                "license": ["name": "Apache-2.0", "identifier": "Apache-2.0"],
            ],
            "servers": [["url": "/"]],
            "paths": .object(paths),
            "components": [
                "schemas": .object(components.sorted { $0.key < $1.key }.map { .init($0.key, $0.value) }),
                "securitySchemes": .object(securitySchemes(routes)),
            ],
        ]
    }

    private static let cookieScheme = "sessionCookie"

    /// One scheme for each kind of caller that a route admits, and the browsers' cookie where accounts come in.
    private static func securitySchemes(_ routes: [Route]) -> [JSONValue.Member] {
        let used = Access.allCases.filter { access in access != .anyone && routes.contains { $0.access == access } }
        var schemes: [JSONValue.Member] = used.map { access in
            var scheme: [JSONValue.Member] = [.init("type", "http"), .init("scheme", "bearer")]
            if access.admitsAccounts, access != .owner { scheme.append(.init("bearerFormat", "JWT")) }
            scheme.append(.init("description", .string(Self.description(of: access))))
            return .init(access.schemeName, .object(scheme))
        }
        if used.contains(where: \.admitsAccounts) {
            schemes.append(
                .init(
                    cookieScheme,
                    [
                        "type": "apiKey", "in": "cookie", "name": .string(Cookie.sessionName),
                        "description": "The access token as a browser sends it; unsafe methods need `Origin` to be the suite's own.",
                    ]))
        }
        return schemes
    }

    private static func description(of access: Access) -> String {
        switch access {
        case .anyone: ""
        case .device: "Token of a person's device."
        case .integrator: "Token of an organisation's software."
        case .person: "Access token (JWS with EdDSA) of a person's account."
        case .member: "Access token (JWS with EdDSA) of a member of an organisation."
        case .operator: "Access token (JWS with EdDSA) of an operator."
        case .account: "Access token (JWS with EdDSA) of any account."
        case .passwordChange: "Access token (JWS with EdDSA) of any account, also of one that must choose a new password first."
        case .owner: "Access token (JWS with EdDSA) of a person's account, or the token of one of the person's devices."
        case .organisation: "Access token (JWS with EdDSA) of a member of an organisation, or of one of its API clients (OAuth 2)."
        }
    }

    private static func security(_ access: Access) -> JSONValue {
        guard access != .anyone else { return [] }
        let bearer = JSONValue.object([.init(access.schemeName, [])])
        return access.admitsAccounts ? [bearer, .object([.init(cookieScheme, [])])] : [bearer]
    }

    private static func operation(_ route: Route, _ components: inout [String: JSONValue]) -> JSONValue {
        var members: [JSONValue.Member] = [
            .init("operationId", .string(route.operationID)), .init("summary", .string(route.summary)),
        ]
        if !route.description.isEmpty { members.append(.init("description", .string(route.description))) }
        if route.isInternal { members.append(.init("x-internal", true)) }
        members.append(.init("security", security(route.access)))
        let parameters = undeclared(route) + route.parameters + (route.takesIdempotencyKey ? [idempotencyKey] : [])
        if !parameters.isEmpty {
            members.append(.init("parameters", .array(parameters.map { parameter($0, &components) })))
        }
        if let body = route.body {
            members.append(.init("requestBody", ["required": true, "content": content(body.contents, &components)]))
        }
        members.append(.init("responses", .object(answers(route, &components))))
        return .object(members)
    }

    /// A parameter of the path that the route does not describe is still one.
    private static func undeclared(_ route: Route) -> [Parameter] {
        let declared = Set(route.parameters.filter { $0.place == .path }.map(\.name))
        let names = RouteTable.parameterNames(of: route.path).filter { !declared.contains($0) }
        return names.map { .path($0, .string(), "") }
    }

    private static let idempotencyKey = Parameter.header(
        "Idempotency-Key", .string(length: 1...IdempotencyRule.longestKey, pattern: "^[ -~]+$"),
        "Kept for 24 hours: the same request under the same key gets the first answer again.")

    private static func parameter(_ parameter: Parameter, _ components: inout [String: JSONValue]) -> JSONValue {
        [
            "name": .string(parameter.name), "in": .string(parameter.place.rawValue), "required": .bool(parameter.isRequired),
            "description": .string(parameter.description), "schema": parameter.schema.json(&components),
        ]
    }

    private static func content(_ contents: [BodyShape.Content], _ components: inout [String: JSONValue]) -> JSONValue {
        .object(
            contents.map { content in
                var members = [JSONValue.Member("schema", content.schema.json(&components))]
                if !content.examples.isEmpty {
                    members.append(
                        .init(
                            "examples",
                            .object(content.examples.enumerated().map { .init("example\($0.offset + 1)", ["value": $0.element]) })))
                }
                return .init(content.mediaType, .object(members))
            })
    }

    /// The route's own answers and those that HTTPKit gives by itself, one per status.
    private static func answers(_ route: Route, _ components: inout [String: JSONValue]) -> [JSONValue.Member] {
        let all = route.answers + ownAnswers(route)
        let statuses = Set(all.map(\.status)).sorted()
        return statuses.map { status in
            let same = all.filter { $0.status == status }
            var contents: [BodyShape.Content] = []
            for content in same.flatMap(\.contents) where !contents.contains(where: { $0.mediaType == content.mediaType }) {
                contents.append(content)
            }
            var members = [JSONValue.Member("description", .string(same.map(\.description).joined(separator: "; ")))]
            if let headers = headers(status) { members.append(.init("headers", headers)) }
            if !contents.isEmpty { members.append(.init("content", content(contents, &components))) }
            return .init(String(status), .object(members))
        }
    }

    private static func headers(_ status: Int) -> JSONValue? {
        switch status {
        case 401: ["WWW-Authenticate": ["schema": ["type": "string"]]]
        case 429, 503: ["Retry-After": ["description": "Seconds", "schema": ["type": "integer"]]]
        default: nil
        }
    }

    private static func ownAnswers(_ route: Route) -> [Answer] {
        var answers: [Answer] = []
        if route.access != .anyone { answers += [.problem(401, "unauthorised"), .problem(403, "forbidden")] }
        if route.access.admitsAccounts { answers.append(.problem(403, "not-for-this-account", "password-change-required", "wrong-origin")) }
        if route.body != nil {
            answers += [
                .problem(400, "bad-encoding"), .problem(408, "request-timeout"), .problem(413, "body-too-large"),
                .problem(415, "unsupported-media-type", "unsupported-encoding"),
            ]
        }
        if route.body?.isChecked == true { answers.append(.problem(422, "invalid-body")) }
        if route.parameters.contains(where: { $0.place != .path }) || route.takesIdempotencyKey {
            answers.append(.problem(400, "invalid-parameter"))
        }
        if !RouteTable.parameterNames(of: route.path).isEmpty { answers.append(.problem(404, "not-found")) }
        if route.takesIdempotencyKey { answers.append(.problem(422, "idempotency-conflict")) }
        if route.isRateLimited { answers.append(.problem(429, "too-many-requests")) }
        return answers + [.problem(500, "internal"), .problem(503, "unavailable")]
    }
}

extension Access {
    /// Of the components of the document: no spaces.
    fileprivate var schemeName: String {
        self == .passwordChange ? "passwordChange" : rawValue
    }
}
