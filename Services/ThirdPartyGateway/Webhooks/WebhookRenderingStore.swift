// A kept message as it is sent: its items are looked up at each attempt, so that what was withdrawn meanwhile does not leave.

import Contracts
import Foundation
import GRDB
import ServiceKit

struct WebhookRenderingStore: Sendable {
    struct Rendered: Sendable {
        let body: [UInt8]
        /// Whose items are in it.
        let feeds: Set<Int64>
    }

    let keys: PersonKeys
    let clock: @Sendable () -> Timestamp
    private let feeds = FeedStore()
    private let items = FeedItemStore()

    init(keys: PersonKeys, clock: @escaping @Sendable () -> Timestamp) {
        (self.keys, self.clock) = (keys, clock)
    }

    /// nil where nothing is left to be sent.
    func render(_ db: Database, _ message: WebhookMessage) throws -> Rendered? {
        switch message.content {
        case .notice(let notice):
            return Rendered(body: try Self.envelope(notice, type: notice.type, at: message.createdAt), feeds: [])
        case .window(let window):
            return Rendered(body: try Self.envelope(window, type: window.type, at: message.createdAt), feeds: [])
        case .items(let parts):
            return try render(db, parts, at: message.createdAt)
        case .unreadable:
            return nil
        }
    }

    private func render(_ db: Database, _ parts: [WebhookContent.Part], at time: Timestamp) throws -> Rendered? {
        var batches: [String] = []
        var included: Set<Int64> = []
        for part in parts {
            guard let feed = try feeds.find(db, part.feed), feed.state == .running, let person = feed.person,
                let key = try keys.key(of: person)
            else { continue }
            // What is not kept any more is left out in the numbers too, so that nobody takes a gap for delivered.
            let after = min(max(part.after, feed.released), part.through)
            let items =
                after < part.through
                ? try self.items.items(db, of: feed, after: after, through: part.through, limit: WebhookQueueStore.mostItems, key: key) : []
            included.insert(feed.number)
            let quiet = feed.quietSince(clock()).map { #""\#($0.rfc3339)""# } ?? "null"
            batches.append(
                #"{"subscription":"\#(feed.request)","grant":"\#(feed.grant)","after":\#(after),"through":\#(part.through),"#
                    + #""head":\#(feed.head),"epoch":"\#(feed.epoch)","noNewDataSince":\#(quiet),"items":[\#(items.map(\.json).joined(separator: ","))]}"#
            )
        }
        guard !batches.isEmpty else { return nil }
        let type = parts.allSatisfy { $0.after == $0.through } ? WebhookEvent.heartbeat : WebhookEvent.items
        let text = #"{"type":"\#(type.rawValue)","timestamp":"\#(time.rfc3339)","data":{"batches":[\#(batches.joined(separator: ","))]}}"#
        return Rendered(body: Array(text.utf8), feeds: included)
    }

    private struct Envelope<Content: Encodable>: Encodable {
        var type: String
        var timestamp: String
        var data: Content
    }

    static func envelope(_ data: some Encodable, type: WebhookEvent, at time: Timestamp) throws -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return Array(try encoder.encode(Envelope(type: type.rawValue, timestamp: time.rfc3339, data: data)))
    }
}
