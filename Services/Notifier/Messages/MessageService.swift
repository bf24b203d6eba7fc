// Takes messages from the other services and answers how far they are.

import Bus
import Contracts
import HTTPKit
import Logging
import ServiceKit
import Storage

/// Takes responsibility: what it has answered is stored, whatever happens next.
struct MessageService: Sendable {
    /// How long a message without a time of its own is tried.
    static let usualLife = Duration.seconds(24 * 3600)

    let store: MessageRepository
    let people: PersonRepository
    let tokens: TokenChecker
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
        if isNew { stored(message) }
        return Nothing()
    }

    /// After the commit.
    func stored(_ message: SendMessage) {
        metrics.accepted(message.template)
        for channel in message.channels { wake(channel) }
        if message.channels.contains(.inbox), let person = message.recipient.person { inboxes.notify(person) }
    }

    /// Where it is new the person is told in the same transaction, by the ways there were before.
    /// - Returns: the endpoint and whether it is new; nil where the person has as many as they may.
    /// - Throws: `KeyDestroyed` where the person was erased; `unauthorised` where the session has ended meanwhile.
    func register(
        _ new: NewEndpoint, of person: PersonID, by session: SessionID, most: Int, at now: Timestamp
    ) async throws -> (endpoint: Endpoint, isNew: Bool)? {
        let message = SendMessage(
            message: .random(), recipient: Recipient(person: person), channels: [.inbox, .push], template: .pushEndpointAdded,
            language: try await people.language(of: person), values: ["time": now.rfc3339, "host": new.host])
        let tell = try await store.insertion(of: message, at: now, notAfter: now + MessageService.usualLife)
        let known = try await people.register(
            new.address, of: person, by: session, most: most, at: now,
            admitting: { [tokens] db in
                // Its end has been applied already and would not take this endpoint along.
                guard try !tokens.hasEnded(db, session) else { throw Problem.unauthorised }
            }, telling: tell)
        if let known, known.isNew { stored(message) }
        return known
    }

    func states(_ request: ReadMessage, _ context: RequestContext) async throws -> ReadMessage.Reply {
        guard let states = try await store.states(of: request.message, askedBy: context.peer) else {
            throw Failure(.notFound, "this peer sent no such message, or long ago")
        }
        return ReadMessage.Reply(states: states)
    }
}
