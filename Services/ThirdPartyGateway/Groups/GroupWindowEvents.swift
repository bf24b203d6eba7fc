// One open event stream of a subscription to a group: every window once and in order, a sign of life with the head in between.

import Contracts

actor GroupWindowEvents {
    private static let block = 100
    /// Polls in case a wake-up was lost.
    private static let pollInterval = Duration.seconds(5)

    enum Event: Sendable {
        case window(GroupWindow)
        /// Nothing new; the head says that nothing was missed.
        case heartbeat(head: Int, isEnded: Bool)
    }

    private let request: GroupRequestID
    private let organisation: OrganisationID
    private let service: GroupService
    private let listener: FeedHub.Listener
    private var after: Int
    /// In reverse, so that taking the first is cheap.
    private var waiting: [GroupWindow] = []
    private var lastSentAt: ContinuousClock.Instant?

    /// - Parameter after: the last number that was seen.
    /// - Returns: nil where as many streams are open as may be.
    init?(of request: GroupRequestID, _ organisation: OrganisationID, after: Int, service: GroupService) {
        guard let listener = service.hub.watch(group: request, of: organisation) else { return nil }
        (self.request, self.organisation, self.after, self.service) = (request, organisation, after, service)
        self.listener = listener
    }

    /// Nil once the subscription is gone with its organisation, or the task is cancelled.
    func next() async throws -> Event? {
        while !Task.isCancelled {
            if let window = waiting.popLast() {
                (after, lastSentAt) = (window.sequence, .now)
                return .window(window)
            }
            guard let found = try await service.windows(of: request, organisation, after: after, limit: Self.block) else { return nil }
            waiting = found.items.reversed()
            guard waiting.isEmpty else { continue }
            if lastSentAt.map({ .now - $0 >= SubscriptionEvents.heartbeat }) ?? true {
                guard let (head, isEnded) = try await service.progress(of: request, organisation) else { return nil }
                lastSentAt = .now
                return .heartbeat(head: head, isEnded: isEnded)
            }
            await listener.wait(atMost: Self.pollInterval)
        }
        return nil
    }
}
