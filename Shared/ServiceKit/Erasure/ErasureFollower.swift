// A service's part in erasing a person: consumes the order, erases, and confirms, through restarts and whoever is down meanwhile.

import Bus
package import Contracts
package import GRDB
package import Logging
package import Storage
import Synchronization

/// Orders come by `apply` (the streams of consent) or by `add` (consent itself); `run` carries them out one after the
/// other. An order is in the store before it is carried out, and stays until consent has taken the confirmation.
package final class ErasureFollower: Sendable {
    /// Says to consent that it is done; throws where it was not heard.
    package typealias Confirm = @Sendable (ConfirmErasure) async throws -> Void

    /// Polls in case a wake-up was lost.
    private static let look = Duration.seconds(30)
    private static let backoff = Backoff(.milliseconds(250), upTo: look)
    /// How long an order waits for what is under way.
    private static let wait = Duration.seconds(1)

    private let peer: Peer
    private let store: Store
    private let keys: PersonKeys
    private let steps: ErasureSteps
    private let confirm: Confirm
    private let logger: Logger
    private let jobs = ErasureJobs()
    private let wakeUp = WakeUpSignal()

    /// A piece of the service's migration.
    package static func create(in db: Database) throws {
        try ErasureJobs.create(in: db)
    }

    /// `confirm` is called again, after a pause, until it does not throw; where it throws `ErasureWaits`, other orders are carried out
    /// meanwhile.
    package init(of peer: Peer, store: Store, keys: PersonKeys, steps: ErasureSteps, logger: Logger, confirm: @escaping Confirm) {
        (self.peer, self.store, self.keys, self.steps) = (peer, store, keys, steps)
        (self.logger, self.confirm) = (logger, confirm)
    }

    /// Confirms to the suite's consent.
    package convenience init(on runtime: Runtime, store: Store, keys: PersonKeys, steps: ErasureSteps) async throws {
        let consent = try await runtime.client(of: .consent)
        self.init(of: runtime.peer, store: store, keys: keys, steps: steps, logger: runtime.logger) { confirmation in
            _ = try await consent.ask(confirmation, trace: "\(confirmation.erasure)", deadline: .seconds(2))
        }
    }

    // MARK: Orders

    /// Keeps an order in the caller's transaction.
    package func add(_ db: Database, _ order: PersonErased) throws {
        guard try jobs.add(db, order) else { return }
        db.afterCommit { [wakeUp] in wakeUp.notify() }
    }

    /// An event of `.accounts`, in the transaction of its position, or of a snapshot, which holds the orders that not everybody has
    /// confirmed.
    package func apply(_ db: Database, _ event: StreamEvent) throws {
        if let order = try event.fact(PersonErased.self, type: PersonErased.type) { try add(db, order) }
    }

    // MARK: Carrying out

    /// Runs until it is cancelled.
    package func run() async throws {
        try await WorkLoop(every: Self.look, signal: wakeUp, backoff: Self.backoff).run { try await self.round() }
    }

    /// Each order has its turn: one that fails, or waits, holds up no other.
    private func round() async throws -> NextRound {
        guard let open = try await trying({ try await self.store.read { [jobs = self.jobs] db in try jobs.open(db) } }) else {
            return .backOff
        }
        var next = NextRound.whenWoken
        for job in open {
            switch try await trying({ try await self.carryOut(job) }) {
            case true?: continue
            case false?: if next == .whenWoken { next = .after(Self.wait) }
            case nil: next = .backOff
            }
        }
        return next
    }

    /// Nil where it failed, which is told to the operator; throws `CancellationError` alone.
    private func trying<Value>(_ work: () async throws -> Value) async throws -> Value? {
        do {
            return try await work()
        } catch is CancellationError {
            throw CancellationError()
        } catch {
            logger.warning(
                "an erasure is not finished and is tried again", metadata: ["error": "\(error.logReason)"])
            return nil
        }
    }

    /// False where it has to wait for something.
    private func carryOut(_ job: ErasureJobs.Job) async throws -> Bool {
        let order = job.order
        let stores: [ErasedStore]
        if let erased = job.stores {
            stores = erased
        } else {
            do {
                stores = try await erase(order)
            } catch is ErasureWaits {
                return false
            }
            try await store.write { [jobs] db in try jobs.erased(db, order.erasure, stores: stores) }
        }
        // Only after it is noted that the old key is gone: begun again, this would destroy the new one.
        if order.scope == .data, steps.destroysKey(order) { try await keys.renewKey(of: order.person) }
        try await steps.finish(order)
        do {
            try await confirm(ConfirmErasure(erasure: order.erasure, stores: stores))
        } catch is ErasureWaits {
            // Somebody else's part is not done yet: that holds up nobody else's erasure.
            return false
        }
        try await store.write { [jobs] db in try jobs.confirmed(db, order.erasure, at: .now) }
        try await store.emptyLog()
        logger.notice("an erasure is confirmed", metadata: ["erasure": "\(order.erasure)", "scope": "\(order.scope.rawValue)"])
        return true
    }

    private func erase(_ order: PersonErased) async throws -> [ErasedStore] {
        try await steps.shut(order)
        let destroysKey = steps.destroysKey(order)
        if destroysKey { try await keys.destroyKey(of: order.person) }
        let keysAt = Timestamp.now
        var removed = 0
        while true {
            let count = try await store.write { [steps] db in try steps.delete(db, order) }
            guard count > 0 else { break }
            removed += count
        }
        removed += try await StreamLog().erase(order.person, in: steps.streams(order), of: store)
        try await store.emptyLog()
        let rowsAt = Timestamp.now
        var further: [ErasedStore] = []
        for store in steps.further { further.append(try await store.erase(order)) }
        let copies = try await keys.renewBackups()
        return [
            ErasedStore(store: "\(peer).db", removed: removed, at: rowsAt, kept: steps.kept),
            ErasedStore(
                store: "\(peer)-keys.db", removed: destroysKey ? 1 : 0, at: keysAt, kept: destroysKey ? nil : steps.keptKey),
            ErasedStore(store: "\(peer)-keys.db backups", removed: copies, at: .now),
        ] + further
    }
}

extension Follower {
    /// Follows `.accounts`, which a service can follow only once: for its tokens and for erasures.
    /// - Parameter also: what else follows from a fact, in its transaction; perhaps more than once.
    package static func accounts(
        on runtime: Runtime, store: Store, tokens: TokenChecker?, erasures: ErasureFollower,
        also: @escaping @Sendable (Database, StreamEvent) throws -> Void = { _, _ in }
    ) -> Follower {
        Follower(
            family: .accounts, on: runtime, store: store,
            apply: { db, event in
                try tokens?.apply(db, event)
                try erasures.apply(db, event)
                try also(db, event)
            },
            snapshot: SnapshotRules { db, event in
                try erasures.apply(db, event)
                try also(db, event)
                return try tokens?.take(db, event)
            } known: { db, stream, after, limit in
                try tokens?.keys(db, of: stream, after: after, limit: limit) ?? []
            } forget: { db, key in
                try tokens?.forget(db, key: key)
            },
            after: { tokens?.heard($0) })
    }
}
