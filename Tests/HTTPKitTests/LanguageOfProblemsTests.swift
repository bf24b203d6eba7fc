// In which language whoever is refused is told.

import Contracts
import Foundation
import TestKit
import Testing

@testable import HTTPKit

@Suite("Language of problems")
struct LanguageOfProblemsTests {
    private struct Form: Codable, Sendable, Documented {
        var name: String
        var age: Int?

        static let schema = JSONSchema.object(.required("name", .string(length: 1...5)), .optional("age", .integer(in: 0...150)))
    }

    private static let route = Route(
        .post, "/test/v1/people", access: .anyone, summary: "Add", body: .json(Form.self), answers: [.json(200, "Added", .anything)]
    ) { exchange in
        let form: Form = try await exchange.json()
        return try .json([form.name])
    }

    @Test(
        "UI-04, UI-14: each wrong field has a code, and its text in the language that is asked for; English unless told",
        arguments: [
            ("", [:], false), ("", ["Accept-Language": "en"], false), ("", ["Accept-Language": "fr"], false),
            ("", ["Accept-Language": "it-CH, en;q=0.5"], true), ("?lang=it", ["Accept-Language": "en"], true),
            ("?lang=en", ["Accept-Language": "it"], false),
        ] as [(String, [String: String], Bool)])
    func fields(query: String, headers: [String: String], isItalian: Bool) async throws {
        try await withServer(Self.route) { port in
            let body = Array(#"{"age":1000,"other":1}"#.utf8)
            let answer = try await ask(
                port, "POST", "/test/v1/people\(query)", headers: headers.merging(["Content-Type": "application/json"]) { $1 }, body: body)
            let errors = try #require(answer.json["errors"] as? [[String: String]])
            #expect(answer.status == 422 && answer.problem == "invalid-body")
            #expect(errors.map { $0["pointer"] } == ["/age", "/other", "/name"])
            #expect(errors.map { $0["code"] } == ["out-of-range", "unknown-field", "required"])
            #expect(
                errors.map { $0["detail"] }
                    == (isItalian
                        ? ["deve essere un numero intero da 0 a 150", "qui non è previsto: va tolto", "manca: va compilato"]
                        : ["must be a whole number from 0 to 150", "is not known here: leave it out", "is missing: fill it in"]))
            #expect(
                answer.json["title"] as? String
                    == (isItalian ? "I dati inviati non hanno la forma giusta" : "The body does not have the right form"))
        }
    }

    @Test("UI-04: a refusal that a browser is shown as a page is in its language too")
    func page() async throws {
        let route = Route(.get, "/test/v1/page", access: .anyone, summary: "A page", answers: [.page(200, "Shown")]) { _ in
            throw Problem.invalidParameter("query:day", .notADay)
        }
        try await withServer(route) { port in
            let answer = try await ask(port, "GET", "/test/v1/page", headers: ["Accept": "text/html", "Accept-Language": "it"])
            #expect(answer.status == 400 && answer.text.contains("Un parametro non si può comprendere"))
            #expect(answer.text.contains("deve essere una data, come 2026-01-10") && !answer.text.contains("must be"))
        }
    }

    @Test("A problem that was sent is read back with its codes")
    func coding() throws {
        let problem = Problem.invalidBody([.init(pointer: "/a", .required)])
        let read = try JSONDecoder().decode(Problem.self, from: JSONEncoder().encode(problem.said(in: .italian)))
        #expect(read.errors?.map(\.code) == ["required"] && read.errors?.first?.detail == "manca: va compilato")
    }
}
