// Judges the windows of subscriptions when they close: released, held to be joined with the next ones, or withheld (ANO-13).

import Contracts
import Logging
import Sealing
import ServiceKit

/// One window after the other, in the turn of whoever asks for releases. Whatever it is killed at, the next start judges the window that
/// was not told yet, and no other.
struct WindowClosing: Sendable {
    private static let look = Duration.seconds(30)
    private static let backoff = Backoff(.milliseconds(250), upTo: look)
    /// Subscriptions that are looked up at a time.
    private static let atOnce = 64

    let releases: ReleaseService
    let repository: ReleaseRepository
    let policy: AnonymityPolicy
    let places: PlaceCatalogue
    let tree: CellTree
    let people: @Sendable () async -> any CohortSource
    let say: ReleaseRepository.Say
    let signal: WakeUpSignal
    let logger: Logger
    let clock: @Sendable () -> Timestamp
    private let hierarchies: [PersonAttribute: Hierarchy]
    private let metrics = ReleaseMetrics()

    /// - Parameters:
    ///   - repository: of `releases`.
    ///   - people: everybody as of now.
    ///   - signal: hours were closed.
    init(
        _ releases: ReleaseService, _ repository: ReleaseRepository, _ policy: AnonymityPolicy, places: PlaceCatalogue, tree: CellTree,
        people: @escaping @Sendable () async -> any CohortSource, say: @escaping ReleaseRepository.Say, signal: WakeUpSignal,
        logger: Logger, clock: @escaping @Sendable () -> Timestamp
    ) {
        (self.releases, self.repository, self.policy, self.places, self.tree) = (releases, repository, policy, places, tree)
        (self.people, self.say, self.signal, self.logger, self.clock) = (people, say, signal, logger, clock)
        hierarchies = Hierarchy.all(places)
    }

    /// Runs until it is cancelled.
    func run() async throws {
        try await WorkLoop(every: Self.look, signal: signal, backoff: Self.backoff) { [logger] error in
            logger.error("windows could not be looked up and are tried again", metadata: ["error": "\(error.logReason)"])
        }.run { try await round() }
    }

    /// Judges at most one window of each subscription.
    func round() async throws -> NextRound {
        guard let closed = closedUntil(await people()) else { return .whenWoken }
        let due = try await repository.dueSubscriptions(closedUntil: closed, limit: Self.atOnce)
        var isFailed = false
        for request in due {
            do {
                try await releases.inTurn { _ in try await close(request) }
            } catch {
                try Task.checkCancellation()
                // The others do not wait for it.
                isFailed = true
                logger.error("a window could not be judged and is tried again", metadata: ["error": "\(error.logReason)"])
            }
        }
        return isFailed ? .backOff : due.isEmpty ? .whenWoken : .atOnce
    }

    /// Windows that end by then can be judged: their hours are closed, and the watermark is over. In quarter hours since 1970.
    private func closedUntil(_ source: any CohortSource) -> Int? {
        let minutes = Int(clock().milliseconds / 60_000) - policy.watermarkMinutes
        return source.closedUntil.map { min($0, minutes.flooredQuotient(15)) }
    }

    /// - Throws: `not-found` for what is no subscription of the organisation.
    func end(_ asked: EndGroupSubscription) async throws {
        try await releases.inTurn { _ in
            guard let kept = try await repository.subscription(asked.request), kept.organisation == asked.organisation else {
                throw Failure(.notFound, "there is no such subscription")
            }
            guard !kept.isOver else { return }
            var schedule = kept.schedule
            let pushes = schedule.pause()
            try await keep(ClosedWindow(subscription: kept, schedule: schedule, pushes: pushes, isOver: true))
        }
    }

    private func close(_ request: GroupRequestID) async throws {
        let source = await people()
        guard let kept = try await repository.subscription(request), !kept.isOver, let closed = closedUntil(source),
            let window = kept.schedule.window, window.end <= closed, let span = kept.schedule.candidate
        else { return }
        let start = ContinuousClock.now
        let made = try await judge(kept, span, source)
        var schedule = kept.schedule
        let pushes = try schedule.close(window) { _ in [made == nil ? 0 : policy.fewestIndividuals] }
        var result = ClosedWindow(subscription: kept, schedule: schedule, pushes: pushes, isOver: schedule.window == nil)
        if let made { (result.made, result.stepDigest, result.charge) = (made.tables, made.stepDigest, made.charge) }
        try await keep(result)
        metrics.took(ContinuousClock.now - start)
    }

    private func keep(_ window: ClosedWindow) async throws {
        try await repository.keep(window, at: clock(), say: say)
        for push in window.pushes { metrics.closed(push.content.status) }
    }

    // MARK: Judging

    /// The tables of one window, or of some that are joined.
    private struct Made {
        let tables: MadeTables
        let stepDigest: [UInt8]
        let charge: WindowCharge
    }

    /// - Returns: nil where it cannot be released: too few people of any type or of all together, or no budget is left.
    private func judge(_ kept: KeptSubscription, _ span: TimeSpan, _ source: any CohortSource) async throws -> Made? {
        let request: GroupRequest
        do {
            request = try kept.form.read(places, policy, closedUntil: 0)
        } catch {
            // The policy or the catalogue is another one now: nothing of it is released any more.
            logger.notice("the form of a subscription cannot be judged any more", metadata: ["faults": "\(error.faults.count)"])
            return nil
        }
        if try await repository.mayHaveForgotten(span.days) { return nil }
        let today = Int(clock().milliseconds.flooredQuotientAndRemainder(dividingBy: 86_400_000).quotient)
        try await repository.touchCohort(request.filters.canonicalBytes, of: kept.organisation, today: today)
        let keys = request.types.map { request.key($0, span) }
        let digests = keys.map { Digest.sha256($0.canonicalBytes) }
        let known = try await repository.known(digests, to: kept.organisation)
        let charging = try await self.charging(kept, request, span, size: source.columns.bitmapSize)
        var spent: [Int: Bitmap] = [:]
        if request.product == .statistics, known.kept.count < digests.count {
            spent = try await repository.spentDays(DayWindow(span.days))
            // Who is charged for the day already takes part to its end.
            for (day, people) in charging.charged {
                if let full = spent[day] { spent[day] = full.subtracting(people.resized(to: full.size)) }
            }
        }
        // Who they are is judged as of the beginning: whoever changed since, joined or left is in no window of that time.
        let everybody = GroupPeople(
            source, request.filters, request.types, spent: spent, leavingOut: source.changed(since: Timestamp(quarter: span.start)))
        guard let plan = try plan(request, Array(zip(keys, digests)), everybody, kept: known.kept) else { return nil }
        let budget = try await repository.budget(of: kept.organisation, span.days)
        var charge = WindowCharge()
        if request.product == .statistics {
            guard let cost = try charging.charge(plan, seen: known.seen, everybody, budget) else { return nil }
            charge = cost
        }
        let stepDigest = Digest.sha256(request.recodingBytes(request.granularity))
        let step = try await request.product == .records ? repository.step(stepDigest) : nil
        let maker = TableMaker(request: request, people: everybody, policy: policy, places: places, hierarchies: hierarchies)
        var chance = SystemRandomNumberGenerator()
        let made = try maker.make(plan, kept: step, using: &chance)
        return made.digests.count == plan.count ? Made(tables: made, stepDigest: stepDigest, charge: charge) : nil
    }

    private func charging(
        _ kept: KeptSubscription, _ request: GroupRequest, _ span: TimeSpan, size: Int
    ) async throws -> WindowCharging {
        guard request.product == .statistics else { return WindowCharging(request: request, policy: policy, extras: [:], charged: [:]) }
        let (extras, charged) = try await repository.charges(of: kept.request, span.days, size: size)
        return WindowCharging(request: request, policy: policy, extras: extras, charged: charged)
    }

    /// A table for each type, where each of them and all together have enough people.
    private func plan(
        _ request: GroupRequest, _ keys: [(TableKey, [UInt8])], _ everybody: GroupPeople, kept: [[UInt8]: KeptTable]
    ) throws -> [PlannedEntry]? {
        guard let span = keys.first?.0.bucket else { return nil }
        // By what is in memory, before values are read.
        let possible = try everybody.contributors(DayWindow(span.days))
        guard possible.allSatisfy({ $0.count >= policy.fewestIndividuals }) else { return nil }
        var plan: [PlannedEntry] = []
        var contributors: [Bitmap] = []
        for (type, (key, digest)) in keys.enumerated() {
            let content: PlannedEntry.Content
            if key.type == .position {
                let visits = try everybody.visits(type, key.bucket)
                let table = LocationTable(visits, tree, policy)
                guard kept[digest] != nil || table.represented >= policy.fewestIndividuals else { return nil }
                contributors.append(Bitmap(size: everybody.cohort.size, members: visits.lazy.map { Int($0.row) }))
                content = .positions(table)
            } else {
                let table = try everybody.values(type, joining: key.bucket, of: key.granularity)
                contributors.append(table.members)
                content = .values(table.values, members: table.members)
            }
            plan.append(
                PlannedEntry(key: key, digest: digest, type: type, content: kept[digest].map { PlannedEntry.Content.kept($0) } ?? content))
        }
        var chance = SystemRandomNumberGenerator()
        let refusal = Admission(policy: policy).refusal(
            contributors: contributors, minIndividuals: request.minIndividuals, using: &chance)
        guard refusal == nil, let first = contributors.first else { return nil }
        let together = contributors.dropFirst().reduce(first) { $0.intersection($1) }.count
        return policy.allowsPresence(of: together, in: places.inhabitants(of: request.filters.residence)) ? plan : nil
    }
}

extension GroupRequest {
    /// Of a window, or of some that are joined.
    fileprivate func key(_ type: GroupDataType, _ span: TimeSpan) -> TableKey {
        TableKey(
            filters: filters, type: type, bucket: span, granularity: granularity, attributes: type == .position ? [] : attributes,
            product: product)
    }

    /// What it has in common with subscriptions that differ in their period or wanted size alone: joined windows of two of them could
    /// overlap, so that one at a time runs, and the next goes on behind it.
    var series: [UInt8] {
        Digest.sha256(
            GroupRequest(
                filters: filters, types: types, window: DayWindow(0..<1), granularity: granularity, product: product,
                attributes: attributes, minIndividuals: nil, isSubscription: true
            ).canonicalBytes)
    }
}

extension GroupSubscription {
    /// - Parameter first: the first window.
    init(_ request: GroupRequest, from first: TimeSpan) {
        self.init(
            product: request.product.code, types: request.types.map(\.code), from: Timestamp(quarter: first.start),
            to: Timestamp(quarter: request.window.span.end), granularity: request.granularity.code,
            attributes: request.attributes.map(\.code).sorted())
    }
}
