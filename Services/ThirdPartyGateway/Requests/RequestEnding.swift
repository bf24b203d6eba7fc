// Ends requests for past periods some time after everything was handed out, and gives back what was paid for nothing (table SHR-S).

import Contracts
import Logging
import ServiceKit
import Storage

struct RequestEnding: Sendable {
    private static let batch = 50
    private static let pollInterval = Duration.seconds(60)

    let store: Store
    let service: RequestService
    let settings: RequestSettings
    let logger: Logger
    let clock: @Sendable () -> Timestamp
    private let table = RequestStore()

    init(
        store: Store, service: RequestService, settings: RequestSettings, logger: Logger, clock: @escaping @Sendable () -> Timestamp
    ) {
        (self.store, self.service, self.settings, self.logger, self.clock) = (store, service, settings, logger, clock)
    }

    /// Runs until it is cancelled.
    func run() async throws {
        // Nobody wakes it: what is due has waited for days.
        let loop = WorkLoop(every: Self.pollInterval) { [logger] error in
            logger.notice("delivered requests could not be ended; retrying", metadata: ["error": "\(String(reflecting: type(of: error)))"])
        }
        try await loop.poll { _ = try await endDelivered() }
    }

    /// - Returns: how many.
    @discardableResult
    func endDelivered() async throws -> Int {
        let moment = clock() - settings.deliveredKept
        let due = try await store.read { [table] db in try table.deliveredInFull(db, before: moment, limit: Self.batch) }
        var count = 0
        for stored in due {
            do {
                try await service.end(stored.request.id, of: stored.request.organisation)
                count += 1
            } catch let failure as Failure where failure.code != .unavailable && failure.code != .deadline {
                // Its own fact is on its way; the others do not wait for it.
                logger.notice("a delivered request could not be ended", metadata: ["code": "\(failure.code.rawValue)"])
            }
        }
        return count
    }
}
