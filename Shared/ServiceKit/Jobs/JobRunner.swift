// Does the jobs of one kind, again and again until they are done or given up.

import Contracts
import Foundation
package import GRDB
package import Logging
import Metrics
package import Storage
import Synchronization

/// What a service's list of runners needs of each.
package protocol JobRunning: Sendable {
    var kindName: String { get }
    /// The table has changed by other means than the queue.
    func wake()
    /// Until it is cancelled. A part of the service (`Background`).
    func run() async throws
}

/// A job is done at least once; its effect and its deletion are one transaction, so that the effect happens exactly once. One that fails is
/// tried again after a pause of its own while others go on. Where nobody answers (`unavailable`, `deadline`) the kind pauses as a whole and
/// then tries one at a time, another one each time, until somebody answers.
package final class JobRunner<Body: Codable & Sendable, Answer: Sendable>: JobRunning {
    /// What is left to do when the work itself is done: runs in the transaction that deletes the job.
    package typealias Effect = @Sendable (Database) throws -> Answer
    /// - Throws: `Failure`, `JobGivenUp`; anything else counts as a fault of this service.
    package typealias Work = @Sendable (QueuedJob<Body>) async throws -> Effect

    /// Dead letters are deleted after this time: what they hold may be personal.
    private static var deadTime: Duration { .seconds(30 * 86_400) }

    private enum Outcome: Sendable {
        case done(Answer)
        /// Done, erased or withdrawn by somebody else.
        case gone
        case failed(any Error)
    }

    private struct State {
        /// Under way, by the job's number.
        var attempts: [Int64: Task<Outcome, Never>] = [:]
        /// In a row.
        var silences = 0
        var pausedUntil: ContinuousClock.Instant?
        var measuredAt: ContinuousClock.Instant?

        /// How long the kind still pauses.
        func pause(at: ContinuousClock.Instant) -> Duration {
            pausedUntil.map { max(.zero, $0 - at) } ?? .zero
        }
    }

    private let queue: JobQueue<Body>
    private let store: Store
    private let logger: Logger
    /// Polls in case a wake-up was lost.
    private let poll: Duration
    private let random: @Sendable () -> Double
    /// For the kind's pauses, which are forgotten at a restart.
    private let steady: @Sendable () -> ContinuousClock.Instant
    /// For what is given up: one leap of the wall clock must not end everything that waits.
    private let deadlines: DeadlineClock
    private let work: Work
    private let state = Mutex(State())

    /// - Parameter random: from 0 up to 1, for the pauses.
    package init(
        _ queue: JobQueue<Body>, in store: Store, logger: Logger, poll: Duration = .seconds(10),
        random: @escaping @Sendable () -> Double = { .random(in: 0..<1) },
        steady: @escaping @Sendable () -> ContinuousClock.Instant = { .now }, work: @escaping Work
    ) {
        (self.queue, self.store, self.logger, self.poll) = (queue, store, logger, poll)
        (self.random, self.steady, self.work) = (random, steady, work)
        let began = steady()
        deadlines = DeadlineClock(wall: queue.now, steady: { steady() - began })
    }

    package var kindName: String { queue.kind.name }

    package func wake() {
        queue.wakeUp.notify()
    }

    package func run() async throws {
        try await withThrowingDiscardingTaskGroup { group in
            while !Task.isCancelled {
                let (begun, wait) = try await begin()
                for task in begun {
                    group.addTask {
                        await withTaskCancellationHandler {
                            _ = await task.value
                        } onCancel: {
                            task.cancel()
                        }
                    }
                }
                await queue.wakeUp.wait(atMost: wait)
            }
            throw CancellationError()
        }
    }

    /// Tries everything that is due once.
    /// - Returns: false where nobody answered.
    @discardableResult
    package func runDue() async throws -> Bool {
        while true {
            let (begun, _) = try await begin()
            guard !begun.isEmpty else { return state.withLock { $0.silences == 0 } }
            for task in begun { _ = await task.value }
        }
    }

    /// Tries a job without waiting for its time; where it is being tried at this moment, shares what comes of that. Those before it under
    /// its ordering key are tried first. A refusal leaves it waiting for its next attempt.
    /// - Returns: nil where it is not there any more, is held or is dead.
    /// - Throws: `Failure`, or what the store says.
    package func runNow(_ id: String) async throws -> Answer? {
        var gone: Int64?
        while true {
            guard let (job, number) = try await first(before: id) else { return nil }
            let isLast = number == job.number
            switch await attempt(number, isForced: true).value {
            case .done(let answer):
                if isLast { return answer }
            case .gone:
                // Somebody else has done it, or found it too early; the same one once more is held, and holds up those behind it.
                guard number != gone else { return nil }
                gone = number
            case .failed(let error as JobGivenUp):
                if isLast { throw error.failure }
            case .failed(let error): throw error
            }
        }
    }

    /// The job, and the number of the one that is to be tried first.
    private func first(before id: String) async throws -> (job: JobTable.StoredJob, number: Int64)? {
        try await store.read { [table = queue.table, kindName] db in
            guard let job = try table.find(db, kindName, id: id) else { return nil }
            guard job.isBehind, let key = job.orderingKey else { return (job, job.number) }
            return (job, try table.head(db, kindName, key) ?? job.number)
        }
    }
}

// MARK: Attempts

extension JobRunner {
    /// Begins what there is room for, and says when to look again.
    private func begin() async throws -> (begun: [Task<Outcome, Never>], wait: Duration) {
        try await measure()
        let at = queue.now()
        let kind = queue.kind
        let (room, known, pause) = state.withLock { state -> (Int, Int, Duration) in
            let most = state.silences > 0 ? 1 : kind.concurrency
            return (most - state.attempts.count, state.attempts.count, state.pause(at: steady()))
        }
        if pause > .zero { return ([], min(pause, poll)) }
        // Each that ends wakes.
        guard room > 0 else { return ([], poll) }
        let (due, next) = try await store.read { [table = queue.table] db in
            (
                try table.due(db, kind.name, at: at, longest: kind.longestPause, limit: room + known),
                try table.nextDue(db, kind.name, after: at)
            )
        }
        let fresh = state.withLock { state in due.filter { state.attempts[$0] == nil } }
        let begun = fresh.prefix(room).map { attempt($0, isForced: false) }
        return (begun, next.map { max(.milliseconds(1), min(poll, $0 - at)) } ?? poll)
    }

    /// The one attempt at this job, begun now unless it is under way.
    private func attempt(_ number: Int64, isForced: Bool) -> Task<Outcome, Never> {
        state.withLock { known in
            if let underWay = known.attempts[number] { return underWay }
            let task = Task {
                let outcome = await perform(number, isForced: isForced)
                state.withLock { $0.attempts[number] = nil }
                queue.wakeUp.notify()
                return outcome
            }
            known.attempts[number] = task
            return task
        }
    }

    /// Reads the job anew: since it was found it may have been done, put off or erased.
    private func perform(_ number: Int64, isForced: Bool) async -> Outcome {
        do {
            let found = try await store.read { [table = queue.table] db in try table.find(db, number) }
            guard let job = found, isForced || isDue(job, at: queue.now()) else { return .gone }
            if let notAfter = job.notAfter, notAfter < deadlines.now { return try await late(job, notAfter) }
            return try await perform(job)
        } catch {
            return failed(in: error)
        }
    }

    /// It is not begun. Where the process has just begun, whose clock may be wrong, it is looked at again a little later.
    private func late(_ job: JobTable.StoredJob, _ notAfter: Timestamp) async throws -> Outcome {
        let failure = Failure(.deadline, "too late to be done")
        let left = DeadlineClock.settlingTime - deadlines.uptime
        // One that was too late when it was made is so by any clock.
        guard left > .zero, job.createdAt <= notAfter else { return try await deadLetter(job, failure) }
        let until = queue.now() + max(.milliseconds(1), min(left, queue.kind.longestPause))
        try await store.write { [table = queue.table] db in
            try table.postpone(db, job, until: until, error: failure.code.rawValue, isRefused: false)
        }
        return .failed(failure)
    }

    private func isDue(_ job: JobTable.StoredJob, at: Timestamp) -> Bool {
        job.createdAt > at || job.due <= at || job.error != nil && job.due.isOver(at: at, putOffAtMost: queue.kind.longestPause)
    }

    private func perform(_ job: JobTable.StoredJob) async throws -> Outcome {
        let body: Body
        do {
            body = try queue.open(job)
        } catch is KeyDestroyed {
            _ = try await store.write { [table = queue.table] db in try table.remove(db, job) }
            return .gone
        } catch is DamagedKey {
            return try await put(off: job, Failure(.internal, "the person's key is damaged"))
        } catch let error as StoreError {
            // The store of keys did not answer; that says nothing about the job.
            throw error
        } catch {
            return try await deadLetter(job, Failure(.internal, "cannot be opened"), code: "unreadable")
        }
        let effect: Effect
        do {
            effect = try await work(QueuedJob(id: job.id, person: job.person, body: body))
        } catch let failure as Failure {
            // What is cancelled with the service says nothing about the job.
            return Task.isCancelled ? .failed(failure) : try await put(off: job, failure)
        } catch let givenUp as JobGivenUp {
            answered()
            return try await deadLetter(job, givenUp.failure)
        } catch is CancellationError {
            return .failed(CancellationError())
        } catch let error as StoreError {
            throw error
        } catch {
            return try await put(off: job, Failure(.internal, error.logReason))
        }
        answered()
        do {
            let answer = try await store.write { [table = queue.table] db in try table.remove(db, job) ? effect(db) : nil }
            return answer.map { .done($0) } ?? .gone
        } catch let error as StoreError {
            throw error
        } catch {
            return try await put(off: job, Failure(.internal, error.logReason))
        }
    }

    private func put(off job: JobTable.StoredJob, _ failure: Failure) async throws -> Outcome {
        count(failure.code.rawValue)
        let at = queue.now()
        // Behind those that were not tried yet, so that no single one is tried again and again.
        var until = at
        if failure.isRetriable {
            silent(failure.code.rawValue)
        } else {
            answered()
            until = at + queue.kind.backoff.pause(after: job.attempts + 1, random: random())
            logger.warning("a job failed and is tried again", metadata: metadata(job, failure.code.rawValue))
        }
        try await store.write { [table = queue.table, until] db in
            try table.postpone(db, job, until: until, error: failure.code.rawValue, isRefused: !failure.isRetriable)
        }
        return .failed(failure)
    }

    private func deadLetter(_ job: JobTable.StoredJob, _ failure: Failure, code: String? = nil) async throws -> Outcome {
        let code = code ?? failure.code.rawValue
        let at = queue.now()
        // Of one that is about nobody whom an erasure could find, such as a message to an address, the body goes at once.
        let keepsBody = job.person != nil || queue.seal.isPlain
        try await store.write { [table = queue.table] db in try table.deadLetter(db, job, error: code, keepsBody: keepsBody, at: at) }
        count(code)
        state.withLock { $0.measuredAt = nil }
        logger.error("a job will not be done and is kept: see trackme jobs", metadata: metadata(job, code))
        return .failed(JobGivenUp(failure))
    }

    /// The store did not take what came of it: the kind pauses, and the job is tried again.
    private func failed(in error: any Error) -> Outcome {
        if !(error is CancellationError), error as? StoreError != .closed {
            silent("store")
            count("store")
        }
        return .failed(error)
    }

    private func metadata(_ job: JobTable.StoredJob, _ code: String) -> Logger.Metadata {
        ["kind": "\(job.kind)", "job": "\(job.number)", "code": "\(code)", "attempts": "\(job.attempts + 1)"]
    }
}

// MARK: Silence

extension JobRunner {
    private func answered() {
        let wasSilent = state.withLock { state in
            defer { (state.silences, state.pausedUntil) = (0, nil) }
            return state.silences > 0
        }
        if wasSilent { logger.notice("jobs go on", metadata: ["kind": "\(kindName)"]) }
    }

    private func silent(_ code: String) {
        let at = steady()
        let isFirst = state.withLock { state in
            // Those that were under way together are silent together.
            guard state.pause(at: at) == .zero else { return false }
            state.silences += 1
            state.pausedUntil = at + queue.kind.silence.pause(after: state.silences, random: random())
            return state.silences == 1
        }
        if isFirst { logger.warning("jobs of a kind wait", metadata: ["kind": "\(kindName)", "code": "\(code)"]) }
    }
}

extension JobKind {
    fileprivate var longestPause: Duration { backoff.last }
}

// MARK: Metrics

extension JobRunner {
    private func count(_ code: String) {
        Counter(label: "jobs_failed_total", dimensions: [("kind", kindName), ("code", code)]).increment()
    }

    /// Counting costs a pass over what waits: not at each wake-up.
    private func measure() async throws {
        let now = ContinuousClock.now
        let isDue = state.withLock { state in
            if let measuredAt = state.measuredAt, now - measuredAt < poll { return false }
            state.measuredAt = now
            return true
        }
        guard isDue else { return }
        // A leap of the clock deletes no dead letter, and is noticed though nothing else asks.
        let at = deadlines.now
        let count = try await store.read { [table = queue.table, kindName] db in try table.count(db, kindName) }
        let kind = [("kind", kindName)]
        Gauge(label: "jobs_waiting", dimensions: kind).record(count.waiting)
        Gauge(label: "jobs_dead", dimensions: kind).record(count.dead)
        let oldest = count.oldest.map { at - $0.notAhead(of: at) } ?? .zero
        Gauge(label: "jobs_oldest_seconds", dimensions: kind).record(oldest.components.seconds)
        guard count.dead > 0 else { return }
        try await expire(before: at - Self.deadTime)
    }

    private func expire(before: Timestamp) async throws {
        let isAny = try await store.read { [table = queue.table, kindName] db in try table.hasDead(db, kindName, before: before) }
        if isAny { try await store.write { [table = queue.table, kindName] db in _ = try table.expireDead(db, kindName, before: before) } }
    }
}
