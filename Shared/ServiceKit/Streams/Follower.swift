// Following what another service says: effects and positions in this service's own store, memory after the commit.

import Bus
package import Contracts
import Foundation
package import GRDB
import Logging
package import Storage
import Synchronization

/// Applies each fact of one family exactly once, whatever is killed when. A service follows a family with one follower; run it as a
/// `Background` part. Its store needs `ConsumerPositions.create`.
///
/// Whatever goes wrong is tried again each second: a part of the service that others need is not ended by it. Meanwhile `silentFor` grows;
/// where something that was said could not be stored, it is very long at once.
package final class Follower: Sendable {
    private let family: StreamFamily
    private let runtime: Runtime
    private let store: Store
    private let freshness = StreamFreshness()
    private let apply: @Sendable (Database, StreamEvent) throws -> Void
    private let snapshot: SnapshotRules?
    private let passedOver: @Sendable (Database, String) throws -> Void
    private let after: @Sendable ([StreamEvent]) async -> Void
    private let positions = ConsumerPositions()

    /// - Parameters:
    ///   - apply: One fact, in a transaction with the position. Facts about people who have been erased since are skipped.
    ///   - snapshot: What becomes of a snapshot, of families that keep state. It is taken in short transactions, between which others write;
    ///     the position comes with the last one, so that after a crash it begins anew.
    ///   - passedOver: Facts of a stream were said that are never applied: this store begins at the stream's head, or no log holds them any
    ///     more. Of families without snapshots alone. In a transaction, at or before the position behind them; perhaps twice.
    ///   - after: What was applied, or taken of a snapshot, is committed: the place to bring memory up to date. Without events: a snapshot
    ///     has been taken whole.
    package init(
        family: StreamFamily, on runtime: Runtime, store: Store,
        apply: @escaping @Sendable (Database, StreamEvent) throws -> Void,
        snapshot: SnapshotRules? = nil,
        passedOver: @escaping @Sendable (_ db: Database, _ stream: String) throws -> Void = { _, _ in },
        after: @escaping @Sendable ([StreamEvent]) async -> Void = { _ in }
    ) {
        precondition(family.keepsState == (snapshot != nil), "families that keep state have snapshots, and no others")
        (self.family, self.runtime, self.store) = (family, runtime, store)
        (self.apply, self.snapshot, self.passedOver, self.after) = (apply, snapshot, passedOver, after)
    }

    /// How long ago everything that the other service had said was known here; very long where it never was, and from a fact that cannot
    /// be stored until it is. What privacy rests on is denied when this is too long.
    package var silentFor: Duration {
        freshness.age ?? .seconds(Int64(Int32.max))
    }

    /// Runs until it is cancelled.
    package func run() async throws {
        var consumer: StreamConsumer?
        while true {
            do {
                let hearing: StreamConsumer
                if let consumer {
                    hearing = consumer
                } else {
                    hearing = try await runtime.consumer(of: family, freshness: freshness)
                }
                consumer = hearing
                try await hear(hearing)
                return
            } catch is CancellationError {
                throw CancellationError()
            } catch {
                try Task.checkCancellation()
                runtime.logger.error(
                    "following stopped and begins again",
                    metadata: ["family": "\(family.name)", "error": "\(error.logReason)"])
            }
            // A pause between attempts, so that a fault that stays does not fill the log.
            try await Task.sleep(for: .seconds(1))
        }
    }

    private func hear(_ consumer: StreamConsumer) async throws {
        let known = try await store.read { [positions] db in try positions.load(db) }.filter { family.streams.contains($0.stream) }
        let placed = Mutex(Set(known.map(\.stream)))
        let taking = snapshot.map { SnapshotTaking(store: store, rules: $0, after: after) }
        // What one that was broken off has left may be of people who are erased since.
        for stream in family.streams { try await taking?.clear(stream) }
        try await consumer.run(from: known) { [self] events, next in
            let living = events.filter { $0.header.type != StreamHeader.erased }
            let begun = placed.withLock { placed in next.map(\.stream).filter { !placed.contains($0) } }
            try await keeping {
                try await store.write { [positions, apply, passedOver] db in
                    for stream in begun { try passedOver(db, stream) }
                    for event in living { try apply(db, event) }
                    try positions.save(db, next)
                }
            }
            placed.withLock { $0.formUnion(begun) }
            if !living.isEmpty { await after(living) }
        } restart: { [self] page in
            guard let taking else { return }
            try await keeping { try await taking.take(page) }
            guard let next = page.next else { return }
            try await keeping {
                try await taking.finish(page.stream)
                try await store.write { [positions] db in try positions.save(db, [next]) }
            }
            placed.withLock { _ = $0.insert(page.stream) }
            await after([])
            try await taking.clear(page.stream)
        } passedOver: { [self] stream, _ in
            try await store.write { [passedOver] db in try passedOver(db, stream) }
        }
    }

    /// On a full disk the heartbeats before a withdrawal would let it pass for unsaid until they have grown old.
    private func keeping(_ work: () async throws -> Void) async throws {
        do {
            try await work()
        } catch {
            freshness.forget()
            throw error
        }
    }
}

extension StreamEvent {
    /// The fact that the payload tells; nil for one of another type.
    /// - Throws: what the decoder says where a fact of this type cannot be read.
    package func fact<Fact: Decodable>(_: Fact.Type, type: String) throws -> Fact? {
        guard header.type == type else { return nil }
        if let known = Fact.self as? any HandWrittenJSON.Type, let fact = known.init(handWritten: payload) as? Fact { return fact }
        return try CheckedJSON.decode(Fact.self, from: payload, of: .suite)
    }
}
