// What generators of clients stumble over, in the documents of all services together.

import Foundation
import Testing

@testable import HTTPKit

@Suite("OpenAPI documents of the suite", .serialized)
struct OpenAPIRulesTests {
    private typealias Schemas = [String: [String: Any]]

    /// By the first segment of the paths.
    private static func services(_ routes: [Route]) -> [String: [Route]] {
        Dictionary(grouping: routes) { String($0.path.split(separator: "/").first ?? "") }
            .filter { ["ingest", "consent", "sos", "notify", "thirdparty"].contains($0.key) }
    }

    private static func schemas(_ routes: [Route], prefix: String) throws -> Schemas {
        let description = HTTPServer.Description(title: prefix, version: "1", summary: "", prefix: prefix)
        let text = OpenAPIDocument.json(description, routes: routes).text
        let document = try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any]
        return try #require((document?["components"] as? [String: Any])?["schemas"] as? Schemas)
    }

    @Test("Every operation has one name in its document, which begins with what it does and holds no version")
    func names() async throws {
        try await StorySuite.with { suite in
            let services = Self.services(suite.routes)
            #expect(services.count == 5)
            for (service, routes) in services {
                #expect(Set(routes.map(\.operationID)).count == routes.count, "\(service)")
                for route in routes {
                    let name = route.operationID
                    #expect(!name.matches(of: /^[a-z]+([A-Z][A-Za-z0-9]*)*$/).isEmpty, "\(name)")
                    #expect(name.firstMatch(of: /V[0-9]|Thirdparty|Consent[A-Z]|Ingest|Notify|^post|^put|^patch/) == nil, "\(name)")
                    #expect(name.utf8.count <= 32, "\(name) is no name but a path")
                    #expect(!route.summary.isEmpty, "\(name)")
                }
            }
        }
    }

    @Test("A schema's name means one thing in all documents, and none is what a generator calls a member of another")
    func schemas() async throws {
        try await StorySuite.with { suite in
            var known: [String: (service: String, text: Data)] = [:]
            for (service, routes) in Self.services(suite.routes).sorted(by: { $0.key < $1.key }) {
                let schemas = try Self.schemas(routes, prefix: service)
                #expect(schemas.count > 2, "\(service)")
                for (name, schema) in schemas {
                    let text = try JSONSerialization.data(withJSONObject: schema, options: .sortedKeys)
                    if let other = known[name] { #expect(other.text == text, "\(name) is another in \(other.service) and \(service)") }
                    known[name] = (service, text)
                    for (member, inner) in schema["properties"] as? Schemas ?? [:] where inner["enum"] ?? inner["properties"] != nil {
                        let generated = name + member.prefix(1).uppercased() + member.dropFirst()
                        #expect(schemas[generated] == nil, "\(name).\(member) is called \(generated) by generators")
                    }
                }
            }
        }
    }
}
