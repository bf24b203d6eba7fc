// One open event stream of a subscription: every item once and in order, a sign of life with the head in between.

import Contracts
import ServiceKit

actor SubscriptionEvents {
    private static let block = 100
    /// What was read is judged anew after so long, though the caller is slow: the person may have withdrawn.
    private static let freshness = Duration.milliseconds(250)
    /// Polls in case a wake-up was lost.
    private static let pollInterval = Duration.seconds(1)
    /// How long the reason of an end is waited for.
    private static let reasonTimeout = Duration.seconds(5)
    /// Shorter than the usual timeout of proxies.
    static let heartbeat = Duration.seconds(15)

    enum Event: Sendable {
        case item(FeedItem)
        /// Nothing new; the head says that nothing was missed.
        case heartbeat(Feed)
        case over(SubscriptionEnding?)
    }

    private let feed: Int64
    private let service: SubscriptionService
    private let listener: FeedHub.Listener
    private var after: Int64
    private var ahead: (items: ArraySlice<FeedItem>, readAt: ContinuousClock.Instant)?
    private var lastSentAt: ContinuousClock.Instant?
    private var heldSince: ContinuousClock.Instant?
    private var isOver = false

    /// - Parameter after: the last number that was seen.
    /// - Returns: nil where as many streams are open as may be.
    init?(of feed: Feed, after: Int64, service: SubscriptionService) {
        guard let listener = service.hub.watch(feed: feed.number, of: feed.organisation) else { return nil }
        (self.feed, self.after, self.service) = (feed.number, after, service)
        self.listener = listener
    }

    /// nil when there is nothing more to come or the task is cancelled.
    func next() async throws -> Event? {
        while !Task.isCancelled, !isOver {
            if let item = readAhead() {
                (after, lastSentAt) = (item.number, .now)
                return .item(item)
            }
            do {
                let (feed, found) = try await service.items(of: self.feed, after: after, limit: Self.block)
                ahead = (found[...], .now)
                if !found.isEmpty { continue }
                if lastSentAt.map({ .now - $0 >= Self.heartbeat }) ?? true {
                    lastSentAt = .now
                    return .heartbeat(feed)
                }
            } catch FeedRefusal.over(let why) {
                // Why is said by another stream of consent's a moment later; nothing leaves meanwhile.
                let since = heldSince ?? .now
                heldSince = since
                if why != nil || .now - since >= Self.reasonTimeout {
                    isOver = true
                    return .over(why)
                }
            } catch FeedRefusal.released(let through) {
                after = through
                continue
            } catch FeedRefusal.consentSilent {
                // Nothing may leave until consent is received again; the caller stays connected.
            }
            await listener.wait(atMost: Self.pollInterval)
        }
        return nil
    }

    private func readAhead() -> FeedItem? {
        guard let (items, readAt) = ahead, .now - readAt < Self.freshness else { return nil }
        ahead?.items = items.dropFirst()
        return items.first
    }
}
