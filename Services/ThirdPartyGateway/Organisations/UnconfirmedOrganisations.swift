// Registrations that nobody confirmed: after a while they go, and what they were found by is free again.

import Contracts
import Logging
import ServiceKit
import Storage

struct UnconfirmedOrganisations: Sendable {
    /// Nobody waits for it: what is over is not confirmed any more.
    private static let pollInterval = Duration.seconds(600)
    /// Of one transaction.
    private static let atOnce = 100

    /// `org.unconfirmed_h`.
    let life: Duration
    let store: Store
    let table: OrganisationStore
    let directory: OrganisationRegister
    let jobs: OrganisationJobStore
    let logger: Logger
    let now: @Sendable () -> Timestamp

    /// Runs until it is cancelled.
    func run() async throws {
        while true {
            while try await remove() == Self.atOnce {}
            // Polls: nothing wakes it.
            try await Task.sleep(for: Self.pollInterval)
        }
    }

    /// Takes away what is over, with its members and links; consent ends the log-in, so that the address is free for others.
    /// - Returns: how many went.
    @discardableResult
    func remove() async throws -> Int {
        let at = now()
        let since = at - life
        let isAny = try await store.read { [table] db in try !table.unconfirmed(db, since: since, at: at, limit: 1).isEmpty }
        guard isAny else { return 0 }
        let gone = try await store.write { [table, jobs] db in
            let gone = try table.unconfirmed(db, since: since, at: at, limit: Self.atOnce)
            for organisation in gone {
                try table.deleteUnconfirmed(db, organisation)
                try jobs.close(db, organisation)
            }
            return gone
        }
        for organisation in gone {
            directory.changed(organisation)
            logger.notice("a registration that nobody confirmed was removed", metadata: ["organisation": "\(organisation)"])
        }
        return gone.count
    }
}
