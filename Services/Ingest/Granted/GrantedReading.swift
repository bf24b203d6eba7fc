// Handing out data under grants: nothing leaves that the grant does not allow in the transaction that writes the access down.

import Bus
import Contracts
import Logging
import ServiceKit
import Storage

/// Answers `read-samples` (SHR-11, SHR-12, SHR-21, SHR-24). Nothing else of ingest depends on it: with consent silent, devices
/// upload and emergencies are seen as ever, and every read here is denied.
struct GrantedReading: Sendable {
    /// JSON of one value at most: the longest code, two numbers of the longest spelling and the names around them.
    private static let bytesOfScalar = 104
    /// As long, with a position's four numbers.
    private static let bytesOfPosition = 232
    private static let bytesOfPage = 1_000_000

    let store: Store
    let vault: ChunkVault
    let accesses: FactStream
    /// How long ago everything that consent had said was known.
    let silence: @Sendable () -> Duration
    let clock: @Sendable () -> Timestamp
    let logger: Logger
    private let grants = GrantTable()
    private let people = DeviceTable()

    init(
        store: Store, vault: ChunkVault, accesses: FactStream, logger: Logger, silence: @escaping @Sendable () -> Duration,
        clock: @escaping @Sendable () -> Timestamp = { .now }
    ) {
        (self.store, self.vault, self.accesses, self.logger) = (store, vault, accesses, logger)
        (self.silence, self.clock) = (silence, clock)
    }

    func register(in methods: inout Methods) {
        methods.on(ReadSamples.self) { try await read($0, $1) }
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
        }
    }

    private func page(_ asked: ReadSamples, _ context: RequestContext) async throws -> ReadSamples.Reply {
        let known = try await store.read { [grants] db in try grants.find(db, asked.grant) }
        try GrantRules.check(asked, against: known, silence: silence())
        guard let grant = known else { throw ReadDenial.unknownGrant }
        let plan = try GranulePlan(asked, under: grant, now: clock())
        let (samples, next) = try await samples(asked, grant, plan)
        guard let first = samples.first, let last = samples.last else { return ReadSamples.Reply(samples: [], next: nil) }
        // Whatever was withdrawn while the page was made is seen here: facts and this check go through one writer.
        let fact = try await store.write { [grants, accesses, silence, clock] db in
            let still = try grants.find(db, asked.grant)
            try GrantRules.check(asked, against: still, silence: silence())
            guard still?.granularity == grant.granularity, still?.from == grant.from, still?.to == grant.to else {
                throw ReadDenial.notActive
            }
            let end = min(plan.start(of: last.at.milliseconds) + plan.width, plan.range.upperBound)
            let read = DataRead(
                grant: grant.grant, organisation: grant.organisation, metric: asked.type, from: first.at,
                to: Timestamp(milliseconds: end), count: samples.count)
            return try accesses.append(db, type: DataRead.type, subject: grant.person, body: read, at: clock(), trace: context.trace)
        }
        accesses.publish(fact)
        // A person who was erased meanwhile has no key any more.
        _ = try vault.key(of: grant.person)
        return ReadSamples.Reply(samples: samples, next: next)
    }

    private func samples(_ asked: ReadSamples, _ grant: GrantState, _ plan: GranulePlan) async throws -> (samples: [Sample], next: String?)
    {
        guard !plan.range.isEmpty else { return ([], nil) }
        let key = try vault.key(of: grant.person)
        let room = Self.bytesOfPage / (asked.type == .position ? Self.bytesOfPosition : Self.bytesOfScalar)
        let limit = min(asked.limit, room)
        let (granules, hasMore) = try await store.read { [people, vault] db -> ([Granule], Bool) in
            guard let number = try people.personNumber(db, grant.person) else { return ([], false) }
            let entries = ReadStore(vault: vault, person: grant.person, number: number, key: key)
            return try GranuleReader(entries: entries, metric: asked.type, plan: plan).first(limit, db)
        }
        // The place where something was measured is a type of its own and never comes along with another.
        let samples = granules.map {
            Sample(type: asked.type, at: plan.time(of: $0), value: $0.value, position: asked.type == .position ? $0.position : nil)
        }
        return (samples, hasMore ? granules.last.map { String($0.start) } : nil)
    }
}

/// The parts of reading under grants, for ingest's assembly.
struct GrantedParts: Sendable {
    let reading: GrantedReading
    let follower: Follower

    /// - Parameter relay: of the family `ingest.accesses`.
    init(store: Store, vault: ChunkVault, epoch: String, relay: EventRelay, on runtime: Runtime) {
        let table = GrantTable()
        let follower = Follower(family: .grants, on: runtime, store: store) { db, event in
            // What is said of a grant may come later than the order to erase its person.
            if let person = PersonID(event.header.subject), try vault.keys.isDestroyed(person) { return }
            try table.apply(db, event)
        } begin: { db, _, snapshot in
            try table.begin(db, snapshot)
        }
        let accesses = FactStream(stream: StreamFamily.accesses.streams[0], epoch: epoch, relay: relay)
        reading = GrantedReading(store: store, vault: vault, accesses: accesses, logger: runtime.logger) { follower.silentFor }
        self.follower = follower
    }
}
