// Telling consent what it has to be told, and taking back registrations that were begun and never finished.

import Contracts
import Logging
import ServiceKit
import Storage

struct OrganisationJobs: Sendable {
    /// Polls in case a wake-up was lost.
    private static let poll = Duration.seconds(10)
    /// A registration that has taken so long is not finished any more: whoever began it has crashed or been told to try again.
    static let unfinished = Duration.seconds(30)

    let queues: OrganisationJobStore
    private let removals: JobRunner<MemberID, Void>
    private let closings: JobRunner<OrganisationID, Void>
    private let store: Store
    private let table: OrganisationStore
    private let now: @Sendable () -> Timestamp
    private let wakeUp = WakeUpSignal()

    init(
        store: Store, table: OrganisationStore, consent: ConsentClient, logger: Logger, now: @escaping @Sendable () -> Timestamp
    ) {
        (self.store, self.table, self.now) = (store, table, now)
        queues = OrganisationJobStore(now: now)
        removals = JobRunner(queues.removals, in: store, logger: logger) { job in
            try await Self.unlessUnknown { () async throws(Failure) in try await consent.remove(job.body) }
            return { _ in }
        }
        closings = JobRunner(queues.closings, in: store, logger: logger) { job in
            try await Self.unlessUnknown { () async throws(Failure) in _ = try await consent.close(job.body) }
            return { _ in }
        }
    }

    /// For the service's list.
    var all: [any JobRunning] { [removals, closings] }

    /// Runs until it is cancelled.
    func run() async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for runner in all { group.addTask { try await runner.run() } }
            group.addTask { try await WorkLoop(every: Self.poll, signal: wakeUp).poll { try await takeBack() } }
            try await group.waitForAll()
        }
    }

    /// Somebody is kept waiting by a registration that may be over.
    func wake() {
        wakeUp.notify()
    }

    /// Does what is due.
    /// - Returns: false where consent was not to be had.
    func runDue() async throws -> Bool {
        try await takeBack()
        let areRemoved = try await removals.runDue()
        return try await closings.runDue() && areRemoved
    }

    /// Unfinished registrations go, and so do the log-ins that consent may have made for them.
    private func takeBack() async throws {
        let since = now() - Self.unfinished
        guard try await !store.read({ [table] db in try table.unfinished(db, since: since) }).isEmpty else { return }
        try await store.write { [table, queues] db in
            for organisation in try table.unfinished(db, since: since) {
                try table.deleteUnfinished(db, organisation)
                try queues.close(db, organisation)
            }
        }
    }

    /// What consent does not know does not have to be ended there.
    private static func unlessUnknown(_ tell: () async throws(Failure) -> Void) async throws(Failure) {
        do throws(Failure) {
            try await tell()
        } catch {
            if error.code != .notFound { throw error }
        }
    }
}
