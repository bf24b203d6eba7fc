// Events that a browser hears as they happen: server-sent events (WHATWG HTML §9.2), with a sign of life in between.

import Contracts
import NIOCore

/// One event. Its data may have several lines.
package struct ServerEvent: Hashable, Sendable {
    /// What `Last-Event-ID` says after a break; without line ends.
    package var id: String?
    /// What scripts listen for; nil is `message`. Line ends are left out.
    package var event: String?
    /// Each of its lines travels as one `data:` line.
    package var data: String

    package init(id: String? = nil, event: String? = nil, data: String) {
        (self.id, self.event, self.data) = (id, event, data)
    }

    /// As it travels.
    var text: String {
        var text = ""
        if let event { text += "event: \(Self.line(event))\n" }
        if let id { text += "id: \(Self.line(id))\n" }
        for line in data.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline) { text += "data: \(line)\n" }
        return text + "\n"
    }

    private static func line(_ text: String) -> String {
        text.filter { !$0.isNewline && $0 != "\0" }
    }
}

extension HTTPAnswer {
    /// Shorter than the usual patience of proxies, 30 s to 60 s.
    package static let eventHeartbeat = Duration.seconds(15)

    /// Sends what `next` gives, one after the other, until it gives nil, the caller goes away or the service stops (the connection
    /// then cancels it); a comment when nothing happened for `heartbeat`. `next` is asked for the following event when the one before
    /// has been taken, so that a slow caller fills no memory here; it must end when it is cancelled.
    package static func events(
        heartbeat: Duration = eventHeartbeat, _ next: @escaping @Sendable () async throws -> ServerEvent?
    ) -> HTTPAnswer {
        .stream(contentType: MediaType.events) { writer in
            try await withThrowingTaskGroup(of: EventPiece.self) { group in
                defer { group.cancelAll() }
                group.addTask { try await next().map(EventPiece.event) ?? .end }
                group.addTask { try await EventPiece.tick(after: heartbeat) }
                // At once, so that the caller knows that it is connected.
                try await writer.write(": connected\n\n".utf8)
                var isQuiet = true
                while let piece = try await group.next() {
                    switch piece {
                    case .event(let event):
                        try await writer.write(event.text.utf8)
                        isQuiet = false
                        group.addTask { try await next().map(EventPiece.event) ?? .end }
                    case .tick:
                        if isQuiet { try await writer.write(":\n\n".utf8) }
                        isQuiet = true
                        group.addTask { try await EventPiece.tick(after: heartbeat) }
                    case .end: return
                    }
                }
            }
        }
    }

    /// As the other, from a stream that somebody else fills; give it a bounded buffer.
    package static func events(heartbeat: Duration = eventHeartbeat, of stream: AsyncStream<ServerEvent>) -> HTTPAnswer {
        events(heartbeat: heartbeat) {
            var iterator = stream.makeAsyncIterator()
            return await iterator.next()
        }
    }
}

private enum EventPiece: Sendable {
    case event(ServerEvent)
    case tick
    case end

    static func tick(after heartbeat: Duration) async throws -> EventPiece {
        // Sleeping is the heartbeat's rhythm.
        try await Task.sleep(for: heartbeat)
        return .tick
    }
}

extension Exchange {
    /// Where a browser that lost an event stream wants to go on: `Last-Event-ID`, or `after` of the query; at most 512 characters.
    package var lastEventID: String? {
        let sent = header("Last-Event-ID") ?? (try? query("after")).flatMap { $0 }
        return sent.flatMap { $0.utf8.count <= PageLimits.cursor ? $0 : nil }
    }
}
