// Every route of every service against bodies that are made to keep its reader busy.

import Contracts
import ServiceKit
import TestKit
import Testing

@testable import HTTPKit
@testable import Ingest

@Suite("Hostile bodies at every route", .serialized)
struct HostileBodyTests {
    /// Whatever readers of the service see the body before its handler does anything.
    private static func read(_ content: BodyShape.Content, _ bytes: [UInt8]) {
        _ = try? bytes.withUnsafeBytes { try content.schema.faults(in: $0) }
        _ = try? JSONTree(bytes)
    }

    /// The names of the members that a schema knows at its top.
    private static func members(_ schema: JSONSchema) -> [String] {
        switch schema.kind {
        case .object(let properties): properties.map(\.name)
        case .array(let item, _): members(item)
        case .anyOf(let schemas): schemas.flatMap(members)
        default: []
        }
    }

    private static func check(_ route: Route, _ content: BodyShape.Content, _ budget: ProcessorBudget) {
        for hostile in HostileBody.all {
            for bytes in [hostile.bytes(16 << 10)] + members(content.schema).map({ hostile.bytes(4096, in: $0) }) {
                var time = ProcessorBudget.time { read(content, bytes) }
                // Once more, alone: the machine may have been busy with something else.
                if time > budget.most(forBytes: bytes.count) { time = ProcessorBudget.time { read(content, bytes) } }
                #expect(
                    time <= budget.most(forBytes: bytes.count),
                    "\(route.operationID) takes \(time / 1000) µs over \(bytes.count) bytes of \(hostile)")
            }
        }
    }

    @Test("X1: deep, wide, long and repeated-key bodies cost no route of any service more than 200 µs and 2 µs a byte")
    func everyRoute() async throws {
        try await StorySuite.with { suite in
            let budget = ProcessorBudget()
            let taking = suite.routes.filter { $0.body != nil }
            #expect(taking.count > 60, "every service's routes are there")
            for prefix in ["ingest", "consent", "sos", "notify", "thirdparty"] {
                #expect(taking.contains { $0.path.hasPrefix("/\(prefix)/v1/") }, "\(prefix)")
            }
            for route in taking {
                for content in route.body?.contents ?? [] where content.mediaType.contains("json") {
                    Self.check(route, content, budget)
                }
            }
        }
    }

    /// A body for each text in a schema, all of it absent but one that turns the direction of writing, and where that stands.
    private static func disguised(_ schema: JSONSchema, _ depth: Int = 0) -> [(body: String, pointer: String)] {
        guard depth < 8 else { return [] }
        switch schema.kind {
        case .plain(let type, let keywords):
            let isPassword = keywords.contains { $0.name == "format" && $0.value == .string("password") }
            // What a schema leaves free it does not judge: forms are read by `FormReader`, which has tests of its own.
            guard type == "string", !keywords.isEmpty, !isPassword else { return [] }
            return [(#""Rossi\u202eires""#, "")]
        case .object(let properties):
            return properties.flatMap { property in
                disguised(property.schema, depth + 1).map { ("{\"\(property.name)\":\($0.body)}", "/\(property.name)\($0.pointer)") }
            }
        case .array(let item, _): return disguised(item, depth + 1).map { ("[\($0.body)]", "/0\($0.pointer)") }
        default: return []
        }
    }

    @Test("G7: a text that turns the direction of writing is refused by the name of its field wherever a route's body bounds a text")
    func disguisedText() async throws {
        try await StorySuite.with { suite in
            var fields = 0
            for route in suite.routes where route.body?.isChecked == true {
                for content in route.body?.contents ?? [] where content.mediaType.contains("json") {
                    for (body, pointer) in Self.disguised(content.schema) {
                        let faults = try Array(body.utf8).withUnsafeBytes { try content.schema.faults(in: $0) }
                        #expect(faults.contains { $0.pointer == pointer }, "\(route.operationID): \(body)")
                        fields += 1
                    }
                }
            }
            #expect(fields > 30, "every service's texts are there: \(fields)")
        }
    }

    @Test("X1: an upload's scanner, of documents and of lines, takes no more", arguments: HostileBody.all)
    func entries(_ hostile: HostileBody) {
        let scanner = EntryScanner(rules: EntryRules(now: .now, clockSkew: .seconds(300)))
        let budget = ProcessorBudget()
        for bytes in [hostile.bytes(100_000), hostile.bytes(100_000, in: "entries"), hostile.bytes(100_000, in: "position")] {
            let time = ProcessorBudget.time {
                bytes.withUnsafeBytes { bytes in
                    _ = try? scanner.scan(document: bytes)
                    _ = scanner.scan(lines: bytes)
                }
            }
            #expect(time <= budget.most(forBytes: bytes.count))
        }
    }

    @Test("Every pattern of every schema is one that is matched in linear time")
    func patterns() async throws {
        func patterns(_ schema: JSONSchema, _ depth: Int = 0) -> [String] {
            guard depth < 32 else { return [] }
            switch schema.kind {
            case .plain(_, let keywords):
                return keywords.compactMap { if $0.name == "pattern", case .string(let pattern) = $0.value { pattern } else { nil } }
            case .array(let inner, _), .map(let inner): return patterns(inner, depth + 1)
            case .object(let properties): return properties.flatMap { patterns($0.schema, depth + 1) }
            case .anyOf(let schemas): return schemas.flatMap { patterns($0, depth + 1) }
            case .anything: return []
            }
        }
        try await StorySuite.with { suite in
            let found = Set(suite.routes.flatMap { $0.body?.contents ?? [] }.flatMap { patterns($0.schema) })
            #expect(found.count > 3)
            for pattern in found { #expect(TextPattern(pattern) != nil, "\(pattern)") }
        }
    }
}
