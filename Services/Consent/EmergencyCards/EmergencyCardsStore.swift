// Tells the SOS dispatcher what an emergency service may be told of each subscriber, and keeps profiles saying who is one.

import Bus
import Contracts
import Foundation
import GRDB
import Logging
import ServiceKit
import Storage

/// Whatever concerns a card (somebody joins or leaves, a profile changes) marks it as due in its own transaction; `run` says it.
struct EmergencyCards: Sendable {
    private static let atOnce = 100
    /// JSON of a card is far below 3 KiB, and a page at most 1 MiB.
    private static let snapshotPage = 300
    private static let look = Duration.seconds(10)
    /// After a failure.
    private static let pause = Duration.seconds(1)

    let store: Store
    let book: AccountBook
    let places: PlaceList
    let news: EmergencyCardNews
    let relay: EventRelay
    let bell: Bell
    let logger: Logger
    private let table = EmergencySubscribers()

    init(store: Store, book: AccountBook, places: PlaceList, epoch: String, relay: EventRelay, bell: Bell, logger: Logger) {
        (self.store, self.book, self.places, self.relay, self.bell, self.logger) = (store, book, places, relay, bell, logger)
        news = EmergencyCardNews(epoch: epoch, vault: book.vault)
    }

    /// Of `sos.subscriptions`.
    func follower(on runtime: Runtime) -> Follower {
        Follower(
            family: .subscriptions, on: runtime, store: store,
            apply: { [table] db, event in
                if let state = try event.fact(SubscriptionState.self, type: SubscriptionState.type) { try table.note(db, state) }
            },
            begin: { [table] db, _, snapshot in
                try table.replace(
                    db, by: try snapshot.compactMap { try $0.fact(SubscriptionState.self, type: SubscriptionState.type) })
            }, after: { [bell] _ in bell.ring() })
    }

    /// Says what is due until it is cancelled. A part of the service (`Background`).
    func run() async throws {
        while !Task.isCancelled {
            do {
                if try await sayDue() < Self.atOnce { await bell.wait(atMost: Self.look) }
            } catch is CancellationError {
                throw CancellationError()
            } catch {
                logger.error("cards could not be said; it is tried again", metadata: ["error": "\(String(reflecting: type(of: error)))"])
                try await Task.sleep(for: Self.pause)
            }
        }
        throw CancellationError()
    }

    /// - Returns: how many were due.
    @discardableResult
    func sayDue(at now: Timestamp = .now) async throws -> Int {
        let (count, facts) = try await store.write { [table, book] db in
            let due = try table.due(db, limit: Self.atOnce)
            return (due.count, try due.compactMap { try say(db, $0, book, at: now) })
        }
        for fact in facts { relay.committed(fact) }
        return count
    }

    private func say(_ db: Database, _ state: SubscriptionState, _ book: AccountBook, at now: Timestamp) throws -> EventRelay.Committed? {
        // Whom an operator enrolled has no account, who is leaving has none any more: nothing is known that could be told.
        guard let row = try book.table.find(db, person: state.person), row.state != .closing else {
            try table.settle(db, state)
            return nil
        }
        do {
            let status = try book.vault.profile(row).automatedSOS.status
            if state.subscribed {
                try book.settleSOS(db, row.number, AutomatedSOSWish(status: .active), at: now)
            } else if status == .active {
                try book.settleSOS(db, row.number, AutomatedSOSWish(status: .left), at: now)
            }
            let card = state.subscribed ? EmergencyCard(try book.vault.profile(row), places: places) : nil
            let fact = try news.say(db, EmergencyCardState(person: state.person, card: card), at: now)
            try table.settle(db, state)
            return fact
        } catch is KeyDestroyed {
            try table.settle(db, state)
            return nil
        }
    }

    func render(_ row: StreamRow) throws -> [UInt8]? {
        try news.render(row)
    }

    /// One page of all cards; `after` is the last person.
    func snapshot(_ asked: SnapshotStream) async throws -> SnapshotStream.Reply {
        let after = try asked.after.map { text in
            guard let person = PersonID(text) else { throw Failure(.invalid, "after is the next of the page before") }
            return person
        }
        return try await store.read { [table, book, places, news] db in
            let people = try table.subscribed(db, after: after, limit: Self.snapshotPage)
            let facts = try people.compactMap { state -> ReplayStream.Fact? in
                guard let row = try book.table.find(db, person: state.person), row.state != .closing else { return nil }
                do {
                    let card = EmergencyCard(try book.vault.profile(row), places: places)
                    return try news.fact(db, EmergencyCardState(person: state.person, card: card))
                } catch is KeyDestroyed {
                    return nil
                }
            }
            return SnapshotStream.Reply(
                epoch: news.epoch, sequence: try news.head(db), facts: facts,
                next: people.count == Self.snapshotPage ? people.last.map { "\($0.person)" } : nil)
        }
    }
}
