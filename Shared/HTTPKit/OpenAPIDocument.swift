// The OpenAPI 3.1 document of a service, made from its routes and from what it posts to others.

import Contracts
import HTTPTypes
import Synchronization

/// Holds every route, internal ones included, and what HTTPKit answers by itself.
package enum OpenAPIDocument {
    /// What several places refer to, each written once.
    private struct Components {
        var schemas: [String: JSONValue] = [:]
        var headers: [String: JSONValue] = [:]
    }

    private final class Written: Sendable {
        private let known = Mutex<String?>(nil)

        func text(_ write: () -> String) -> String {
            known.withLock { text in
                if let text { return text }
                let new = write()
                text = new
                return new
            }
        }
    }

    static func route(
        _ description: HTTPServer.Description, describing routes: [Route], _ webhooks: [WebhookDescription] = []
    ) -> Route {
        @Sendable func itself(_ text: @escaping @Sendable () -> String) -> Route {
            Route(
                .get, "/\(description.prefix)/openapi.json", as: "getOpenAPIDocument", access: .anyone, summary: "This document",
                answers: [.json(200, "OpenAPI 3.1", .anything)]
            ) { _ in .text(text(), contentType: MediaType.json) }
        }
        // Written when somebody asks first: a service is back before it has described itself.
        let written = Written()
        return itself {
            written.text { json(description, routes: routes + [itself { "" }], webhooks: webhooks).text }
        }
    }

    /// The same routes and webhooks in the same order give the same bytes.
    package static func json(
        _ description: HTTPServer.Description, routes: [Route], webhooks: [WebhookDescription] = []
    ) -> JSONValue {
        var components = Components()
        for content in routes.compactMap(\.body).filter(\.isChecked).flatMap(\.contents) where content.mediaType == MediaType.json {
            // First of all, so that a schema that is used in answers too says what its requests are held to.
            _ = content.schema.json(&components.schemas, isClosed: true)
        }
        _ = Problem.schema.json(&components.schemas)
        var paths: [JSONValue.Member] = []
        for route in routes {
            let operation = JSONValue.Member(route.method.rawValue.lowercased(), self.operation(route, &components))
            if let index = paths.firstIndex(where: { $0.name == route.path }), case .object(let others) = paths[index].value {
                paths[index].value = .object(others + [operation])
            } else {
                paths.append(.init(route.path, .object([operation])))
            }
        }
        let messages = webhooks.map { JSONValue.Member($0.name, ["post": operation($0, &components)]) }
        var document: [JSONValue.Member] = [
            .init("openapi", "3.1.0"),
            .init(
                "info",
                [
                    "title": .string(description.title), "version": .string(description.version), "summary": .string(description.summary),
                    "license": ["name": "Apache-2.0", "identifier": "Apache-2.0"],
                ]),
            .init("servers", [["url": "/"]]),
            .init("tags", .array(tags(of: routes).map { ["name": .string($0)] })),
            .init("paths", .object(paths)),
        ]
        if !messages.isEmpty { document.append(.init("webhooks", .object(messages))) }
        document.append(
            .init(
                "components",
                [
                    "schemas": sorted(components.schemas), "headers": sorted(components.headers),
                    "securitySchemes": .object(OpenAPISecurity.schemes(of: routes, description.clientCredentials)),
                ]))
        return .object(document)
    }

    private static func sorted(_ members: [String: JSONValue]) -> JSONValue {
        .object(members.sorted { $0.key < $1.key }.map { .init($0.key, $0.value) })
    }

    private static func operation(_ route: Route, _ components: inout Components) -> JSONValue {
        var members: [JSONValue.Member] = [
            .init("operationId", .string(route.operationID)), .init("tags", [.string(tag(of: route.path))]),
            .init("summary", .string(route.summary)),
        ]
        if !route.description.isEmpty { members.append(.init("description", .string(route.description))) }
        if route.isInternal { members.append(.init("x-internal", true)) }
        members.append(.init("security", OpenAPISecurity.requirement(of: route)))
        let parameters = undeclared(route) + route.parameters + (route.takesIdempotencyKey ? [idempotencyKey] : [])
        if !parameters.isEmpty {
            members.append(.init("parameters", .array(parameters.map { parameter($0, &components) })))
        }
        if let body = route.body {
            members.append(
                .init("requestBody", ["required": true, "content": content(body.contents, &components, isClosed: body.isChecked)]))
        }
        members.append(.init("responses", .object(answers(route, &components))))
        return .object(members)
    }

    // MARK: Tags

    /// What the path is about: its first segment behind the service and its version.
    private static func tag(of path: String) -> String {
        let segments = path.split(separator: "/")
        let isOfService = segments.count > 2 && segments[1].first == "v"
        return String(isOfService ? segments[2] : segments.first ?? "")
    }

    /// In the order in which they are met.
    private static func tags(of routes: [Route]) -> [String] {
        routes.map { tag(of: $0.path) }.reduce(into: []) { tags, tag in
            if !tags.contains(tag) { tags.append(tag) }
        }
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

    private static func parameter(_ parameter: Parameter, _ components: inout Components) -> JSONValue {
        [
            "name": .string(parameter.name), "in": .string(parameter.place.rawValue), "required": .bool(parameter.isRequired),
            "description": .string(parameter.description), "schema": parameter.schema.json(&components.schemas),
        ]
    }

    /// - Parameter isClosed: whether members that the schema does not name are refused, as of every JSON body that is checked.
    private static func content(
        _ contents: [BodyShape.Content], _ components: inout Components, isClosed: Bool = false
    ) -> JSONValue {
        .object(
            contents.map { content in
                let isClosed = isClosed && content.mediaType == MediaType.json
                var members = [JSONValue.Member("schema", content.schema.json(&components.schemas, isClosed: isClosed))]
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
    private static func answers(_ route: Route, _ components: inout Components) -> [JSONValue.Member] {
        let all = route.answers + ownAnswers(route)
        let statuses = Set(all.map(\.status)).sorted()
        return statuses.map { status in
            let same = all.filter { $0.status == status }
            var contents: [BodyShape.Content] = []
            for content in same.flatMap(\.contents) where !contents.contains(where: { $0.mediaType == content.mediaType }) {
                contents.append(content)
            }
            var members = [JSONValue.Member("description", .string(same.map(\.description).joined(separator: "; ")))]
            let headers = declared(route, status, same)
            members.append(.init("headers", .object(headers.map { header($0, &components) })))
            if !contents.isEmpty { members.append(.init("content", content(contents, &components))) }
            return .init(String(status), .object(members))
        }
    }

    /// Every header that an answer of this status may have, by its name.
    private static func declared(_ route: Route, _ status: Int, _ answers: [Answer]) -> [AnswerHeader] {
        var headers: [AnswerHeader] = []
        for header in AnswerHeader.own(of: route, status: status) + answers.flatMap(\.headers) + route.headers
        where !headers.contains(where: { $0.name == header.name }) {
            headers.append(header)
        }
        return headers.sorted { $0.name.rawName < $1.name.rawName }
    }

    private static func header(_ header: AnswerHeader, _ components: inout Components) -> JSONValue.Member {
        let name = header.name.rawName
        if components.headers[name] == nil { components.headers[name] = header.json }
        return .init(name, ["$ref": .string("#/components/headers/\(name)")])
    }

    // MARK: What is posted to others

    private static func operation(_ webhook: WebhookDescription, _ components: inout Components) -> JSONValue {
        var members: [JSONValue.Member] = [
            .init("operationId", .string(webhook.operationID)), .init("summary", .string(webhook.summary)),
        ]
        if !webhook.description.isEmpty { members.append(.init("description", .string(webhook.description))) }
        // Signed, so that whoever takes it asks for no credentials of this document.
        members.append(.init("security", []))
        members.append(.init("parameters", .array(webhook.headers.map { parameter($0, &components) })))
        members.append(.init("requestBody", ["required": true, "content": content([webhook.body], &components)]))
        let replies = webhook.replies.map { reply in
            var said = [JSONValue.Member("description", .string(reply.description))]
            if !reply.contents.isEmpty { said.append(.init("content", content(reply.contents, &components))) }
            return JSONValue.Member(reply.status, .object(said))
        }
        members.append(.init("responses", .object(replies)))
        return .object(members)
    }

    // MARK: What HTTPKit answers by itself

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
        // By the service where it says so, and by the budget of every caller.
        if !route.isInternal { answers.append(.problem(429, "too-many-requests")) }
        answers += [.problem(500, "internal"), .problem(503, "unavailable")]
        if route.method != .get { answers.append(.problem(507, "insufficient-storage")) }
        return answers
    }
}
