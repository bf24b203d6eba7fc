// Registers an organisation's addresses for webhooks, proves that they want our messages, and lets dead letters go again.

import Contracts
import Foundation
import HTTPKit
import Logging
import Sealing
import ServiceKit
import Storage

struct EndpointService: Sendable {
    static let mostEndpoints = 10
    /// How long a secret that was replaced still signs beside its successor.
    static let overlap = Duration.seconds(24 * 3600)
    /// Handshakes of one organisation in a minute: they go to whatever address it names.
    static let handshakesPerMinute = 30.0

    let store: Store
    let table: EndpointStore
    let queue: WebhookQueueStore
    let organisations: OrganisationRepository
    let workers: WebhookDeliveryWorkers
    let guardian: EndpointGuard
    let handshake: Handshake
    let firstAnswers: FirstAnswers<EndpointItem>
    let clock: @Sendable () -> Timestamp
    let logger: Logger
    private let limiter = RateLimiter<OrganisationID>(rate: handshakesPerMinute / 60, burst: handshakesPerMinute)

    /// Sends one message and gives what was answered.
    typealias Handshake = @Sendable (WebhookPost) async -> (outcome: WebhookOutcome, body: [UInt8])

    /// Everything about one endpoint that its owner sees.
    struct View: Sendable {
        let endpoint: Endpoint
        let waiting: Int
        let dead: Int
    }

    // MARK: Looking

    func all(of organisation: OrganisationID) async throws -> [View] {
        try await store.read { [table, queue] db in
            try table.all(db, of: organisation).map { endpoint in
                let counts = try queue.counts(db, of: endpoint.id)
                return View(endpoint: endpoint, waiting: counts.waiting, dead: counts.dead)
            }
        }
    }

    /// nil for one that is not the organisation's.
    func find(_ id: WebhookEndpointID, of organisation: OrganisationID) async throws -> View? {
        try await store.read { [table, queue] db in
            guard let endpoint = try table.find(db, id), endpoint.organisation == organisation else { return nil }
            let counts = try queue.counts(db, of: id)
            return View(endpoint: endpoint, waiting: counts.waiting, dead: counts.dead)
        }
    }

    // MARK: Changing

    /// Gets nothing before it is verified.
    /// - Returns: with the secret, which is shown once, and whether it is the first answer to the same request again.
    func register(
        _ url: String, description: String, for organisation: OrganisationID, _ request: RepeatableRequest
    ) async throws -> (item: EndpointItem, isRepeated: Bool) {
        let address = try guardian.check(url)
        let now = clock()
        let secret = WebhookSecret.random().text
        let endpoint = Endpoint(
            id: .random(), organisation: organisation, state: .unverified,
            details: Endpoint.Details(url: address.text, description: description, secrets: [Endpoint.Secret(text: secret)]),
            health: EndpointHealth(), createdAt: now)
        return try await store.write { [table, organisations, firstAnswers] db in
            if let first = try firstAnswers.find(db, request) { return (first, true) }
            guard try table.all(db, of: organisation).count < Self.mostEndpoints else {
                throw Problem.tooManyEndpoints.saying(
                    "There are \(Self.mostEndpoints) endpoints already; remove one first.",
                    italian: "Ci sono già \(Self.mostEndpoints) indirizzi; prima ne tolga uno.")
            }
            try table.insert(db, endpoint)
            try organisations.tell(db, organisation, .endpointAdded, at: now)
            let item = EndpointItem(View(endpoint: endpoint, waiting: 0, dead: 0), secret: secret)
            try firstAnswers.remember(db, item, of: request, status: 201, at: now)
            return (item, false)
        }
    }

    func remove(_ id: WebhookEndpointID) async throws {
        try await store.write { [table] db in try table.delete(db, id) }
        await workers.stop(id)
        logger.notice("an endpoint was removed", metadata: ["endpoint": "\(id)"])
    }

    /// The new secret signs at once, the old one beside it for a day.
    func rotate(_ id: WebhookEndpointID) async throws -> String {
        let (secret, now) = (WebhookSecret.random().text, clock())
        try await store.write { [table, organisations] db in
            guard var endpoint = try table.find(db, id) else { throw Problem.notFound }
            let old = endpoint.details.secrets.filter { $0.until.map { now < $0 } ?? true }.prefix(2)
            endpoint.details.secrets =
                [Endpoint.Secret(text: secret)] + old.map { Endpoint.Secret(text: $0.text, until: $0.until ?? now + Self.overlap) }
            try table.save(db, endpoint)
            try organisations.tell(db, endpoint.organisation, .endpointSecretReplaced, at: now)
        }
        logger.notice("an endpoint's secret was rotated", metadata: ["endpoint": "\(id)"])
        return secret
    }

    // MARK: The handshake

    /// Sends a signed challenge that must come back; then the endpoint is active, and goes on where it stopped if it was before.
    /// - Throws: 429 where the organisation asked too often.
    func verify(_ view: View) async throws -> View {
        try limiter.admit(view.endpoint.organisation)
        let (endpoint, now) = (view.endpoint, clock())
        _ = try guardian.check(endpoint.details.url)
        let challenge = Base64URL.encode(Random.bytes(24))
        let body = try WebhookRenderingStore.envelope(["challenge": challenge], type: WebhookEvent.verification, at: now)
        let post = WebhookPost(
            url: endpoint.details.url, id: MessageID.random().description, body: body, secrets: endpoint.secrets(at: now))
        let (outcome, answer) = await handshake(post)
        let isProved = outcome.isSuccess && Self.holds(answer, challenge)
        let saved = try await store.write { [table, queue] db -> Endpoint in
            guard var endpoint = try table.find(db, endpoint.id) else { throw Problem.notFound }
            endpoint.health.note(outcome, at: now)
            if isProved {
                // Only the first time: one that had messages before goes on behind the last of them, whatever came meanwhile.
                if endpoint.state == .unverified { try table.join(db, endpoint.id, of: endpoint.organisation) }
                endpoint.state = .active
                try queue.wake(db, endpoint.id, at: now)
            }
            try table.save(db, endpoint)
            return endpoint
        }
        guard isProved else {
            logger.notice("an endpoint was not verified", metadata: ["endpoint": "\(saved.id)", "outcome": "\(outcome.text)"])
            throw Problem.endpointNotVerified.saying(
                outcome.isSuccess
                    ? "It answered, but without the challenge. Answer with the challenge as text, or as {\"challenge\":\"…\"}."
                    : "It did not take the challenge: \(outcome.text). Mend it and try again.")
        }
        await workers.start(saved.id, of: saved.organisation)
        return try await find(saved.id, of: saved.organisation) ?? view
    }

    /// The challenge as it is, or in a JSON object.
    private static func holds(_ answer: [UInt8], _ challenge: String) -> Bool {
        let text = String(decoding: answer, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
        if text == challenge || text == "\"\(challenge)\"" { return true }
        return (try? CheckedJSON.decode([String: String].self, from: answer))?["challenge"] == challenge
    }

    // MARK: Dead letters

    func deadLetters(
        of id: WebhookEndpointID, after: Int64, limit: Int
    ) async throws -> (letters: [WebhookMessage], feeds: [Int64: RequestID], next: Int64?) {
        try await store.read { [queue] db in
            let found = try queue.dead(db, of: id, after: after, limit: limit + 1)
            let page = Array(found.prefix(limit))
            var known: [Int64: RequestID] = [:]
            for case .items(let parts) in page.map(\.content) {
                for part in parts where known[part.feed] == nil { known[part.feed] = try FeedStore().find(db, part.feed)?.request }
            }
            return (page, known, found.count > limit ? page.last?.number : nil)
        }
    }

    /// - Returns: whether there is such a dead letter.
    func resend(_ letter: MessageID, of endpoint: Endpoint) async throws -> Bool {
        guard endpoint.state == .active else {
            throw Problem.endpointNotActive.saying("Verify the endpoint first; it is \(endpoint.state.rawValue).")
        }
        let now = clock()
        let isThere = try await store.write { [queue] db in try queue.resend(db, letter, of: endpoint.id, at: now) }
        if isThere { queue.hub.notify(endpoint.organisation) }
        return isThere
    }
}
