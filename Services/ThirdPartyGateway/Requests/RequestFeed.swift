// Requests of one organisation as they change.

import Contracts
import ServiceKit

/// One open event stream: requests as they are after each change. Who reconnects gets the last state of all that changed meanwhile.
actor RequestFeed {
    /// Polls in case a wake-up was lost.
    private static let pollInterval = Duration.seconds(10)
    private static let page = 100

    private let organisation: OrganisationID
    private let repository: RequestRepository
    private let watcher: Watchers<OrganisationID>.Watcher
    private var seen: Int64
    /// In reverse, so that taking the first is cheap.
    private var waiting: [ShownRequest] = []

    /// - Parameter seen: the change that was seen last.
    /// - Returns: nil where the organisation has as many streams open as it may.
    init?(of organisation: OrganisationID, seen: Int64, repository: RequestRepository, watchers: Watchers<OrganisationID>) {
        guard let watcher = watchers.watch(organisation) else { return nil }
        (self.organisation, self.seen, self.repository, self.watcher) = (organisation, seen, repository, watcher)
    }

    /// Nil when the task is cancelled.
    func next() async throws -> ShownRequest? {
        while !Task.isCancelled {
            if let first = waiting.popLast() {
                seen = first.stored.change
                return first
            }
            let changed = try await repository.changed(of: organisation, after: seen, limit: Self.page)
            waiting = changed.filter(\.isWhole).reversed()
            if waiting.isEmpty, let last = changed.last { seen = last.stored.change }
            if changed.isEmpty { await watcher.wait(atMost: Self.pollInterval) }
        }
        return nil
    }
}
