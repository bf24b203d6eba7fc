// A snapshot comes page by page: what a consumer is given of it, and which pages belong together.

package import Contracts

/// A part of what is true of one stream. The pages of a snapshot come one after the other; facts of other streams may come between them.
package struct SnapshotPage: Sendable {
    package let stream: String
    package let facts: [StreamEvent]
    /// A snapshot begins: one that was begun before is void, whatever had been taken of it.
    package let isFirst: Bool
    /// Where the consumer goes on, in the last page alone: what no page has held is over, and not before.
    package let next: StreamPosition?
}

/// The snapshots that are being read.
struct SnapshotPages: Sendable {
    private struct Begun: Sendable {
        let epoch: String
        /// Of the first page: what has changed since then is replayed.
        let sequence: Int64
        var pages = 0
    }

    private var begun: [String: Begun] = [:]

    /// The page as the consumer takes it.
    /// - Returns: nil where the snapshot cannot be finished and has to begin anew: the publisher has begun another epoch, or it has too
    ///   many pages.
    mutating func take(_ reply: SnapshotStream.Reply, of stream: String) -> SnapshotPage? {
        var snapshot = begun[stream] ?? Begun(epoch: reply.epoch, sequence: reply.sequence)
        snapshot.pages += 1
        guard snapshot.epoch == reply.epoch, snapshot.pages <= BusLimits.pagesPerSnapshot else {
            begun[stream] = nil
            return nil
        }
        begun[stream] = reply.next == nil ? nil : snapshot
        return SnapshotPage(
            stream: stream, facts: reply.facts.map { StreamEvent(header: $0.header, payload: Array($0.payload.utf8)) },
            isFirst: snapshot.pages == 1,
            next: reply.next == nil ? StreamPosition(stream: stream, epoch: snapshot.epoch, next: snapshot.sequence + 1) : nil)
    }

    /// The rest of it does not come.
    mutating func breakOff(_ stream: String) {
        begun[stream] = nil
    }
}
