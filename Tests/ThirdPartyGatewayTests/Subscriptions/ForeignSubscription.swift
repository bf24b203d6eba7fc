// A subscription and an endpoint with a dead letter of another organisation, for tests that must not reach them.

import Contracts
import Foundation
import GRDB
import ServiceKit
import Storage

@testable import ThirdPartyGateway

struct ForeignSubscription: Sendable {
    let subscription: RequestID
    let endpoint: WebhookEndpointID
    let message: MessageID

    struct NotMade: Error {}

    static func make(_ parts: GatewayModule, of organisation: OrganisationID) async throws -> ForeignSubscription {
        let now = Timestamp.now
        let scope = FeedScope(
            request: .random(), organisation: organisation, person: .random(), grant: .random(), types: [.heartRate],
            from: now - .seconds(60), to: now + .seconds(86_400), granularity: .minutes, isSubscription: true)
        let endpoint = Endpoint(
            id: .random(), organisation: organisation, state: .active,
            details: .init(url: "https://example.org/hook", description: "", secrets: []), health: EndpointHealth(), createdAt: now)
        let (table, queue) = (parts.subscriptions.endpoints.table, parts.subscriptions.endpoints.queue)
        return try await parts.opened.store.write { db in
            _ = try FeedStore().begin(db, scope, of: scope.person ?? .random(), types: scope.types, state: .running, at: now)
            try table.insert(db, endpoint)
            try queue.enqueue(db, .over(scope, .ended), to: organisation, at: now)
            guard let message = try queue.first(db, of: endpoint.id, .notices) else { throw NotMade() }
            try queue.save(db, message, isDead: true)
            return ForeignSubscription(subscription: scope.request, endpoint: endpoint.id, message: message.id)
        }
    }
}
