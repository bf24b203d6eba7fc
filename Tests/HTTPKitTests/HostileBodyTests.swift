// Bodies that are made to keep a service busy, held against a schema and sent to a server.

import Contracts
import Foundation
import Synchronization
import TestKit
import Testing

@testable import HTTPKit

@Suite("Hostile bodies", .serialized)
struct HostileBodyTests {
    private static let inner = JSONSchema.object(
        .optional("a", .anything), .optional("id", .identifier(Person.self)), .optional("n", .number(in: 0...1)), .optional("t", .time))
    private static let schema = JSONSchema.object(
        .required("name", .string(length: 1...50)), .required("kind", .oneOf(["a", "b"])), .required("count", .integer(in: 0...9)),
        .required("map", .map(of: inner)), .required("list", .array(of: inner, count: 0...5)),
        .required("ids", .array(of: .identifier(Person.self))), .required("any", .any(of: inner, .array(of: inner), .string())),
        .required("free", .anything), .required("flag", .boolean))
    private static let members = ["name", "kind", "count", "map", "list", "ids", "any", "free", "flag"]

    private func time(_ bytes: [UInt8]) -> Double {
        (0..<3).map { _ in ProcessorBudget.time { _ = try? bytes.withUnsafeBytes { try Self.schema.faults(in: $0) } } }.min() ?? 0
    }

    @Test("X1: a schema is held against any body in time linear in its bytes, wherever in it the body stands", arguments: HostileBody.all)
    func linear(_ hostile: HostileBody) {
        let budget = ProcessorBudget()
        let bodies = [{ hostile.bytes($0) }] + Self.members.map { member in { hostile.bytes($0, in: member) } }
        for body in bodies {
            let (once, twice) = (body(20_000), body(40_000))
            let (first, second) = (time(once), time(twice))
            #expect(second <= budget.most(forBytes: twice.count), "\(second / 1000) µs for \(twice.count) bytes")
            #expect(second < 3 * first + 1e6 * budget.slowness)
        }
    }

    @Test("X1: 512 objects in objects, and 40,000 combining marks, are refused as `invalid-body` with the reason and the place")
    func refused() async throws {
        let checked = BodyShape([.init(MediaType.json, Self.schema)], isChecked: true)
        let route = Route(.post, "/test/v1/hostile", access: .anyone, summary: "Hostile", body: checked, answers: []) { exchange in
            _ = try await exchange.json([String: String].self)
            return .empty()
        }
        let anything = BodyShape([.init(MediaType.json, .anything)])
        let tree = Route(.post, "/test/v1/tree", access: .anyone, summary: "Tree", body: anything, answers: []) { exchange in
            _ = try await exchange.jsonTree()
            return .empty()
        }
        let deep = String(repeating: "{\"a\":", count: 512) + "1" + String(repeating: "}", count: 512)
        let marks = "{\"name\":\"a" + String(repeating: "\u{301}\u{316}", count: 20_000) + "\"}"
        try await withServer(route, tree) { port in
            for path in ["/test/v1/hostile", "/test/v1/tree"] {
                for (body, reason) in [(deep, "At byte 160: nested deeper than 32 levels."), (marks, "combining marks follow one another")]
                {
                    for headers in [asJSON, asGzip] {
                        let bytes = Array(body.utf8)
                        let answer = try await ask(port, "POST", path, headers: headers, body: headers == asGzip ? pack(bytes) : bytes)
                        #expect(answer.status == 422 && answer.problem == "invalid-body")
                        #expect(answer.text.contains(reason), "\(answer.text)")
                    }
                }
            }
        }
    }

    @Test("A body of a megabyte that fits is read, on the thread for long ones")
    func long() async throws {
        let route = Route(
            .post, "/test/v1/list", access: .anyone, summary: "List",
            body: BodyShape([.init(MediaType.json, .array(of: .integer()))], isChecked: true), answers: []
        ) { try .json(try await $0.json([Int].self).count) }
        try await withServer(route) { port in
            let numbers = [Int](repeating: 12_345, count: 150_000)
            let answer = try await ask(port, "POST", "/test/v1/list", headers: asJSON, body: Array(try JSONEncoder().encode(numbers)))
            #expect(answer.text == "150000")
        }
    }

    @Test("What a stranger called a field is cut by code points in a pointer: one character can be made of any number of them")
    func pointers() throws {
        let name = "a" + String(repeating: "\u{301}", count: 120)
        let faults = try Array("{\"\(name)\":1}".utf8).withUnsafeBytes { try JSONSchema.object().faults(in: $0) }
        #expect(faults.map(\.pointer).map { $0.unicodeScalars.count } == [65])
    }

    @Test("A form with a long name or a text of combining marks is none")
    func forms() {
        #expect(FormFields(Array("a=b&c=d+e".utf8))?["c"] == "d e")
        #expect(FormFields(Array((String(repeating: "a", count: 257) + "=1").utf8)) == nil)
        #expect(FormFields(Array(("a=b" + String(repeating: "\u{301}", count: 31)).utf8)) == nil)
    }
}

@Suite("Patterns of schemas")
struct TextPatternTests {
    @Test(
        "A pattern matches what a regular expression matches",
        arguments: [
            ("^per_[0-7][0-9abcdefghjkmnpqrstvwxyz]{25}$", "per_70123456789abcdefghjkmnpqr"), ("^[ -~]+$", " a~"), ("^[!-~]+$", "a-b"),
            ("^[0-9]{1,18}$", "7"), ("^[0-9]{4}-[0-9A-Z-]{6,21}$", "2026-RTDZRL3-000001"), ("^v1a?,", "v1,x"), ("^whsec_", "whsec_é"),
            ("^[A-Za-z0-9_-]{3}$", "a-_"), ("^[a-c]*$", ""), ("^urn:[a-z-]+$", "urn:a-b"),
        ])
    func agrees(pattern: String, example: String) throws {
        let (mine, theirs) = (try #require(TextPattern(pattern)), try Regex(pattern))
        var generator = SeededGenerator(seed: 7)
        let pieces = ["per_", "0", "7", "8z", "v1", "a", ",", "-", "2026", "whsec_", "urn:", "b", "é", " ", "~", "\n", "012345678", "_"]
        for _ in 0..<3000 {
            let text = (0..<Int.random(in: 0..<6, using: &generator)).map { _ in pieces[Int.random(in: 0..<pieces.count, using: &generator)]
            }
            .joined()
            let found = text.firstMatch(of: theirs) != nil
            #expect(mine.matches(text) == found, "\(text)")
        }
        #expect(mine.matches(example) && example.firstMatch(of: theirs) != nil)
    }

    @Test("Other expressions are none", arguments: ["a", "^(a|b)$", "^.+$", "^a\\d$", "^[a", "^a{2", "^a{3,2}$", "^[z-a]$", "^a{,}$"])
    func others(pattern: String) {
        #expect(TextPattern(pattern) == nil)
    }

    @Test("G7: a text that turns the direction of writing is refused by the name of its field; a password is as it is")
    func disguisedText() throws {
        let schema = JSONSchema.object(
            .required("name", .string(length: 1...40)), .required("password", .string(length: 1...40, format: "password")))
        func faults(_ body: String) throws -> [String] {
            try Array(body.utf8).withUnsafeBytes { try schema.faults(in: $0).map(\.pointer) }
        }
        #expect(try faults("{\"name\":\"Rossi\\u202eires\",\"password\":\"a\"}") == ["/name"])
        #expect(try faults("{\"name\":\"a\\u0000b\",\"password\":\"a\"}") == ["/name"])
        #expect(try faults("{\"name\":\"Zoë\\n山田\",\"password\":\"a\\u202eb\\u200b\"}") == [])
    }
}
