// Bodies read into types: every fault is named with its place, and forms are read as browsers write them.

import Contracts
import Foundation
import NIOCore
import Synchronization
import TestKit
import Testing

@testable import HTTPKit

@Suite("Reading bodies")
struct BodyReadingTests {
    private struct Person: Codable, Sendable, Documented {
        struct Place: Codable, Sendable { var city: String }
        var name: String
        var age: Int
        var weight: Double?
        var kind: String
        var at: Timestamped?
        var places: [Place]
        var person: PersonID?

        struct Timestamped: Codable, Sendable {
            init(from decoder: any Decoder) throws { _ = try decoder.singleValueContainer().decode(String.self) }
            func encode(to encoder: any Encoder) throws {}
        }

        static var schema: JSONSchema {
            .object(
                .required("name", .string(length: 1...5)), .required("age", .integer(in: 0...150)),
                .optional("weight", .number(in: 1...500).nullable()), .required("kind", .oneOf(["a", "b"])), .optional("at", .time),
                .required("places", .array(of: .object(.required("city", .string())), count: 0...2)),
                .optional("person", .identifier(Contracts.Person.self))
            ).named("Person")
        }
    }

    private static let route = Route(
        .post, "/people", access: .anyone, summary: "Add", body: .json(Person.self), answers: [.json(200, "Name", .anything)]
    ) { exchange in
        let person: Person = try await exchange.json()
        return try .json([person.name])
    }

    private func errors(_ body: String) async throws -> (status: Int, problem: String?, errors: [String: String]) {
        let found = Mutex<(status: Int, problem: String?, errors: [String: String])?>(nil)
        try await withServer(Self.route) { port async throws in
            let answer = try await ask(port, "POST", "/people", headers: asJSON, body: Array(body.utf8))
            let errors = (answer.json["errors"] as? [[String: String]] ?? []).map { ($0["pointer"] ?? "", $0["detail"] ?? "") }
            let read = (answer.status, answer.problem, Dictionary(errors, uniquingKeysWith: { first, _ in first }))
            found.withLock { $0 = read }
        }
        return try #require(found.withLock { $0 })
    }

    @Test("a body that fits is decoded; an absent member and a null one are the same where it may be absent")
    func fits() async throws {
        let body = #"{"name":"Ada","age":36,"weight":null,"kind":"a","places":[{"city":"Milano"}],"person":null}"#
        #expect(try await errors(body).status == 200)
    }

    @Test("UI-14: every fault of a body is named at once, with its place and what is right there; nothing sent is repeated")
    func faults() async throws {
        let found = try await errors(
            #"{"name":"too long","age":1.5,"weight":0.5,"kind":"secret-value","at":"noon","places":[{"city":1},{},{"city":"x","extra":1}],"person":"per_x","more/~":1}"#
        )
        #expect(found.status == 422 && found.problem == "invalid-body")
        #expect(
            found.errors == [
                "/name": "must have 1 to 5 characters", "/age": "must be a whole number", "/weight": "must be a number from 1 to 500",
                "/kind": "must be one of a, b", "/at": "must be a time like 2026-01-10T00:31:00.000Z",
                "/places": "must have 0 to 2 items", "/places/0/city": "must be text", "/places/1/city": "is missing: fill it in",
                "/places/2/extra": "is not known here: leave it out", "/person": "has not the right form",
                "/more~1~0": "is not known here: leave it out",
            ])
    }

    @Test(
        "what is missing is named",
        arguments: [
            ("{}", ["/name", "/age", "/kind", "/places"]), ("[]", [""]), ("1", [""]), ("null", [""]), ("", [""]), ("{\"name\":", [""]),
            (#"{"name":null,"age":1,"kind":"a","places":[]}"#, ["/name"]),
        ])
    func missing(body: String, pointers: [String]) async throws {
        let found = try await errors(body)
        #expect(found.status == 422 && found.problem == "invalid-body")
        #expect(Set(found.errors.keys) == Set(pointers))
    }

    @Test("rubbish without end gets a short answer")
    func bounded() async throws {
        let members = (0..<5000).map { #""m\#($0)":1"# }.joined(separator: ",")
        #expect(try await errors("{\(members)}").errors.count <= 50)
        let name = String(repeating: "n", count: 10_000)
        #expect(try await errors(#"{"\#(name)":1}"#).errors.keys.allSatisfy { $0.count < 70 })
    }

    @Test("a form's fields are read as browsers write them")
    func form() throws {
        let form = try #require(FormFields(Array("name=Ada+Lovelace&mail=a%40b.it&empty=&spaces=++&terms=on&secret=+x+".utf8)))
        #expect(form["name"] == "Ada Lovelace" && form["mail"] == "a@b.it")
        #expect(form["empty"] == nil && form["spaces"] == nil && form["absent"] == nil)
        #expect(form.isTicked("terms") && !form.isTicked("absent"))
        #expect(form.exactly("secret") == " x ")
    }

    @Test("a form that cannot be read is refused", arguments: ["a=%", "a=%zz", "a=%ff", "a=1&a=2", "a=%00"])
    func badForm(text: String) async throws {
        #expect(FormFields(Array(text.utf8)) == nil)
        let route = Route(.post, "/form", access: .anyone, summary: "Form", body: .form(.anything), answers: []) { exchange in
            .text(try await exchange.form()["a"] ?? "")
        }
        try await withServer(route) { port async throws in
            let form = ["Content-Type": MediaType.form]
            #expect(try await ask(port, "POST", "/form", headers: form, body: Array(text.utf8)).problem == "invalid-body")
            #expect(try await ask(port, "POST", "/form", headers: form, body: Array("a=1%202".utf8)).text == "1 2")
            #expect(try await ask(port, "POST", "/form", headers: asJSON, body: Array("{}".utf8)).status == 415)
        }
    }

    @Test("X2: a form was read by its characters, which a text of combining marks makes slow: it is read by its bytes")
    func marks() throws {
        let form = try #require(FormFields(Array("a=+\u{301}b&c\u{301}=d".utf8)))
        #expect(form.exactly("a") == " \u{301}b" && form.exactly("c\u{301}") == "d")
    }

    @Test("a form with more fields than anybody needs is refused")
    func manyFields() {
        #expect(FormFields(Array((0...FormFields.most).map { "f\($0)=1" }.joined(separator: "&").utf8)) == nil)
    }
}
