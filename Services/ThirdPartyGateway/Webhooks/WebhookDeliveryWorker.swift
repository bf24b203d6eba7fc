// Brings one endpoint its messages: each channel in order, one at a time, again and again until they are taken or given up.

import Contracts
import Logging
import Metrics
import ServiceKit
import Storage

/// What is to be sent, and how often it was tried, is in the store: a crash sends the same message again under the same id.
actor WebhookDeliveryWorker {
    typealias Transport = @Sendable (WebhookPost) async -> WebhookOutcome

    enum Next: Hashable, Sendable {
        case again
        case rest(Duration)
        /// Until a wake-up.
        case idle
        case stopped
    }

    /// Polls in case a wake-up was lost.
    private static let pollInterval = Duration.seconds(5)
    /// While the organisation may not get anything.
    private static let afterRefusal = Duration.seconds(5)
    /// Doubled from the first to the last.
    private static let afterFault = Duration.seconds(1)...Duration.seconds(60)

    nonisolated let endpoint: WebhookEndpointID
    nonisolated let organisation: OrganisationID
    private let dependencies: Dependencies
    private var underWay: [WebhookChannel: Attempt] = [:]
    /// How often something was called back: what was looked up before does not set out after.
    private var recalls = 0

    private struct Attempt {
        let feeds: Set<Int64>
        let task: Task<WebhookOutcome, Never>
        var isCalledBack = false
    }

    /// What every worker stands on.
    struct Dependencies: Sendable {
        let store: Store
        let table: WebhookDeliveryStore
        let hub: FeedHub
        let transport: Transport
        var permits = DeliveryPermits()
        let clock: @Sendable () -> Timestamp
        /// 0 to 1.
        let jitter: @Sendable () -> Double
        let logger: Logger
    }

    init(_ endpoint: WebhookEndpointID, of organisation: OrganisationID, on dependencies: Dependencies) {
        (self.endpoint, self.organisation, self.dependencies) = (endpoint, organisation, dependencies)
    }

    /// Until the endpoint is not active any more, or the task is cancelled.
    nonisolated func run(_ channel: WebhookChannel) async {
        let watcher = dependencies.hub.watch(organisation: organisation)
        var pause = Self.afterFault.lowerBound
        while !Task.isCancelled {
            let next: Next
            do {
                next = try await turn(channel)
                pause = Self.afterFault.lowerBound
            } catch {
                dependencies.logger.error(
                    "a webhook delivery worker failed; retrying",
                    metadata: ["endpoint": "\(endpoint)", "error": "\(String(reflecting: type(of: error)))"])
                await watcher.wait(atMost: pause)
                pause = min(pause * 2, Self.afterFault.upperBound)
                continue
            }
            switch next {
            case .again: continue
            case .rest(let duration): await watcher.wait(atMost: min(duration, Self.pollInterval))
            case .idle: await watcher.wait(atMost: Self.pollInterval)
            case .stopped: return
            }
        }
    }

    /// One step: at most one attempt.
    func turn(_ channel: WebhookChannel) async throws -> Next {
        try await turn(channel, holding: nil)
    }

    private func turn(_ channel: WebhookChannel, holding permit: DeliveryPermits.Permit?) async throws -> Next {
        let (now, known) = (dependencies.clock(), recalls)
        let (table, id, organisation) = (dependencies.table, endpoint, organisation)
        switch try await dependencies.store.read({ db in try table.next(db, id, channel, at: now) }) {
        case .stopped: return .stopped
        case .notAllowed: return .rest(Self.afterRefusal)
        case .idle: return .idle
        case .wait(let until): return .rest(max(.milliseconds(1), until - now))
        case .unsentItems:
            try await dependencies.store.write { db in try table.form(db, id, of: organisation, at: now) }
            return .again
        case .heartbeat:
            let isFormed = try await dependencies.store.write { db in try table.formHeartbeat(db, id, of: organisation, at: now) }
            return isFormed ? .again : .rest(Self.pollInterval)
        case .damaged(let message):
            Counter(label: "webhook_messages_unreadable_total").increment()
            dependencies.logger.error("a message cannot be read", metadata: ["endpoint": "\(id)", "message": "\(message.id)"])
            try await dependencies.store.write { db in try table.setAside(db, message) }
            return .again
        case .message(let message, _, nil):
            try await dependencies.store.write { db in try table.drop(db, message) }
            return .again
        case .message(let message, let endpoint, .some(let rendered)):
            guard recalls == known else { return .again }
            if let permit { return try await attempt(message, endpoint, rendered, at: permit) }
            guard let taken = await dependencies.permits.take(for: organisation, isSlow: endpoint.health.isSlow ?? false) else {
                return .again
            }
            defer { dependencies.permits.giveBack(taken) }
            // Whoever waited reads the store again: it may be withdrawn by now, or consent silent.
            guard !taken.hasWaited, recalls == known else { return try await turn(channel, holding: taken) }
            return try await attempt(message, endpoint, rendered, at: taken)
        }
    }

    private func attempt(
        _ message: WebhookMessage, _ endpoint: Endpoint, _ rendered: WebhookRenderingStore.Rendered, at permit: DeliveryPermits.Permit
    ) async throws -> Next {
        let begun = dependencies.clock()
        let post = WebhookPost(
            url: endpoint.details.url, id: message.id.description, body: rendered.body, secrets: endpoint.secrets(at: begun))
        let task = Task { [transport = dependencies.transport] in await transport(post) }
        underWay[message.channel] = Attempt(feeds: rendered.feeds, task: task)
        dependencies.permits.begin(permit, at: .now) { task.cancel() }
        var outcome = await withTaskCancellationHandler {
            await task.value
        } onCancel: {
            task.cancel()
        }
        if !outcome.isSuccess, dependencies.permits.giveBack(permit) { outcome = .failed(WebhookOutcome.timeout) }
        let isCalledBack = underWay.removeValue(forKey: message.channel)?.isCalledBack ?? false
        // Called back or stopped before it was taken: it is no failure of the endpoint's.
        if !outcome.isSuccess, isCalledBack || Task.isCancelled { return .again }
        let (table, now, jitter) = (dependencies.table, dependencies.clock(), dependencies.jitter())
        let decision = try await dependencies.store.write { [outcome] db in
            try table.conclude(db, message, outcome, begun: begun, now: now, jitter: jitter)
        }
        note(message, outcome, decision)
        return .again
    }

    /// Nothing of this subscription may leave any more: an attempt that carries it is broken off and made anew without.
    func callBack(_ feed: Int64) {
        recalls += 1
        for (channel, attempt) in underWay where attempt.feeds.contains(feed) {
            underWay[channel]?.isCalledBack = true
            attempt.task.cancel()
        }
    }

    private func note(_ message: WebhookMessage, _ outcome: WebhookOutcome, _ decision: WebhookDecision) {
        let word =
            switch decision {
            case .settled: "settled"
            case .again: "again"
            case .deadLettered: "buried"
            case .gone: "gone"
            }
        Counter(label: "webhook_attempts_total", dimensions: [("decision", word)]).increment()
        guard decision != .settled else { return }
        dependencies.logger.log(
            level: word == "again" ? .info : .warning, "a webhook was not accepted",
            metadata: [
                "endpoint": "\(endpoint)", "message": "\(message.id)", "attempt": "\(message.attempts + 1)", "outcome": "\(outcome.text)",
                "then": "\(word)",
            ])
    }
}
