// Brings what was committed to the wire, in the order of its sequences.

package import Bus
package import Contracts
package import GRDB
import Storage
import Synchronization

/// Stands between a store's group commit, whose callers resume in any order, and the publisher, which must send in order.
/// A fact that is committed and never published (a crash between) is replayed to whoever misses it.
package final class EventRelay: Sendable {
    /// A committed fact; the payload is rendered only if somebody listens.
    package struct Committed: Sendable {
        /// Of the row in the log; at publication its `head` becomes its own sequence.
        package let header: StreamHeader
        /// Called at most once, under the relay's lock: it must be quick and must not call the relay. A fact whose payload throws is left
        /// to replays.
        package let payload: @Sendable () throws -> [UInt8]

        package init(header: StreamHeader, payload: @escaping @Sendable () throws -> [UInt8]) {
            (self.header, self.payload) = (header, payload)
        }
    }

    private struct Line {
        var next: Int64
        var waiting: [Int64: Committed] = [:]

        mutating func take(_ fact: Committed, _ publish: (Committed) -> Void) {
            guard fact.header.sequence == next else {
                waiting[fact.header.sequence] = fact
                return
            }
            publish(fact)
            next += 1
            while !waiting.isEmpty, let following = waiting.removeValue(forKey: next) {
                publish(following)
                next += 1
            }
        }
    }

    private let publisher: Publisher
    private let lines: Mutex<[String: Line]>

    /// - Parameter heads: the last sequence of each stream when the store was opened; 0 where there is none.
    package init(publisher: Publisher, heads: [String: Int64]) {
        self.publisher = publisher
        lines = Mutex(heads.mapValues { Line(next: $0 + 1) })
    }

    /// Whether a payload would be asked for now: for those who render it before the writer's turn.
    package func hasListeners(_ stream: String) -> Bool {
        publisher.hasListeners(stream)
    }

    /// Publishes a fact that the body under way has appended, once it is on disk and before the body's caller goes on; a fact that is
    /// undone with its body is not published.
    package func publish(_ fact: Committed, afterCommitOf db: Database) {
        db.afterCommit { [self] in committed(fact) }
    }

    /// For those who publish by themselves. Call once for every sequence, after its commit, in any order. One that never comes holds
    /// back, in memory, all that follow it in its stream until the next start.
    package func committed(_ fact: Committed) {
        lines.withLock { lines in
            lines[fact.header.stream, default: Line(next: 1)].take(fact, send)
        }
    }

    /// Says at once what is not committed, outside the order of the stream; its sequence does not count. Not said again.
    package func provisional(_ fact: Committed) {
        guard publisher.hasListeners(fact.header.stream), let payload = try? fact.payload() else { return }
        publisher.publishProvisionally(StreamEvent(header: fact.header, payload: payload))
    }

    private func send(_ fact: Committed) {
        let stream = fact.header.stream
        // Unrendered facts stay gaps on the wire: the next heartbeat shows the head, and who wants them asks for a replay.
        guard publisher.hasListeners(stream), let payload = try? fact.payload() else {
            publisher.advance(stream, to: fact.header.sequence)
            return
        }
        publisher.publish([StreamEvent(header: fact.header, payload: payload)])
    }
}
