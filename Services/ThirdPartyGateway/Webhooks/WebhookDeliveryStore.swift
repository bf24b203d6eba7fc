// What one endpoint's worker reads and writes: the next message to send, and what has become of it.

import Contracts
import GRDB
import ServiceKit

struct WebhookDeliveryStore: Sendable {
    /// What the worker does next, as the store stands.
    enum NextStep: Sendable {
        /// The endpoint is not to be sent anything.
        case stopped
        /// The organisation may not get anything now.
        case notAllowed
        case idle
        case wait(until: Timestamp)
        /// No message holds it yet.
        case unsentItems
        case heartbeat
        /// What it held cannot be read.
        case damaged(WebhookMessage)
        /// nil: nothing is left of it.
        case message(WebhookMessage, Endpoint, WebhookRenderingStore.Rendered?)
    }

    let queue: WebhookQueueStore
    let endpoints: EndpointStore
    let rendering: WebhookRenderingStore
    let gate: FeedGate
    let organisations: OrganisationRepository
    let schedule: WebhookSchedule

    func next(_ db: Database, _ id: WebhookEndpointID, _ channel: WebhookChannel, at now: Timestamp) throws -> NextStep {
        guard let endpoint = try endpoints.find(db, id), endpoint.state == .active else { return .stopped }
        guard try organisations.mayAct(db, endpoint.organisation) else { return .notAllowed }
        guard let message = try queue.first(db, of: id, channel) else {
            guard channel == .items else { return .idle }
            if try queue.hasUnsentItems(db, for: id, of: endpoint.organisation) { return .unsentItems }
            let outcomeAt = max(endpoint.health.lastSuccessAt ?? endpoint.createdAt, endpoint.health.lastFailureAt ?? endpoint.createdAt)
            return now - outcomeAt >= WebhookQueueStore.heartbeat ? .heartbeat : .wait(until: outcomeAt + WebhookQueueStore.heartbeat)
        }
        if message.content == .unreadable { return .damaged(message) }
        guard WebhookSchedule.isDue(message.dueAt, attempts: message.attempts, at: now) else { return .wait(until: message.dueAt) }
        // What consent says now is not known: the end of a grant is sent nevertheless, data wait.
        guard channel == .notices || gate.isOpen else { return .wait(until: now + .milliseconds(500)) }
        return .message(message, endpoint, try rendering.render(db, message))
    }

    func form(_ db: Database, _ id: WebhookEndpointID, of organisation: OrganisationID, at now: Timestamp) throws {
        _ = try queue.form(db, for: id, of: organisation, at: now)
    }

    /// - Returns: whether anything runs that a heartbeat could tell of.
    func formHeartbeat(_ db: Database, _ id: WebhookEndpointID, of organisation: OrganisationID, at now: Timestamp) throws -> Bool {
        try queue.formHeartbeat(db, for: id, of: organisation, at: now)
    }

    func drop(_ db: Database, _ message: WebhookMessage) throws {
        try queue.remove(db, message)
    }

    /// To the dead letters: nothing can be sent of it.
    func setAside(_ db: Database, _ message: WebhookMessage) throws {
        try queue.setAside(db, message)
    }

    /// An attempt is over.
    /// - Returns: what follows.
    func conclude(
        _ db: Database, _ message: WebhookMessage, _ outcome: WebhookOutcome, begun: Timestamp, now: Timestamp, jitter: Double
    ) throws -> WebhookDecision {
        // Removed, or stopped, while the attempt was under way.
        guard var endpoint = try endpoints.find(db, message.endpoint) else { return .gone }
        var message = message
        message.attempts += 1
        message.firstAttemptAt = message.firstAttemptAt ?? begun
        (message.lastAttemptAt, message.lastOutcome) = (now, outcome.text)
        endpoint.health.note(outcome, at: now, took: now - begun)
        let decision = schedule.decide(
            outcome, attempts: message.attempts, since: message.firstAttemptAt ?? begun, now: now, jitter: jitter)
        switch decision {
        case .settled:
            try queue.remove(db, message)
        case .again(let at):
            message.dueAt = at
            try queue.save(db, message, isDead: false)
        case .deadLettered:
            try queue.save(db, message, isDead: true)
            if endpoint.state == .active {
                endpoint.state = .paused
                let hours = schedule.retryFor.components.seconds / 3600
                try organisations.mail(
                    db, to: endpoint.organisation, .endpointPaused, ["address": endpoint.details.url, "hours": "\(hours)"])
            }
        case .gone:
            // It waits: whoever verifies the endpoint again misses nothing.
            message.dueAt = now
            try queue.save(db, message, isDead: false)
            if endpoint.state == .active {
                endpoint.state = .gone
                try organisations.mail(db, to: endpoint.organisation, .endpointGone, ["address": endpoint.details.url])
            }
        }
        try endpoints.save(db, endpoint)
        return decision
    }
}
