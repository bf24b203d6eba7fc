// The dispatcher's messages to people, on their way to the notifier.

import Contracts
import GRDB
import Logging
import ServiceKit
import Storage

/// Stored with what they tell about, and then handed over. Where the disk refuses they are handed over all the same (rescue fails
/// open): the notifier knows a message that comes again.
struct MessageEffects: Sendable {
    /// How long messages wait for a disk that hangs.
    private static let storeTimeout = Duration.seconds(2)

    let store: Store
    let outbox: MessageOutbox
    let hand: MessageOutbox.Hand
    let logger: Logger

    /// Returns once everything is stored; throws where it is not, after the messages were handed over unstored.
    /// - Parameter remember: what is stored with them.
    func send(_ messages: [SendMessage], remember: @escaping @Sendable (Database) throws -> Void = { _ in }) async throws {
        let watch = Task {
            // A disk that hangs keeps nobody's message.
            try await Task.sleep(for: Self.storeTimeout)
            for message in messages { try? await hand(message) }
        }
        defer { watch.cancel() }
        do {
            try await store.write { [outbox] db in
                try remember(db)
                for message in messages { try outbox.enqueue(db, message) }
            }
        } catch {
            logger.error("messages go out before they are stored", metadata: ["reason": "\(error.logReason)"])
            for message in messages { try? await hand(message) }
            throw error
        }
    }
}
