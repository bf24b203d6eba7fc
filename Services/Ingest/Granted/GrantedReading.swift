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
    let accesses: FactStream
    /// How long ago everything that consent had said was known.
    let silence: @Sendable () -> Duration
    let clock: @Sendable () -> Timestamp
    let logger: Logger
    private let grants = GrantTable()

    init(
        store: Store, vault: ChunkVault, accesses: FactStream, logger: Logger, silence: @escaping @Sendable () -> Duration,
        clock: @escaping @Sendable () -> Timestamp = { .now }
    ) {
        (self.store, self.vault, self.accesses, self.logger) = (store, vault, accesses, logger)
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
        let room = GrantedPage.bytes / GrantedPage.bytes(of: asked.type)
        let (granules, hasMore) = try await store.read { [vault] db in
            try GranuleReader.granules(asked.type, of: grant.person, plan, limit: min(asked.limit, room), vault: vault, db)
        }
        return (plan.samples(of: granules, asked.type), hasMore ? granules.last.map { String($0.start) } : nil)
    }
}

/// How much one answer holds.
enum GrantedPage {
    static let bytes = 1_000_000

    /// JSON of one value at most: the longest code, numbers of the longest spelling and the names around them.
    static func bytes(of metric: Metric) -> Int {
        metric == .position ? 232 : 104
    }
}

/// The parts of reading under grants, for ingest's assembly.
struct GrantedParts: Sendable {
    let reading: GrantedReading
    let follower: Follower
    /// Whose uploads third parties are told of.
    let people: GrantedPeople

    /// - Parameter relay: of the family `ingest.accesses`.
    init(
        store: Store, vault: ChunkVault, epoch: String, relay: EventRelay, people: GrantedPeople = GrantedPeople(), on runtime: Runtime
    ) {
        let table = GrantTable()
        let follower = Follower(family: .grants, on: runtime, store: store) { db, event in
            // What is said of a grant may come later than the order to erase its person.
            if let person = PersonID(event.header.subject), try vault.keys.isDestroyed(person) { return }
            try table.apply(db, event)
            if let state = try GrantTable.state(event) { people.widen(by: state) }
        } begin: { db, _, snapshot in
            try table.begin(db, snapshot)
            for state in try snapshot.compactMap(GrantTable.state) { people.widen(by: state) }
        } after: { events in
            for state in events.compactMap({ try? GrantTable.state($0) }) { people.settle(on: state) }
        } begun: { _, snapshot in
            people.replace(by: snapshot.compactMap { try? GrantTable.state($0) })
        }
        let accesses = FactStream(stream: StreamFamily.accesses.streams[0], epoch: epoch, relay: relay)
        reading = GrantedReading(store: store, vault: vault, accesses: accesses, logger: runtime.logger) { follower.silentFor }
        (self.follower, self.people) = (follower, people)
    }
}
