// Publishes what an emergency service may know of each subscriber, and keeps in profiles who is one.

import Bus
import Contracts
import Foundation
import GRDB
import Logging
import ServiceKit
import Storage

/// Whatever concerns a card (somebody joins or leaves, a profile changes) marks it as due in its own transaction; `run` publishes it.
struct EmergencyCardStore: Sendable {
    private static let atOnce = 100
    /// JSON of a card is far below 3 KiB, and a page at most 1 MiB.
    private static let snapshotPage = 300
    private static let pollInterval = Duration.seconds(10)
    private static let backoff = Backoff(.seconds(1), upTo: .seconds(1))

    let store: Store
    let repository: AccountRepository
    let places: PlaceList
    private let facts: StateStream<EmergencyCardState>
    let relay: EventRelay
    let wakeUp: WakeUpSignal
    let logger: Logger
    private let table = EmergencySubscriberStore()

    init(
        store: Store, repository: AccountRepository, places: PlaceList, epoch: String, relay: EventRelay, wakeUp: WakeUpSignal,
        logger: Logger
    ) {
        (self.store, self.repository, self.places, self.relay, self.wakeUp, self.logger) = (
            store, repository, places, relay, wakeUp, logger
        )
        facts = StateStream(epoch: epoch, vault: repository.vault)
    }

    /// Of `sos.subscriptions`.
    func follower(on runtime: Runtime) -> Follower {
        Follower(
            family: .subscriptions, on: runtime, store: store,
            apply: { [table] db, event in
                if let state = try event.fact(SubscriptionState.self, type: SubscriptionState.type) { try table.note(db, state) }
            },
            snapshot: SnapshotRules { [table] db, event in
                guard let state = try event.fact(SubscriptionState.self, type: SubscriptionState.type) else { return nil }
                try table.note(db, state)
                return state.person.bytes
            } known: { [table] db, _, after, limit in
                try table.known(db, after: after, limit: limit).map(\.bytes)
            } forget: { [table] db, key in
                if let person = PersonID(bytes: key) { try table.note(db, left: person) }
                return nil
            },
            after: { [wakeUp] _ in wakeUp.notify() })
    }

    /// Publishes what is due until it is cancelled. A part of the service (`Background`).
    func run() async throws {
        let loop = WorkLoop(every: Self.pollInterval, signal: wakeUp, backoff: Self.backoff) { [logger] error in
            logger.error("emergency cards could not be published; retrying", metadata: ["error": "\(String(reflecting: type(of: error)))"])
        }
        try await loop.poll { _ = try await publishDue() }
    }

    /// As `Store.publishDue`.
    @discardableResult
    func publishDue(at now: Timestamp = .now, step: Int = Self.atOnce) async throws -> Int {
        try await store.publishDue(step: step) { [table, repository] db, after in
            let due = try table.due(db, after: after, limit: step)
            for state in due { try publish(db, state, repository, at: now) }
            return due.map(\.person)
        }
    }

    private func publish(_ db: Database, _ state: SubscriptionState, _ repository: AccountRepository, at now: Timestamp) throws {
        // Whom an operator enrolled has no account, who is leaving has none any more: there is nothing to publish.
        guard let row = try repository.table.find(db, person: state.person), row.state != .closing else {
            return try table.settle(db, state)
        }
        do {
            let status = try repository.vault.profile(row).automatedSOS.status
            if state.subscribed {
                try repository.settleSOS(db, of: state.person, AutomatedSOSPreference(status: .active), at: now)
            } else if status == .active {
                try repository.settleSOS(db, of: state.person, AutomatedSOSPreference(status: .left), at: now)
            }
            let card = state.subscribed ? EmergencyCard(try repository.vault.profile(row), places: places) : nil
            let fact = try facts.append(db, EmergencyCardState(person: state.person, card: card), about: state.person, at: now)
            relay.publish(fact, afterCommitOf: db)
            try table.settle(db, state)
        } catch is KeyDestroyed {
            try table.settle(db, state)
        } catch  where ProfileVault.isDamage(error) {
            // Stays due until the key is restored; the others' cards are published. A damaged key is logged by the keys.
            if !(error is DamagedKey) {
                logger.error("a card cannot be published: the profile cannot be read", metadata: ["reason": "\(error.logReason)"])
            }
        }
    }

    func render(_ row: StreamRow) throws -> [UInt8]? {
        try facts.render(row)
    }

    /// One page of all cards.
    func snapshot(_ asked: SnapshotStream) async throws -> SnapshotStream.Reply {
        try await store.read { [table, facts] db in
            try facts.snapshot(db, asked, limit: Self.snapshotPage) { (after: PersonID, limit: Int) in
                try table.subscribed(db, after: after, limit: limit).map { ($0.person, $0.person, try card(db, of: $0.person)) }
            }
        }
    }

    func register(in methods: inout Methods) {
        methods.on(ReadEmergencyCards.self) { request, _ in
            guard request.people.count <= ReadEmergencyCards.mostPeople else { throw Failure(.invalid, "at most 100 people") }
            return ReadEmergencyCards.Reply(cards: try await cards(of: request.people))
        }
    }

    /// Of people who are not subscribed nothing is told, whoever asks.
    func cards(of people: [PersonID]) async throws -> [EmergencyCardState] {
        try await store.read { [table] db in
            try people.compactMap { person in try table.isSubscribed(db, person) ? card(db, of: person) : nil }
        }
    }

    /// Nil for who has no account, or is leaving it.
    private func card(_ db: Database, of person: PersonID) throws -> EmergencyCardState? {
        guard let row = try repository.table.find(db, person: person), row.state != .closing else { return nil }
        do {
            return EmergencyCardState(person: person, card: EmergencyCard(try repository.vault.profile(row), places: places))
        } catch  where error is KeyDestroyed || ProfileVault.isDamage(error) {
            return nil
        }
    }
}
