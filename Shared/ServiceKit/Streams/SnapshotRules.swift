// What a follower's store makes of a snapshot that comes page by page.

package import Contracts
package import GRDB

/// How the facts of a snapshot are taken, and how what it no longer holds is ended. Until a page has named it, what a store knows stays as
/// it is; what no page has named is over once the last one has come.
package struct SnapshotRules: Sendable {
    /// What is to be done once the transaction is committed.
    package typealias Effect = @Sendable () async -> Void

    let take: @Sendable (Database, StreamEvent) throws -> [UInt8]?
    let ending: Ending?

    struct Ending: Sendable {
        let known: @Sendable (Database, _ stream: String, _ after: [UInt8], _ limit: Int) throws -> [[UInt8]]
        let forget: @Sendable (Database, _ key: [UInt8]) throws -> Effect?
    }

    private init(take: @escaping @Sendable (Database, StreamEvent) throws -> [UInt8]?, ending: Ending?) {
        (self.take, self.ending) = (take, ending)
    }

    /// The store needs `SnapshotMarks.create`.
    /// - Parameters:
    ///   - take: One fact, in a transaction with some others; perhaps again, where the snapshot had to begin anew. Gives the key by which
    ///     `known` knows what the fact is about; nil where there is nothing that could be over.
    ///   - known: Keys that the store holds of a stream, in order, the first ones after `after`. Less than `limit` are the last.
    ///   - forget: Nothing of the whole snapshot had this key: what it stands for is over.
    package init(
        take: @escaping @Sendable (Database, StreamEvent) throws -> [UInt8]?,
        known: @escaping @Sendable (_ db: Database, _ stream: String, _ after: [UInt8], _ limit: Int) throws -> [[UInt8]],
        forget: @escaping @Sendable (_ db: Database, _ key: [UInt8]) throws -> Effect?
    ) {
        self.init(take: take, ending: Ending(known: known, forget: forget))
    }

    /// For facts that never end by not being said any more.
    package static func adding(_ take: @escaping @Sendable (Database, StreamEvent) throws -> Void) -> SnapshotRules {
        SnapshotRules(
            take: { db, event in
                try take(db, event)
                return nil
            }, ending: nil)
    }
}
