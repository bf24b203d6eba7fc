// Takes messages from the other services and answers how far they are.

import Bus
import Contracts
import Logging
import ServiceKit
import Storage

/// Takes responsibility: what it has answered is stored, whatever happens next.
struct MessageService: Sendable {
    /// How long a message without a time of its own is tried.
    static let usualLife = Duration.seconds(24 * 3600)

    let store: MessageRepository
    let answers: StoredAnswers
    let inboxes: Watchers<PersonID>
    let metrics: NotifierMetrics
    /// Wakes the worker of a channel.
    let wake: @Sendable (Channel) -> Void

    func take(_ message: SendMessage, _ context: RequestContext) async throws -> Nothing {
        if let fault = MessageRules.fault(of: message) { throw Failure(.invalid, fault) }
        let now = Timestamp.now
        let isNew: Bool
        do {
            isNew = try await store.accept(
                message, from: context.peer, trace: context.trace, at: now, notAfter: message.notAfter ?? now + MessageService.usualLife
            ) { [answers] db in try answers.remember(Nothing(), to: context, in: db) }
        } catch is KeyDestroyed {
            throw Failure(.conflict, "this person was erased")
        } catch StoreError.full {
            throw Failure(.unavailable, "there is no room to store the message")
        }
        guard isNew else { return Nothing() }
        metrics.accepted(message.template)
        for channel in message.channels { wake(channel) }
        if message.channels.contains(.inbox), let person = message.recipient.person { inboxes.notify(person) }
        return Nothing()
    }

    func states(_ request: ReadMessage, _ context: RequestContext) async throws -> ReadMessage.Reply {
        guard let states = try await store.states(of: request.message, askedBy: context.peer) else {
            throw Failure(.notFound, "this peer sent no such message, or long ago")
        }
        return ReadMessage.Reply(states: states)
    }
}
