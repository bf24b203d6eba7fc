// The types that services read bodies into and write answers from, held against the schemas that their routes promise.

import TestKit
import Testing

@testable import HTTPKit

@Suite("Bodies and their schemas", .serialized)
struct BodySchemaTests {
    /// Bodies of JSON that no type's own initialiser reads, and what does.
    private static let readOtherwise = [
        "POST /ingest/v1/entries": "the scanner of entries, which judges each by itself",
        "POST /ingest/v1/manual-entries": "the scanner of entries",
        "POST /ingest/v1/makers/nightscout/entries": "the maker's source, which passes over what it does not know",
        "POST /consent/v1/accounts": "a FormReader, which names every wrong field",
        "PATCH /consent/v1/profile": "a FormReader",
        "POST /consent/v1/announcements": "a FormReader",
        "POST /thirdparty/v1/organisations": "a FormReader",
        "PATCH /thirdparty/v1/organisation": "a FormReader",
    ]

    /// Answers in JSON that are written by hand: there may be many values in them.
    private static let writtenOtherwise: Set = [
        "POST /ingest/v1/entries", "POST /ingest/v1/manual-entries", "POST /ingest/v1/makers/nightscout/entries",
        "GET /ingest/v1/entries", "GET /ingest/v1/latest", "GET /ingest/v1/series", "GET /ingest/v1/track",
        "GET /ingest/v1/activities/{activity}", "GET /thirdparty/v1/requests/{request}/data",
        "GET /thirdparty/v1/subscriptions/{subscription}/items", "GET /thirdparty/v1/group-requests/{group}/entries",
        // A message exactly as it was signed.
        "GET /sos/v1/emergencies/{id}/dispatch",
    ]

    /// Holds every JSON content against its schema.
    /// - Returns: how many types were held, and the routes whose content has none.
    private static func hold(_ routes: [Route], _ contents: (Route) -> [BodyShape.Content]) -> (held: Int, untyped: Set<String>) {
        var held = 0
        var untyped: Set<String> = []
        for route in routes {
            for content in contents(route) where content.mediaType == MediaType.json || content.mediaType.hasSuffix("+json") {
                if let type = content.type {
                    held += 1
                    for difference in content.schema.differences(from: type) {
                        Issue.record("\(route.operationID): \(type): \(difference)")
                    }
                } else if !content.schema.saysNothing {
                    untyped.insert("\(route.method.rawValue) \(route.path)")
                }
            }
        }
        return (held, untyped)
    }

    @Test("Every type that a body is read into takes the members, kinds and absences of its route's schema, and no others")
    func bodies() async throws {
        try await StorySuite.with { suite in
            let (held, untyped) = Self.hold(suite.routes) { $0.body?.contents ?? [] }
            #expect(held > 40, "every service's routes are there")
            #expect(untyped == Set(Self.readOtherwise.keys), "a body without a type is held against nothing")
        }
    }

    @Test("Every type that an answer is written from has the members, kinds and absences of its route's schema, and no others")
    func answers() async throws {
        try await StorySuite.with { suite in
            let (held, untyped) = Self.hold(suite.routes) { $0.answers.flatMap(\.contents) }
            #expect(held > 100, "every service's routes are there")
            #expect(untyped == Self.writtenOtherwise, "an answer without a type is held against nothing")
        }
    }

    // MARK: That differences are seen

    private struct Place: Decodable, Sendable {
        var city: String
        var height: Double?
    }

    private struct Body: Decodable, Sendable {
        enum Kind: String, Decodable, Sendable {
            case small, large
        }

        var name: String
        var count: Int
        var kind: Kind?
        var places: [Place]
        var byName: [String: Bool]?
    }

    private static func place(_ height: JSONSchema = .number()) -> JSONSchema {
        .object(.required("city", .string()), .optional("height", height))
    }

    private static func found(
        name: JSONSchema.Property = .required("name", .string()), count: JSONSchema = .integer(in: 2...9),
        kind: JSONSchema.Property = .optional("kind", .oneOf(["small", "large"])), places: JSONSchema = .array(of: BodySchemaTests.place()),
        byName: JSONSchema = .map(of: .boolean)
    ) -> [String] {
        JSONSchema.object(name, .required("count", count), kind, .required("places", places), .optional("byName", byName))
            .differences(from: Body.self)
    }

    @Test("A member that only one side has, another kind, another absence and a value that is not taken are told, with their place")
    func differences() {
        #expect(Self.found().isEmpty)
        #expect(Self.found(name: .required("name", .string().nullable())) == ["/name is needed by the type, not by the schema"])
        #expect(Self.found(name: .optional("name", .string())) == ["/name is needed by the type, not by the schema"])
        #expect(Self.found(kind: .required("kind", .oneOf(["small"]))) == ["/kind is needed by the schema, not by the type"])
        #expect(Self.found(kind: .optional("sort", .string())) == ["/sort is not read", "/kind is read, and not in the schema"])
        #expect(Self.found(count: .number()) == ["/count is of another kind: whole"])
        #expect(Self.found(places: .array(of: Self.place(.string()))) == ["/places/0/height is of another kind: number"])
        #expect(Self.found(byName: .map(of: .integer())) == ["/byName/* is of another kind: flag"])
        #expect(Self.found(byName: .object(.required("a", .boolean))).count == 1)
        let unknown = Self.found(kind: .optional("kind", .oneOf(["medium"])))
        #expect(unknown.contains { $0.hasPrefix("a value that fits the schema is not taken") })
    }
}

// MARK: Comparing

extension JSONSchema {
    fileprivate var saysNothing: Bool {
        if case .anything = kind { true } else { false }
    }

    /// How the type reads otherwise than this schema says, each with its place; empty where it does not.
    fileprivate func differences(from type: any Decodable.Type) -> [String] {
        let (shape, fault) = DecodedShape.of(type, reading: sample)
        return differences(from: shape, at: "") + (fault.map { ["a value that fits the schema is not taken: \($0)"] } ?? [])
    }

    private func differences(from shape: DecodedShape, at place: String) -> [String] {
        switch (kind, shape) {
        case (.anything, _), (.plain("boolean", _), .flag), (.plain("integer", _), .whole), (.plain("number", _), .number),
            (.plain("string", _), .text):
            []
        case (.array(let item, _), .list(let read)): item.differences(from: read, at: place + "/0")
        case (.map(let value), .map(let read)): value.differences(from: read, at: place + "/*")
        case (.object(let properties), .object(let members)): Self.differences(properties, members, at: place)
        case (.anyOf(let schemas), _) where schemas.contains(where: { $0.differences(from: shape, at: place).isEmpty }): []
        default: ["\(place) is of another kind: \(shape)"]
        }
    }

    private static func differences(_ properties: [Property], _ members: [String: DecodedShape.Member], at place: String) -> [String] {
        let ofSchema = properties.flatMap { property -> [String] in
            let inner = "\(place)/\(property.name)"
            guard let member = members[property.name] else { return ["\(inner) is not read"] }
            // Absent and null say the same to a type.
            switch (property.isRequired && !property.schema.isNullable, member.isOptional) {
            case (true, true): return ["\(inner) is needed by the schema, not by the type"]
            case (false, false): return ["\(inner) is needed by the type, not by the schema"]
            default: return property.schema.differences(from: member.shape, at: inner)
            }
        }
        let named = Set(properties.map(\.name))
        return ofSchema + members.keys.filter { !named.contains($0) }.sorted().map { "\(place)/\($0) is read, and not in the schema" }
    }

    // MARK: A value that fits

    private var sample: DecodingSample {
        switch kind {
        case .anything: .anything
        case .plain("boolean", _): .flag
        case .plain("string", let keywords): .text(Self.text(example, keywords))
        case .plain(_, let keywords): .number(Self.keyword("minimum", keywords).flatMap { Double($0.text) } ?? 1)
        case .array(let item, _): .list(of: item.sample)
        case .map(let value): .map(of: value.sample)
        case .object(let properties):
            .object(Dictionary(properties.map { ($0.name, $0.schema.sample) }, uniquingKeysWith: { first, _ in first }))
        case .anyOf(let schemas): schemas.first?.sample ?? .anything
        }
    }

    private static func keyword(_ name: String, _ keywords: [JSONValue.Member]) -> JSONValue? {
        keywords.first { $0.name == name }?.value
    }

    private static func text(_ example: JSONValue?, _ keywords: [JSONValue.Member]) -> String {
        if case .string(let text)? = example { return text }
        if case .array(let values)? = keyword("enum", keywords), case .string(let first)? = values.first { return first }
        if case .string(let pattern)? = keyword("pattern", keywords), let identifier = pattern.firstMatch(of: /^\^([a-z]+_)\[0-7\]\[/) {
            return String(identifier.1) + String(repeating: "0", count: 26)
        }
        return switch keyword("format", keywords) {
        case .string("email")?: "anna@example.org"
        case .string("date")?: "2026-01-10"
        default: "a"
        }
    }
}
