// Handing out data under grants: nothing leaves that the grant does not allow in the transaction that writes the access down.

import Bus
import Contracts
import Logging
import ServiceKit
import Storage

/// Answers `read-samples` (SHR-11, SHR-12, SHR-21, SHR-24). Nothing else of ingest depends on it: with consent silent, devices
/// upload and emergencies are seen as ever, and every read here is denied.
struct GrantedReading: Sendable {
    let store: Store
    let vault: ChunkVault
    let accesses: GrantedAccessStore
    /// How long ago everything that consent had published was known.
    let silence: @Sendable () -> Duration
    let clock: @Sendable () -> Timestamp
    let logger: Logger

    init(
        store: Store, vault: ChunkVault, accesses: FactStream, logger: Logger, silence: @escaping @Sendable () -> Duration,
        clock: @escaping @Sendable () -> Timestamp = { .now }
    ) {
        (self.store, self.vault, self.logger) = (store, vault, logger)
        self.accesses = GrantedAccessStore(vault: vault, accesses: accesses)
        (self.silence, self.clock) = (silence, clock)
    }

    func register(in methods: inout Methods) {
        methods.on(ReadSamples.self) { try await read($0, $1) }
        methods.on(ReadSampleRanges.self) { [ranges = GrantedRanges(self)] in try await ranges.read($0, $1) }
    }

    func read(_ asked: ReadSamples, _ context: RequestContext) async throws -> ReadSamples.Reply {
        do {
            return try await page(asked, context)
        } catch let denial as ReadDenial {
            logger.notice(
                "a read was denied",
                metadata: ["grant": "\(asked.grant)", "reason": "\(denial.failure.code.rawValue)", "trace": "\(context.trace)"])
            throw denial.failure
        } catch is KeyDestroyed {
            throw ReadDenial.nothingLeft.failure
        } catch is DamagedKey {
            throw ReadDenial.keyDamaged.failure
        }
    }

    private func page(_ asked: ReadSamples, _ context: RequestContext) async throws -> ReadSamples.Reply {
        let limit = min(asked.limit, GrantedPage.bytes / GrantedPage.bytes(of: asked.type))
        let stretch = try await accesses.take(asked, limit: limit, in: store, clock: clock, silence: silence)
        let damaged = stretch.damaged.isEmpty ? nil : stretch.damaged
        guard !stretch.granules.isEmpty else { return ReadSamples.Reply(columns: stretch.columns, next: nil, damaged: damaged) }
        if let denial = try await store.write(GrantedAccess(stretch: stretch, trace: context.trace, reading: self)) { throw denial }
        // A person who was erased meanwhile has no key any more.
        _ = try vault.key(of: stretch.grant.person)
        return ReadSamples.Reply(columns: stretch.columns, next: stretch.next, damaged: damaged)
    }
}

/// How much one answer holds.
enum GrantedPage {
    static let bytes = 1_000_000
    /// Steps of a page that may be taken at once; larger ones are taken beside the other work.
    static let brief = 1000

    /// JSON of one value at most: the longest code, numbers of the longest spelling and the names around them.
    static func bytes(of metric: Metric) -> Int {
        metric == .position ? 232 : 104
    }
}

/// The parts of reading under grants, for ingest's assembly.
struct GrantedModule: Sendable {
    let reading: GrantedReading
    let follower: Follower
    /// Whose uploads are published to the gateway.
    let people: GrantedPeople

    /// - Parameter relay: of the family `ingest.accesses`.
    init(
        store: Store, vault: ChunkVault, epoch: String, relay: EventRelay, people: GrantedPeople = GrantedPeople(), on runtime: Runtime
    ) {
        let (grants, keys) = (GrantProjection(), vault.keys)
        let follower = Follower(
            family: .grants, on: runtime, store: store,
            apply: { db, event in
                guard let published = try GrantProjection.fact(of: event, keys: keys) else { return }
                people.widen(by: try grants.save(db, published))
            },
            snapshot: SnapshotRules { db, event in
                guard let published = try GrantProjection.fact(of: event, keys: keys) else { return nil }
                people.widen(by: try grants.save(db, published))
                return published.grant.bytes
            } known: { db, _, after, limit in
                try grants.known(db, after: after, limit: limit).map(\.bytes)
            } forget: { db, key in
                guard let grant = GrantID(bytes: key), let over = try grants.end(db, grant) else { return nil }
                return { people.settle(on: over) }
            },
            after: { events in
                let published = events.compactMap { try? $0.fact(GrantState.self, type: GrantState.type) }
                // What the table holds, not what was published: that may be more than is left.
                guard let held = try? await store.read({ db in try published.map { try grants.find(db, $0.grant) } }) else { return }
                for (published, held) in zip(published, held) {
                    if let held { people.settle(on: held) } else if !published.active { people.settle(on: published) }
                }
            })
        let accesses = FactStream(stream: StreamFamily.accesses.streams[0], epoch: epoch, relay: relay)
        reading = GrantedReading(store: store, vault: vault, accesses: accesses, logger: runtime.logger) { follower.silentFor }
        (self.follower, self.people) = (follower, people)
    }
}
