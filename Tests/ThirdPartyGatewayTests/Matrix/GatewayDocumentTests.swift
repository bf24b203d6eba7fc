// Whether the gateway's OpenAPI document tells a stranger enough: examples that fit, and every refusal by its name.

import Contracts
import Foundation
import TestKit
import Testing

@testable import HTTPKit
@testable import ThirdPartyGateway

@Suite("Documentation of the gateway")
struct GatewayDocumentTests {
    /// Forms that a schema describes whole; tables and streams are described in words.
    private static let structured: Set = [MediaType.json, MediaType.form]

    private func withRoutes(_ body: ([Route]) -> Void) async throws {
        try await MatrixHarness.run { harness in
            body(harness.parts.server.routes.filter { $0.path.hasPrefix("/thirdparty/v1/") })
        }
    }

    /// What of the examples does not fit the schema beside them.
    private func misfits(_ content: BodyShape.Content) -> [String] {
        content.examples.flatMap { example in
            let text = Array(example.text.utf8)
            guard let faults = try? text.withUnsafeBytes({ try content.schema.faults(in: $0) }) else { return ["is no JSON"] }
            return faults.map { "\($0.pointer) \($0.detail)" }
        }
    }

    @Test("ORG-19: every body and every answer of the gateway in JSON, and every form, has an example, and it fits its schema")
    func examples() async throws {
        try await withRoutes { routes in
            #expect(routes.count > 50)
            for route in routes {
                let answers = route.answers.filter { $0.status < 400 }.flatMap(\.contents)
                for content in (route.body?.contents ?? []) + answers where Self.structured.contains(content.mediaType) {
                    let place: Comment = "\(route.method.rawValue) \(route.path) \(content.schema.name ?? content.mediaType)"
                    #expect(!content.examples.isEmpty, place)
                    #expect(misfits(content) == [], place)
                }
            }
        }
    }

    @Test(
        "ORG-19, SHR-14: every kind of message to an endpoint stands under webhooks, with an example that fits and the headers that sign it"
    )
    func webhooks() async throws {
        try await MatrixHarness.run { harness in
            let answer = try await harness.ask("GET", "/thirdparty/openapi.json").expect(status: 200)
            let webhooks = try #require(answer.json["webhooks"] as? [String: [String: [String: Any]]])
            #expect(Set(webhooks.keys) == Set(WebhookEvent.allCases.map(\.rawValue)))
            for (type, item) in webhooks {
                let names = (item["post"]?["parameters"] as? [[String: Any]])?.compactMap { $0["name"] as? String }
                #expect(names == ["webhook-id", "webhook-timestamp", "webhook-signature"], "\(type)")
                let replies = (item["post"]?["responses"] as? [String: Any])?.keys.sorted()
                #expect(replies?.contains("2XX") == true && replies?.contains("default") == true, "\(type)")
            }
        }
        for event in WebhookEvent.allCases {
            let documented = event.documentation
            #expect(misfits(documented.body) == [] && !documented.body.examples.isEmpty, "\(event.rawValue)")
            #expect(documented.replies.flatMap(\.contents).flatMap(misfits) == [], "\(event.rawValue)")
        }
    }

    /// The problems that a route names, by status.
    private func named(_ route: Route) -> [Int: Set<String>] {
        var names: [Int: Set<String>] = [:]
        for answer in route.answers where answer.status >= 400 {
            names[answer.status, default: []].formUnion(answer.description.matches(of: /`([a-z-]+)`/).map { String($0.1) })
        }
        return names
    }

    @Test("ORG-19: a route that asks for a right names all that the door refuses")
    func refusals() async throws {
        let door: Set = ["missing-right", "organisation-not-confirmed", "organisation-not-approved", "organisation-suspended"]
        try await withRoutes { routes in
            for route in routes where RouteNeed(route)?.right != nil {
                #expect(named(route)[403]?.isSuperset(of: door) == true, "\(route.method.rawValue) \(route.path)")
            }
        }
    }
}
