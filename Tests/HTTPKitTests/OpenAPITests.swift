// The document that is made from the routes.

import Contracts
import Foundation
import TestKit
import Testing

@testable import HTTPKit

@Suite("OpenAPI document")
struct OpenAPITests {
    private struct Reading: Codable, Sendable, Documented {
        static var schema: JSONSchema {
            .object(.required("at", .time), .optional("value", .number(in: 0...1).nullable(), "How much")).named("Reading")
        }
    }

    private static let routes = [
        Route(
            .post, "/test/v1/persons/{person}/readings", access: .device, summary: "Add",
            parameters: [.path("person", .identifier(Person.self), "Whose"), .query("dryRun", .boolean, "Only look")],
            body: .json(Reading.self, examples: [["at": "2026-01-10T00:31:00.000Z", "value": 0.5]]),
            answers: [.json(201, "Added", Reading.schema).sending(.location), .problem(422, "impossible-value")],
            headers: [AnswerHeader(.known("RateLimit-Limit"), .integer(in: 1...9), "Calls")], isRateLimited: true,
            takesIdempotencyKey: true
        ) { _ in .empty() },
        Route(
            .get, "/test/v1/persons/{person}/readings", access: .anyone, summary: "List", parameters: [.limit, .after],
            answers: [.json(200, "A page", Page<Reading>.schema)]
        ) { _ in .empty() },
    ]

    private func document() throws -> [String: Any] {
        let text = OpenAPIDocument.json(description, routes: Self.routes).text
        return try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
    }

    private func operation(_ method: String) throws -> [String: Any] {
        let paths = try #require(try document()["paths"] as? [String: [String: [String: Any]]])
        return try #require(paths["/test/v1/persons/{person}/readings"]?[method])
    }

    @Test("It is OpenAPI 3.1 with the service's version, and holds every route once")
    func head() throws {
        let document = try document()
        #expect(document["openapi"] as? String == "3.1.0")
        #expect((document["info"] as? [String: Any])?["version"] as? String == "1.2.3")
        #expect(try operation("post")["operationId"] as? String == "createPersonReading")
        #expect(try operation("get")["operationId"] as? String == "listPersonReadings")
    }

    @Test("Every answer that HTTPKit can give by itself is documented where it can occur")
    func answers() throws {
        let post = try #require(try operation("post")["responses"] as? [String: [String: Any]])
        #expect(post.keys.sorted() == ["201", "400", "401", "403", "404", "408", "413", "415", "422", "429", "500", "503", "507"])
        #expect(post["422"]?["description"] as? String == "`impossible-value`; `invalid-body`; `idempotency-conflict`")
        #expect((post["413"]?["content"] as? [String: Any])?.keys.first == "application/problem+json")
        let get = try #require(try operation("get")["responses"] as? [String: Any])
        #expect(get.keys.sorted() == ["200", "400", "404", "429", "500", "503"])
    }

    @Test("Named schemas are written once and referred to")
    func components() throws {
        let components = try #require(try document()["components"] as? [String: [String: [String: Any]]])
        #expect(components["schemas"]?.keys.sorted() == ["FieldError", "Problem", "Reading", "ReadingPage"])
        #expect(components["schemas"]?["Reading"]?["required"] as? [String] == ["at"])
        #expect(components["securitySchemes"]?["device"]?["scheme"] as? String == "bearer")
        #expect(try operation("post")["security"] as? [[String: [String]]] == [["device": []]])
        #expect((try operation("get")["security"] as? [Any])?.isEmpty == true)
    }

    /// The names of the headers of every answer, by its status.
    private func headers(_ method: String) throws -> [String: [String]] {
        let answers = try #require(try operation(method)["responses"] as? [String: [String: Any]])
        return answers.mapValues { (($0["headers"] as? [String: Any]) ?? [:]).keys.sorted() }
    }

    @Test("Every answer names its headers: those that the route declares, and those that HTTPKit sends by itself")
    func headers() throws {
        let always = ["Cache-Control", "X-Request-Id"]
        let post = try headers("post")
        #expect(post["201"] == ["Cache-Control", "Idempotency-Replayed", "Location", "RateLimit-Limit", "X-Request-Id"])
        #expect(post["401"] == ["Cache-Control", "RateLimit-Limit", "WWW-Authenticate", "X-Request-Id"])
        for status in ["429", "503"] { #expect(post[status] == ["Cache-Control", "RateLimit-Limit", "Retry-After", "X-Request-Id"]) }
        #expect(try headers("get")["200"] == always)
        let components = try #require(try document()["components"] as? [String: [String: [String: Any]]])
        let written = try #require(components["headers"])
        #expect(Set(post.values.joined()).union(always) == Set(written.keys), "each is written once")
        #expect(written["Retry-After"]?["required"] as? Bool == true && written["Location"]?["required"] as? Bool == false)
        #expect(written.values.allSatisfy { !(($0["description"] as? String) ?? "").isEmpty && $0["schema"] != nil })
    }

    @Test("A page's headers stand at the page and at every refusal, which may be one as well")
    func pageHeaders() throws {
        let page = Route(.get, "/test/v1/page", access: .anyone, summary: "A page", answers: [.page(200, "Shown")]) { _ in .empty() }
        let text = OpenAPIDocument.json(description, routes: [page]).text
        let document = try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
        let paths = try #require(document["paths"] as? [String: [String: [String: Any]]])
        let answers = try #require(paths["/test/v1/page"]?["get"]?["responses"] as? [String: [String: Any]])
        for (status, answer) in answers {
            let names = (answer["headers"] as? [String: Any])?.keys.map { $0 } ?? []
            #expect(Set(names).isSuperset(of: ["Content-Language", "Content-Security-Policy", "Referrer-Policy"]), "\(status)")
        }
    }

    @Test("Every 429 and 503 says when to come again, also where whoever refused did not know")
    func retryAfter() async throws {
        let refusing = [Problem.unavailable, .tooManyRequests, .forbidden].enumerated().map { index, problem in
            Route(.get, "/test/v1/refused/\(index)", access: .anyone, summary: "Refuses", answers: [Answer(204, "Never")]) { _ in
                throw problem
            }
        }
        try await withServer(makeServer(refusing)) { port in
            for index in 0..<2 {
                let wait = try await ask(port, "GET", "/test/v1/refused/\(index)").headers["retry-after"]
                #expect(wait.flatMap { Int($0) } ?? 0 > 0)
            }
            #expect(try await ask(port, "GET", "/test/v1/refused/2").headers["retry-after"] == nil)
        }
    }

    @Test("What is posted to others stands under webhooks: with its headers, its body, and what answers mean")
    func webhooks() throws {
        let told = WebhookDescription(
            "reading.made", summary: "There is one", headers: [.header("webhook-id", .string(), required: true, "The same each time")],
            body: .init(MediaType.json, Reading.schema, examples: [["at": "2026-01-10T00:31:00.000Z"]]),
            replies: [.init("2XX", "Taken"), .init("default", "Again later")])
        let text = OpenAPIDocument.json(description, routes: Self.routes, webhooks: [told]).text
        let document = try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
        let post = try #require((document["webhooks"] as? [String: [String: [String: Any]]])?["reading.made"]?["post"])
        #expect(post["operationId"] as? String == "webhookReadingMade")
        #expect((post["parameters"] as? [[String: Any]])?.map { $0["name"] as? String } == ["webhook-id"])
        #expect((post["responses"] as? [String: Any])?.keys.sorted() == ["2XX", "default"])
        #expect("\(post["requestBody"] ?? "")".contains("#/components/schemas/Reading"))
        #expect(try self.document()["webhooks"] == nil, "a service that posts nothing has none")
    }

    @Test("Parameters have their place, and the idempotency key is one of them")
    func parameters() throws {
        let parameters = try #require(try operation("post")["parameters"] as? [[String: Any]])
        #expect(parameters.map { $0["name"] as? String } == ["person", "dryRun", "Idempotency-Key"])
        #expect(parameters.map { $0["in"] as? String } == ["path", "query", "header"])
        #expect(parameters.map { $0["required"] as? Bool } == [true, false, false])
    }

    @Test("A running server gives the document with all its routes, health and itself included")
    func served() async throws {
        try await withServer(makeServer(Self.routes)) { port in
            let answer = try await ask(port, "GET", "/test/openapi.json")
            #expect(answer.headers["content-type"] == "application/json")
            let paths = try #require(answer.json["paths"] as? [String: [String: [String: Any]]])
            #expect(
                paths.keys.sorted() == [
                    "/health/live", "/health/ready", "/metrics", "/test/openapi.json", "/test/v1/persons/{person}/readings",
                ])
            #expect(paths["/metrics"]?["get"]?["x-internal"] as? Bool == true)
        }
    }

    @Test("Text with quotes, control characters and other alphabets is valid JSON again")
    func escaping() throws {
        let text = JSONValue.array(["a\"b\\c\n\u{1}\u{7F}è😀", 1.5, 3.0, -7, true, nil]).text
        let read = try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [Any])
        #expect(read[0] as? String == "a\"b\\c\n\u{1}\u{7F}è😀")
        #expect(text.hasSuffix(",1.5,3,-7,true,null]"))
    }

    @Test(
        "An operation is called as a person would call a method",
        arguments: [
            (Route.Method.get, "/test/v1/requests", "listRequests"), (.get, "/test/v1/requests/{request}", "getRequest"),
            (.get, "/test/v1/activities/{activity}/parts", "listActivityParts"), (.post, "/test/v1/accesses", "createAccess"),
            (.get, "/test/v1/health-status", "getHealthStatus"), (.put, "/test/v1/tracking", "setTracking"),
            (.patch, "/test/v1/devices/{device}", "updateDevice"), (.delete, "/test/v1/devices/{device}", "deleteDevice"),
            (.post, "/test/v1/confirm-address/{token}", "submitConfirmAddress"), (.get, "/health/live", "getHealthLive"),
        ])
    func names(method: Route.Method, path: String, name: String) {
        #expect(OperationName.derived(method, path) == name)
        #expect(Route(method, path, as: "another", access: .anyone, summary: "", answers: []) { _ in .empty() }.operationID == "another")
    }

    @Test("A body that is held to its schema refuses members that are not named; answers and free bodies do not say so")
    func closed() throws {
        let components = try #require(try document()["components"] as? [String: [String: [String: Any]]])
        #expect(components["schemas"]?["Reading"]?["additionalProperties"] as? Bool == false)
        #expect(components["schemas"]?["ReadingPage"]?["additionalProperties"] == nil)
    }

    @Test("Opaque tokens are not declared as JWT, and clients of organisations are told where to get theirs and for which scopes")
    func schemes() throws {
        let routes = [
            Route(.get, "/test/v1/data", access: .organisation, scopes: ["data:read"], summary: "", answers: []) { _ in .empty() },
            Route(.get, "/test/v1/own", access: .owner, summary: "", answers: []) { _ in .empty() },
        ]
        var described = description
        described.clientCredentials = .init(tokenPath: "/test/v1/oauth/token", scopes: [("data:read", "Take data.")])
        let text = OpenAPIDocument.json(described, routes: routes).text
        let document = try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
        let schemes = try #require((document["components"] as? [String: Any])?["securitySchemes"] as? [String: [String: Any]])
        #expect(Set(schemes.keys) == ["member", "person", "device", "clientCredentials", "sessionCookie"])
        #expect(schemes["device"]?["bearerFormat"] == nil && schemes["member"]?["bearerFormat"] as? String == "JWT")
        let flow = (schemes["clientCredentials"]?["flows"] as? [String: [String: Any]])?["clientCredentials"]
        #expect(flow?["tokenUrl"] as? String == "/test/v1/oauth/token")
        #expect(flow?["scopes"] as? [String: String] == ["data:read": "Take data."])
        let paths = try #require(document["paths"] as? [String: [String: [String: Any]]])
        #expect(
            paths["/test/v1/data"]?["get"]?["security"] as? [[String: [String]]]
                == [["member": []], ["clientCredentials": ["data:read"]], ["sessionCookie": []]])
        #expect(paths["/test/v1/own"]?["get"]?["tags"] as? [String] == ["own"])
    }
}
