// The notifier's transactions: each one a whole change with the facts that publish it.

import Bus
import Contracts
import Foundation
import GRDB
import Outbound
import Sealing
import ServiceKit
import Storage

/// An attempt that may be made now: it is stored as begun.
struct Claim: Sendable {
    var id: DeliveryID
    var delivery: Delivery
    var message: StoredMessage
    var isUrgent: Bool
}

struct MessageRepository: Sendable {
    /// Part of another's transaction.
    typealias Write = @Sendable (Database) throws -> Void

    let store: Store
    let envelopes: Envelopes
    let facts: FactStream
    /// When attempts are due and what is too late.
    let clock: DeadlineClock
    private let messages = MessageStore()
    private let deliveries = DeliveryStore()
    private let inbox = InboxStore()
    private let channels = ChannelStore()

    init(_ store: Store, envelopes: Envelopes, facts: FactStream, clock: DeadlineClock) {
        (self.store, self.envelopes, self.facts, self.clock) = (store, envelopes, facts, clock)
    }

    // MARK: Taking messages

    /// Durable when it returns. The same message again changes nothing.
    /// - Parameter remember: stores the answer to the request in the same transaction.
    /// - Returns: whether it is new.
    /// - Throws: `Failure` (`conflict`) where another message has the id; `KeyDestroyed` where the person was erased.
    func accept(
        _ message: SendMessage, from sender: Peer, trace: String, at now: Timestamp, notAfter: Timestamp,
        remember: @escaping Write
    ) async throws -> Bool {
        let digest = try envelopes.digest(of: message)
        let key = try await envelopes.makeKey(for: message.recipient.person)
        let insert = try insertion(of: message, digest: digest, key: key, from: sender, trace: trace, at: now, notAfter: notAfter)
        return try await store.write { db -> Bool in
            if let known = try messages.digest(db, of: message.message) {
                guard Digest.constantTimeEqual(known, digest) else { throw Failure(.conflict, "another message has this id") }
                try remember(db)
                return false
            }
            try insert(db)
            try remember(db)
            return true
        }
    }

    /// Stores a message of the notifier's own, which is new, in the transaction of what it tells.
    /// - Throws: `KeyDestroyed` where the person was erased.
    func insertion(of message: SendMessage, at now: Timestamp, notAfter: Timestamp) async throws -> Write {
        try await insertion(of: message, key: envelopes.makeKey(for: message.recipient.person), at: now, notAfter: notAfter)
    }

    /// As the other, under the key of the message's person.
    func insertion(of message: SendMessage, key: SymmetricKey, at now: Timestamp, notAfter: Timestamp) throws -> Write {
        try insertion(
            of: message, digest: envelopes.digest(of: message), key: key, from: .notifier, trace: "\(message.message)", at: now,
            notAfter: notAfter)
    }

    private func insertion(
        of message: SendMessage, digest: [UInt8], key: SymmetricKey, from sender: Peer, trace: String, at now: Timestamp,
        notAfter: Timestamp
    ) throws -> Write {
        let person = message.recipient.person
        let content = MessageContent(message)
        let sealed = try envelopes.seal(content, in: .message(message.message), key: key)
        let forInbox = try envelopes.seal(content.withoutAddresses, in: .inbox(message.message), key: key)
        return { db in
            try messages.insert(
                db, message, from: sender, digest: digest, sealed: sealed, at: now, notAfter: notAfter, trace: trace)
            for planned in try plan(db, message, key) {
                let id = DeliveryID(message.message, planned.channel, target: planned.target)
                let recipient = planned.address.flatMap { $0.isEmpty ? nil : envelopes.lookup($0) }
                try deliveries.insert(
                    db, id, first(planned, at: now, notAfter: notAfter), recipient: recipient, urgent: message.template.isUrgent)
                if planned.channel == .inbox, planned.reason == nil, let person {
                    try inbox.insert(db, message.message, of: person, sealed: forInbox, at: now)
                }
            }
            for channel in message.channels { try settle(db, message.message, channel, person, trace, at: now) }
        }
    }

    private func plan(_ db: Database, _ message: SendMessage, _ key: SymmetricKey) throws -> [PlannedDelivery] {
        guard let person = message.recipient.person else {
            return PlannedDelivery.plan(message, off: [], endpoints: []) { MailAddress($0) != nil }
        }
        let off: Set<Channel> =
            try channels.choices(db, of: person).map {
                try envelopes.open($0, in: .choices(person), key: key)
            } ?? []
        let endpoints = try channels.endpoints(db, of: person).map(\.number)
        return PlannedDelivery.plan(message, off: off, endpoints: endpoints) { MailAddress($0) != nil }
    }

    private func first(_ planned: PlannedDelivery, at now: Timestamp, notAfter: Timestamp) -> Delivery {
        if let reason = planned.reason { return .settled(.failed, reason: reason, at: now) }
        return planned.channel == .inbox ? .settled(.delivered, at: now) : Delivery(nextAt: clock.now, notAfter: notAfter)
    }

    /// How far a message is; nil where that peer sent none of this id.
    func states(of message: MessageID, askedBy peer: Peer) async throws -> [Channel: DeliveryState]? {
        try await store.read { db in
            guard try messages.isOf(db, peer, message) else { return nil }
            return Dictionary(grouping: try deliveries.all(db, of: message), by: \.id.channel)
                .mapValues { ChannelVerdict.progress($0.map(\.delivery.state)) }
        }
    }

    // MARK: Attempts

    /// - Parameter urgentOnly: there is no room for others.
    func nextDue(on channel: Channel, urgentOnly: Bool) async throws -> Timestamp? {
        try await store.read { try deliveries.nextDue($0, channel, urgentOnly: urgentOnly) }
    }

    /// Begins the attempts that are due; they may be made once this returns.
    /// - Parameters:
    ///   - order: the channel's providers.
    ///   - limit: of all attempts; urgent ones go first.
    ///   - others: how many of them may be of messages that are not urgent.
    ///   - perHour: how many messages one address gets in an hour; more wait.
    func claim(
        _ channel: Channel, order: [String], limit: Int, others: Int, perHour: Int, at now: Timestamp
    ) async throws -> [Claim] {
        try await store.write { db in
            let urgent = try deliveries.due(db, channel, urgent: true, at: now, limit: limit)
            let rest = try deliveries.due(db, channel, urgent: false, at: now, limit: min(others, limit - urgent.count))
            return try (urgent + rest).compactMap { id, due, recipient in
                var delivery = due
                if delivery.attempts == 0, let recipient, let wait = try rateLimitEnd(db, recipient, channel, perHour, at: now) {
                    delivery.nextAt = wait
                    try deliveries.update(db, id, delivery)
                    return nil
                }
                // Who refused it may have changed its mind where the settings have changed since.
                guard let provider = delivery.choice(of: order) ?? order.first, let message = try messages.find(db, id.message) else {
                    return nil
                }
                delivery.begin(with: provider, at: now)
                try deliveries.update(db, id, delivery)
                return Claim(id: id, delivery: delivery, message: message, isUrgent: urgent.contains { $0.id == id })
            }
        }
    }

    /// When the address may get the next message; nil where its limit is not reached.
    private func rateLimitEnd(
        _ db: Database, _ recipient: Data, _ channel: Channel, _ perHour: Int, at now: Timestamp
    ) throws -> Timestamp? {
        let begun = try deliveries.begun(db, for: recipient, on: channel, since: now - Pace.rateLimit, at: now)
        guard begun.count >= perHour, let oldest = begun.oldest else { return nil }
        return oldest + Pace.rateLimit
    }

    /// Changes one delivery and publishes what is settled by it. `change` returns whether there is anything to store.
    /// - Returns: the delivery as it is now; nil where it is gone.
    @discardableResult
    func change(
        _ id: DeliveryID, at now: Timestamp, _ change: @escaping @Sendable (inout Delivery) -> Bool
    ) async throws -> Delivery? {
        try await store.write { db -> Delivery? in
            guard var delivery = try deliveries.find(db, id), let message = try messages.find(db, id.message) else { return nil }
            guard change(&delivery) else { return delivery }
            try deliveries.update(db, id, delivery)
            if delivery.isSettled { try settle(db, id.message, id.channel, message.person, message.trace, at: now) }
            return delivery
        }
    }

    /// Attempts that were under way when the service ended, and what has taken too long.
    func neglected(at now: Timestamp, afterStart: Bool, limit: Int = 500) async throws -> [DeliveryID] {
        try await store.read { db in
            try (afterStart ? deliveries.interrupted(db) : deliveries.overdue(db, at: now, limit: limit)).map(\.id)
        }
    }

    /// Attempts that were put off for longer than anything is, by a clock that was ahead and is right again or has been set back, are due now.
    func hasten(_ pace: Pace, at now: Timestamp) async throws {
        let hasStray = try await store.read { try deliveries.hasStray($0, at: now, pace) }
        if hasStray { try await store.write { try deliveries.hasten($0, at: now, pace) } }
    }

    func waiting() async throws -> [(channel: Channel, count: Int, oldest: Timestamp)] {
        try await store.read { try deliveries.waiting($0) }
    }

    /// Publishes what became of the message on the channel, once nothing more can become of it.
    private func settle(
        _ db: Database, _ message: MessageID, _ channel: Channel, _ person: PersonID?, _ trace: String, at now: Timestamp
    ) throws {
        let all = try deliveries.all(db, of: message).filter { $0.id.channel == channel }
        guard let verdict = ChannelVerdict.of(all.map { ($0.delivery.state, $0.delivery.reason, $0.delivery.isSettled) }) else { return }
        try messages.forgetContent(db, of: message)
        let settled = MessageSettled(message: message, channel: channel, state: verdict.state, reason: verdict.reason)
        try facts.publish(db, type: MessageSettled.type, subject: person, body: settled, at: now, trace: trace)
    }

    // MARK: Forgetting

    /// What is older than its time goes, in slices between which other writes come.
    func expire(messagesBefore: Timestamp, inboxBefore: Timestamp, slice: Int = 500) async throws {
        while try await store.write({ db in try messages.deleteSettled(db, before: messagesBefore, limit: slice) }) == slice {}
        while try await store.write({ db in try inbox.delete(db, before: inboxBefore, limit: slice) }) == slice {}
    }

    /// A slice of everything of the person, in the caller's transaction; part of erasing them. Deliveries go with their messages.
    /// - Returns: how many rows; to be called again until it is none.
    func forget(_ db: Database, _ person: PersonID) throws -> Int {
        var slice = DeletionSlice()
        for (table, key) in [
            ("messages", "message"), ("inbox", "person, number"), ("push_endpoints", "number"), ("channel_choices", "person"),
        ] {
            try slice.delete(db, from: table, key: key, where: "person = ?", [person])
        }
        return slice.deleted
    }
}
