// The doors of subscriptions: which there are, what is new in each, as pages and as events, and stopping one.

import Contracts
import HTTPKit

struct SubscriptionRoutes: Sendable {
    let service: SubscriptionService
    let admit: Admit

    var all: [Route] { [list, find, items, events, stop] }

    private static let subscription = Parameter.path("subscription", .identifier(DataRequest.self), "The id of the accepted request.")
    private static let refusals: [Answer] = [
        .noAdmission, .problem(404, "not-found"),
        .problem(410, Problem.subscriptionOver.name, Problem.itemsReleased.name),
        .problem(503, Problem.consentNotHeard.name),
    ]

    /// Of those that go on after a number.
    private static let placeRefusals = refusals + [.problem(400, Problem.cursorAhead.name)]
    private static let tooMany = Answer.problem(429, Problem.tooManyStreams.name)
    static let manyStreams = Problem.tooManyStreams.saying(
        """
        \(FeedHub.mostOfSubscription) event streams of this subscription, or \(FeedHub.mostOfOrganisation) of the organisation, are \
        open already; close one.
        """
    )

    private var list: Route {
        Route(
            .get, "/thirdparty/v1/subscriptions", access: .organisation, scopes: [Right.dataRead.rawValue],
            summary: "All subscriptions, oldest first",
            description:
                "Those that are over too. A request that reaches into the future becomes a subscription when it is accepted and paid. "
                + "Needs `data:read`.",
            parameters: [.limit, .after],
            answers: [.json(200, "A page", Page<SubscriptionItem>.self, example: Examples.page(Examples.subscription)), .noAdmission]
        ) { exchange in
            let standing = try await admit(exchange, .dataRead)
            let (feeds, next) = try await service.page(
                of: standing.id, after: try exchange.cursor { Int64($0) } ?? 0, limit: try exchange.pageLimit)
            let now = service.clock()
            return try .json(Page(items: feeds.map { SubscriptionItem($0, now: now) }, next: next.map(String.init)))
        }
    }

    private var find: Route {
        Route(
            .get, "/thirdparty/v1/subscriptions/{subscription}", access: .organisation, scopes: [Right.dataRead.rawValue],
            summary: "One subscription and its head",
            description: "Needs `data:read`.", parameters: [Self.subscription],
            answers: [
                .json(200, "The subscription", SubscriptionItem.self, example: Examples.subscription), .noAdmission,
                .problem(404, "not-found"),
            ]
        ) { exchange in
            try .json(SubscriptionItem(try await feed(exchange, .dataRead), now: service.clock()))
        }
    }

    private var items: Route {
        Route(
            .get, "/thirdparty/v1/subscriptions/{subscription}/items", access: .organisation, scopes: [Right.dataRead.rawValue],
            summary: "What is new after a number",
            description: """
                Items are numbered without gaps from 1: whoever keeps the last number that was taken, and goes on after it, misses nothing \
                and can prove it by `head`. Everything that arrives from the subscription's beginning on is here; what was measured before \
                is fetched from the request's data. After a restore on our side numbers go on far above all that were given before, with an \
                item that says so (`restored`); the same `after` holds. A number above `head` is refused \
                (`cursor-ahead`): no item has had it. Late entries change a step that was delivered: it comes again under a new number and \
                names the one that it `replaces`. You are responsible for the data that you receive (ORG-21). Needs `data:read`.
                """,
            parameters: [
                Self.subscription, .limit,
                .query("after", .string(pattern: "^[0-9]{1,18}$"), "The last number that you have; 0 unless told."),
                .query(
                    "wait", .integer(in: 0...SubscriptionService.longestWait),
                    """
                    Where there is nothing new, the answer waits for it, so many seconds at most; 0 unless told. Counts as an event \
                    stream.
                    """
                ),
            ],
            answers: [.json(200, "Oldest first", FeedItemShape.page, example: Examples.feedPage)] + Self.placeRefusals
                + [Self.tooMany]
        ) { exchange in
            let feed = try await feed(exchange, .dataRead)
            let after = try exchange.query("after", orElse: .notAnItemNumber) { Self.number($0) } ?? feed.released
            let (limit, wait) = (try exchange.pageLimit, try exchange.queryInteger("wait", in: 0...SubscriptionService.longestWait) ?? 0)
            do {
                guard let (now, items) = try await service.items(of: feed.number, after: after, limit: limit, wait: .seconds(wait)) else {
                    throw Self.manyStreams
                }
                // The token or the right may have been lost while it was waited.
                if wait > 0 { _ = try await admit(exchange.provedAnew(), .dataRead) }
                return .text(FeedItemShape.page(now, items, now: service.clock()), contentType: MediaType.json)
            } catch let refusal as FeedRefusal {
                throw refusal.problem(of: feed)
            }
        }
    }

    private var events: Route {
        .events(
            "/thirdparty/v1/subscriptions/{subscription}/events", access: .organisation, scopes: [Right.dataRead.rawValue],
            summary: "What is new, as it comes",
            description: """
                Server-sent events: `item` with the item's number as its id, `heartbeat` with the head every 15 s without items, and `over` \
                at the end. It breaks off within seconds once a client's token, a member's session or the right is lost; a token that ran \
                out is replaced and the stream opened anew. A break is mended by `Last-Event-ID` (or `after`), as browsers do by themselves. Without either it begins with \
                the oldest item that is kept; a number above the head is refused (`cursor-ahead`). Needs `data:read`.
                """,
            parameters: [
                Self.subscription, .header("Last-Event-ID", .string(pattern: "^[0-9]{1,18}$"), "The last number that you have."),
                .query("after", .string(pattern: "^[0-9]{1,18}$"), "The same, where no header can be sent."),
            ], events: "Items", refusals: Self.placeRefusals, yields: .liveView
        ) { exchange in
            let feed = try await feed(exchange, .dataRead)
            var after = feed.released
            if let seen = exchange.lastEventID {
                guard let number = Self.number(seen) else {
                    throw Problem.invalidParameter("header:Last-Event-ID", .notAnItemNumber)
                }
                after = number
            }
            do throws(FeedRefusal) {
                try service.gate.check(feed)
                try FeedGate.check(feed, after: after)
            } catch {
                throw error.problem(of: feed)
            }
            guard let events = SubscriptionEvents(of: feed, after: after, service: service) else { throw Self.manyStreams }
            return EventSource(whileAdmitted: { await exchange.isStillAdmitted(by: admit, .dataRead) }) {
                try await events.next().map { Self.event($0, now: service.clock()) }
            }
        }
    }

    private static func event(_ event: SubscriptionEvents.Event, now: Timestamp) -> ServerEvent {
        switch event {
        case .item(let item): ServerEvent(id: String(item.number), event: "item", data: item.json)
        case .heartbeat(let feed): ServerEvent(event: "heartbeat", data: FeedItemShape.heartbeat(feed, now: now))
        case .over(let why): ServerEvent(event: "over", data: #"{"reason":"\#(why?.rawValue ?? "not-in-force")"}"#)
        }
    }

    private var stop: Route {
        Route(
            .delete, "/thirdparty/v1/subscriptions/{subscription}", access: .organisation, scopes: [Right.requestsWrite.rawValue],
            summary: "Stops a subscription",
            description: "Nothing more is delivered; what is due stays due. Stopping again changes nothing. Needs `requests:write`.",
            parameters: [Self.subscription],
            answers: [Answer(202, "Stopped; deliveries end within a second"), .noAdmission, .problem(404, "not-found")]
        ) { exchange in
            let feed = try await feed(exchange, .requestsWrite)
            do {
                try await service.end(feed, trace: String(exchange.requestID.prefix(32)))
            } catch let failure as Failure where failure.code == .conflict {
                // Over already, which is what was asked for.
            } catch let failure as Failure where failure.code == .unavailable || failure.code == .deadline {
                throw Problem.consentNotHeard.saying(
                    "The subscription cannot be stopped for the moment. Ask again in a few seconds.")
            }
            return .empty(status: 202)
        }
    }

    private func feed(_ exchange: Exchange, _ right: Right) async throws -> Feed {
        let standing = try await admit(exchange, right)
        guard let feed = try await service.find(exchange.identifier("subscription"), of: standing.id) else { throw Problem.noSubscription }
        return feed
    }

    private static func number(_ text: String) -> Int64? {
        text.utf8.count <= 18 && text.utf8.allSatisfy { (0x30...0x39).contains($0) } ? Int64(text) : nil
    }
}
