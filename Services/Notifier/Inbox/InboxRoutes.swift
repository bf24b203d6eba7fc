// The routes over HTTP for people: the inbox and the ways in which messages come.

import Contracts
import Foundation
import HTTPKit
import ServiceKit
import Storage

struct InboxRoutes: Sendable {
    /// Push endpoints of one person.
    static let mostEndpoints = 10
    /// Choices and addresses are small.
    static let bodyLimit = 4 << 10

    let people: PersonRepository
    let service: MessageService
    let removals: EndpointRemovalStore
    let inboxes: Watchers<PersonID>
    /// Channels that have a provider.
    let configured: Set<Channel>

    var all: [Route] {
        [inbox, unread, markRead, markAllRead, events, channels, choose, endpoints, register, removeEndpoint]
    }

    static func answering<Answer>(_ body: () async throws -> Answer) async throws -> Answer {
        do {
            return try await body()
        } catch is KeyDestroyed {
            throw Problem.unauthorised
        }
    }

    // MARK: Inbox

    private var inbox: Route {
        Route(
            .get, "/notify/v1/inbox", as: "listMessages", access: .person, summary: "The messages, newest first",
            parameters: [.limit, .after],
            answers: [.json(200, "One page", Page<InboxMessage>.self)]
        ) { exchange in
            let (person, limit) = (try exchange.person, try exchange.pageLimit)
            let before = try exchange.cursor { text in Int64(text).flatMap { $0 > 0 ? $0 : nil } } ?? .max
            return try await Self.answering {
                let items = try await people.inboxPage(of: person, before: before, limit: limit)
                let next = items.count == limit ? items.last.map { String($0.number) } : nil
                return try .json(Page(items: items.map(InboxMessage.init), next: next))
            }
        }
    }

    private var unread: Route {
        Route(
            .get, "/notify/v1/inbox/unread", as: "countUnreadMessages", access: .person, summary: "How many messages are unread",
            answers: [.json(200, "The count", UnreadCount.self)]
        ) { exchange in
            let person = try exchange.person
            return try await Self.answering { try .json(UnreadCount(unread: await people.inboxHead(of: person).unread)) }
        }
    }

    private var markRead: Route {
        Route(
            .post, "/notify/v1/inbox/{message}/read", as: "markMessageRead", access: .person, summary: "Marks one message as read",
            parameters: [.path("message", .identifier(Message.self), "The message's id.")], answers: [Answer(204, "It is read")]
        ) { exchange in
            let (person, message) = (try exchange.person, try exchange.identifier("message", of: Message.self))
            return try await Self.answering {
                guard try await people.markRead(message, of: person, at: exchange.receivedAt) else { throw Problem.notFound }
                inboxes.notify(person)
                return .empty()
            }
        }
    }

    private var markAllRead: Route {
        Route(
            .post, "/notify/v1/inbox/read", as: "markAllMessagesRead", access: .person, summary: "Marks all messages as read",
            answers: [Answer(204, "They are read")]
        ) { exchange in
            let person = try exchange.person
            return try await Self.answering {
                try await people.markAllRead(of: person, at: exchange.receivedAt)
                inboxes.notify(person)
                return .empty()
            }
        }
    }

    private var events: Route {
        .events(
            "/notify/v1/inbox/events", access: .person, summary: "Messages as they come (server-sent events)",
            description: "`message` events carry one inbox message each and an id; `unread` events the count of unread messages. "
                + "`Last-Event-ID` continues after a break without a gap; without it only what comes from now on is sent.",
            parameters: [
                .query("after", .string(length: 1...20), "As `Last-Event-ID`, for programs that cannot set headers."),
                .header("Last-Event-ID", .string(length: 0...20), "The last id that was seen."),
            ], events: "Events until the caller goes away"
        ) { exchange in
            let person = try exchange.person
            // An id of another stream names nothing here: everything is sent, so that nothing is missed.
            let last = exchange.lastEventID.flatMap { $0.isEmpty ? nil : max(0, Int64($0) ?? 0) }
            return try await Self.answering {
                guard let feed = try await InboxFeed(of: person, after: last, people: people, watchers: inboxes) else {
                    throw Problem.tooManyStreams(inboxes.limit)
                }
                return EventSource { try await feed.next() }
            }
        }
    }

    // MARK: Channels

    private var channels: Route {
        Route(
            .get, "/notify/v1/channels", access: .person, summary: "How messages can come",
            answers: [.json(200, "Every channel", ChannelList.self)]
        ) { exchange in
            let person = try exchange.person
            return try await Self.answering { try await .json(channelList(of: person)) }
        }
    }

    private var choose: Route {
        Route(
            .put, "/notify/v1/channels", access: .person, summary: "Chooses how news may come",
            description: "Messages that protect the account, such as a link to choose a new password, come all the same.",
            body: .json(ChannelChoices.self, limit: InboxRoutes.bodyLimit, inflatedLimit: InboxRoutes.bodyLimit),
            answers: [.json(200, "Every channel, as it is now", ChannelList.self)]
        ) { exchange in
            let person = try exchange.person
            let choices = try await exchange.json(ChannelChoices.self)
            return try await Self.answering {
                try await people.switchOff(choices.off, of: person)
                return try await .json(channelList(of: person))
            }
        }
    }

    private func channelList(of person: PersonID) async throws -> ChannelList {
        let off = try await people.switchedOff(of: person)
        let hasEndpoint = try await !people.endpoints(of: person).isEmpty
        return ChannelList(
            channels: Channel.allCases.map { channel in
                let isAvailable =
                    switch channel {
                    case .inbox: true
                    case .push: hasEndpoint
                    case .mail, .sms, .call: configured.contains(channel)
                    }
                return .init(channel: channel.rawValue, available: isAvailable, chosen: channel == .inbox || !off.contains(channel))
            })
    }

    private var endpoints: Route {
        Route(
            .get, "/notify/v1/push-endpoints", access: .person, summary: "Where push messages go",
            answers: [.json(200, "All of them; `next` is null", Page<EndpointItem>.self)]
        ) { exchange in
            let person = try exchange.person
            return try await Self.answering {
                try .json(Page(items: try await people.endpoints(of: person).map(EndpointItem.init), next: nil))
            }
        }
    }

    private var register: Route {
        Route(
            .post, "/notify/v1/push-endpoints", access: .personAnew, summary: "Registers a push endpoint",
            description: """
                The same address again is the same endpoint. It is removed when the session that added it is logged out, or ended by a new \
                password or a log-out everywhere; not when that session merely expires. Of a new one the person is told, by a message that \
                cannot be switched off.
                """,
            body: .json(NewEndpoint.self, limit: InboxRoutes.bodyLimit, inflatedLimit: InboxRoutes.bodyLimit),
            answers: [
                .json(201, "Registered", EndpointItem.self), .json(200, "It was there already", EndpointItem.self),
                .problem(409, "too-many-endpoints"), .problem(422, "unusable-endpoint"),
            ]
        ) { exchange in
            let (person, session) = (try exchange.person, try exchange.account.session)
            let new = try await exchange.json(NewEndpoint.self)
            guard new.isUsable else { throw Problem.unusableEndpoint }
            return try await Self.answering {
                let known = try await service.register(
                    new, of: person, by: session, most: InboxRoutes.mostEndpoints, at: exchange.receivedAt)
                guard let (endpoint, isNew) = known else { throw Problem.tooManyEndpoints }
                return try .json(EndpointItem(endpoint), status: isNew ? 201 : 200)
            }
        }
    }

    private var removeEndpoint: Route {
        Route(
            .delete, "/notify/v1/push-endpoints/{endpoint}", access: .person, summary: "Removes a push endpoint",
            description: "The person is told, by a message that cannot be switched off.",
            parameters: [.path("endpoint", .identifier(PushEndpoint.self), "The endpoint's id.")], answers: [Answer(204, "It is gone")]
        ) { exchange in
            let (person, endpoint) = (try exchange.person, try exchange.identifier("endpoint", of: PushEndpoint.self))
            return try await Self.answering {
                guard try await removals.remove(endpoint, of: person, at: exchange.receivedAt) else { throw Problem.notFound }
                return .empty()
            }
        }
    }
}
