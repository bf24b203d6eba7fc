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
            body: .json(Reading.schema, examples: [["at": "2026-01-10T00:31:00.000Z", "value": 0.5]]),
            answers: [.json(201, "Added", Reading.schema), .problem(422, "impossible-value")], isRateLimited: true,
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
        #expect(try operation("post")["operationId"] as? String == "postTestV1PersonsPersonReadings")
        #expect(try operation("get")["operationId"] as? String == "getTestV1PersonsPersonReadings")
    }

    @Test("Every answer that HTTPKit can give by itself is documented where it can occur")
    func answers() throws {
        let post = try #require(try operation("post")["responses"] as? [String: [String: Any]])
        #expect(post.keys.sorted() == ["201", "400", "401", "403", "404", "408", "413", "415", "422", "429", "500", "503"])
        #expect(post["422"]?["description"] as? String == "`impossible-value`; `invalid-body`; `idempotency-conflict`")
        #expect((post["413"]?["content"] as? [String: Any])?.keys.first == "application/problem+json")
        let get = try #require(try operation("get")["responses"] as? [String: Any])
        #expect(get.keys.sorted() == ["200", "400", "404", "500", "503"])
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
}
