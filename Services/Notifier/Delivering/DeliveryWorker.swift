// Carries the messages of one channel: claims what is due, makes the attempts, stores what came of them.

import Contracts
import Logging
import Outbound
import Sealing
import ServiceKit
import ServiceLifecycle

/// One per channel, so that a server that hangs holds up nobody else. At most `parallel` attempts at once, and as many again that
/// only urgent messages get: a newsletter on its way never holds up an alarm. Each is stored as begun before it is made.
actor DeliveryWorker: Service {
    /// How long attempts under way are waited for at the end.
    private static let lastAttempts = Duration.seconds(5)
    /// Polls in case a wake-up was lost.
    private static let pollInterval = Duration.seconds(5)
    /// Pause after the disk refused.
    private static let diskPause = Duration.seconds(1)

    struct Terms: Sendable {
        var pace: Pace
        var parallel: Int
        var perHour: Int
        /// Where the suite is found, for the closing of mails.
        var origin: String
    }

    private let channel: Channel
    private let carrier: any Carrier
    private let store: MessageRepository
    private let people: PersonRepository
    private let terms: Terms
    private let metrics: NotifierMetrics
    private let logger: Logger
    private let wakeUp = WakeUpSignal()
    private var attempts: [DeliveryID: Task<Void, Never>] = [:]
    /// How many of them are of messages that are not urgent.
    private var others = 0

    init(
        _ channel: Channel, _ carrier: any Carrier, store: MessageRepository, people: PersonRepository, terms: Terms,
        metrics: NotifierMetrics,
        logger: Logger
    ) {
        (self.channel, self.carrier, self.store, self.people) = (channel, carrier, store, people)
        (self.terms, self.metrics, self.logger) = (terms, metrics, logger)
    }

    /// There is something new, or something has become due.
    nonisolated func wake() {
        wakeUp.notify()
    }

    func run() async throws {
        let backoff = Backoff(DeliveryWorker.diskPause, upTo: DeliveryWorker.diskPause)
        let loop = WorkLoop(every: DeliveryWorker.pollInterval, signal: wakeUp, backoff: backoff) { [channel, logger] error in
            logger.error(
                "deliveries could not be read or begun; retrying",
                metadata: ["channel": "\(channel.rawValue)", "reason": "\(type(of: error))"])
        }
        // It ends by cancellation, or with a store that was closed; either way attempts that have begun may end.
        try? await cancelWhenGracefulShutdown { [self] in try await loop.run { try await self.round() } }
        await finish()
    }

    private func round() async throws -> NextRound {
        let order = carrier.providers
        let room = 2 * terms.parallel - attempts.count
        let roomForOthers = min(room, terms.parallel - others)
        guard !order.isEmpty, room > 0 else { return .whenWoken }
        let now = store.clock.now
        guard let due = try await store.nextDue(on: channel, urgentOnly: roomForOthers <= 0) else { return .whenWoken }
        guard due <= now else { return .after(due - now) }
        let claims = try await store.claim(channel, order: order, limit: room, others: roomForOthers, perHour: terms.perHour, at: now)
        for claim in claims { begin(claim) }
        // All that is due has expired: the sweep will settle it.
        return claims.isEmpty ? .after(.milliseconds(200)) : .atOnce
    }

    private func begin(_ claim: Claim) {
        if !claim.isUrgent { others += 1 }
        attempts[claim.id] = Task {
            await attempt(claim)
            attempts[claim.id] = nil
            if !claim.isUrgent { others -= 1 }
            wakeUp.notify()
        }
    }

    private func attempt(_ claim: Claim) async {
        let provider = claim.delivery.provider ?? ""
        let outcome = await outcome(of: claim, by: provider)
        metrics.attempted(channel, provider, outcome)
        let order = carrier.providers
        let pace = terms.pace
        let jitter = Double.random(in: 0...1)
        while true {
            do {
                let now = store.clock.now
                let ordinal = claim.delivery.attempts
                let known = try await store.change(claim.id, at: .now) { delivery in
                    // A receipt may have overtaken the answer.
                    guard delivery.attempts == ordinal, delivery.begunAt != nil else { return false }
                    delivery.end(outcome, order: order, pace: pace, jitter: jitter, at: now)
                    return true
                }
                if let known { note(known, claim, at: .now) }
                return
            } catch {
                // What came of it must not be forgotten; until it is stored, a restart would take it for unknown.
                logger.error("an outcome could not be stored; retrying", metadata: ["message": "\(claim.id.message)"])
                guard (try? await Task.sleep(for: DeliveryWorker.diskPause)) != nil else { return }
            }
        }
    }

    private func note(_ delivery: Delivery, _ claim: Claim, at now: Timestamp) {
        if delivery.state == .sent || delivery.state == .delivered { metrics.sent(channel, after: now - claim.message.createdAt) }
        if delivery.isSettled { metrics.settled(channel, delivery) }
        guard delivery.state == .failed else { return }
        logger.warning(
            "a message was given up",
            metadata: [
                "message": "\(claim.id.message)", "channel": "\(channel.rawValue)", "reason": "\(delivery.reason ?? "")",
            ])
    }

    private func outcome(of claim: Claim, by provider: String) async -> Delivery.Outcome {
        do {
            guard let letter = try await letter(claim) else { return .refused("no-channel") }
            let outcome = await carrier.carry(letter, by: provider)
            if channel == .push, outcome == .refused(PushCarrier.gone) { try await people.dropEndpoint(number: claim.id.target) }
            return outcome
        } catch is SealingError {
            logger.error("a message cannot be opened", metadata: ["message": "\(claim.id.message)"])
            return .refused("unreadable")
        } catch {
            return .unreachable
        }
    }

    /// nil where its content or its address is gone: the person was erased or has removed the endpoint.
    private func letter(_ claim: Claim) async throws -> Letter? {
        guard let sealed = claim.message.sealed, let key = try store.envelopes.key(of: claim.message.person) else { return nil }
        let content: MessageContent = try store.envelopes.open(sealed, in: .message(claim.id.message), key: key)
        let address: String? =
            switch channel {
            case .mail: content.mail
            case .sms, .call: content.phone
            case .push: try await people.endpointAddress(number: claim.id.target)
            case .inbox: nil
            }
        guard let address else { return nil }
        return Letter(
            message: claim.id.message, attempt: claim.delivery.attempts, address: address, language: content.language,
            list: content.template.list,
            text: RenderedMessage(content.template, in: content.language, values: content.values, origin: terms.origin),
            createdAt: claim.message.createdAt, notAfter: claim.message.notAfter)
    }

    /// Attempts that have begun may end; what is cut off is treated as unknown at the next start.
    private func finish() async {
        let tasks = Array(attempts.values)
        let timeout = Task {
            try await Task.sleep(for: DeliveryWorker.lastAttempts)
            for task in tasks { task.cancel() }
        }
        for task in tasks { await task.value }
        timeout.cancel()
    }
}
