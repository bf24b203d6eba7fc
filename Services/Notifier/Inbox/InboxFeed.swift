// One open event stream of a person's inbox: every message once, in order, and the count of unread ones when it changes.

import Contracts
import Foundation
import HTTPKit
import ServiceKit

/// Asked for one event after the other by one task.
actor InboxFeed {
    /// Polls in case a wake-up was lost.
    private static let pollInterval = Duration.seconds(30)
    /// Messages read at once.
    private static let page = 50

    private let person: PersonID
    private let people: PersonRepository
    private let watcher: Watchers<PersonID>.Watcher
    private var after: Int64
    private var waiting: [InboxItem] = []
    private var unread: Int?

    /// - Parameter last: the number that the caller has seen last; nil for one who wants only what comes from now on.
    /// - Returns: nil where the person has as many streams open as they may.
    init?(of person: PersonID, after last: Int64?, people: PersonRepository, watchers: Watchers<PersonID>) async throws {
        guard let watcher = watchers.watch(person) else { return nil }
        (self.person, self.people, self.watcher) = (person, people, watcher)
        after = last ?? 0
        if last == nil { after = try await people.inboxHead(of: person).newest }
    }

    /// nil when the task is cancelled.
    func next() async throws -> ServerEvent? {
        while !Task.isCancelled {
            if waiting.isEmpty { waiting = try await people.inboxItems(of: person, after: after, limit: InboxFeed.page) }
            if !waiting.isEmpty {
                let item = waiting.removeFirst()
                after = item.number
                return ServerEvent(
                    id: String(item.number), event: "message", data: try InboxFeed.json(InboxMessage(item)))
            }
            let count = try await people.inboxHead(of: person).unread
            if count != unread {
                unread = count
                return ServerEvent(event: "unread", data: try InboxFeed.json(UnreadCount(unread: count)))
            }
            await watcher.wait(atMost: InboxFeed.pollInterval)
        }
        return nil
    }

    private static func json(_ value: some Encodable) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .withoutEscapingSlashes
        return String(decoding: try encoder.encode(value), as: UTF8.self)
    }
}
