// Subscriptions and their items as they stand in JSON.

import Contracts
import HTTPKit

struct SubscriptionItem: Codable, Sendable, Documented {
    /// The id of the request that was accepted.
    var id: String
    var grant: String
    var state: String
    var ending: String?
    var types: [String]
    var from: String
    var to: String
    var granularity: String
    var head: Int64
    /// Items from here on can be fetched.
    var oldest: Int64
    var newestAt: String?
    var noNewDataSince: String?
    var begunAt: String
    var endedAt: String?
    var epoch: String

    init(_ feed: Feed, now: Timestamp) {
        (id, grant) = (feed.request.description, feed.grant.description)
        (state, ending) = (feed.state == .running ? "running" : "over", feed.ending?.rawValue)
        types = feed.types.map(\.code)
        (from, to) = (Timestamp(milliseconds: feed.window.lowerBound).rfc3339, Timestamp(milliseconds: feed.window.upperBound).rfc3339)
        granularity = feed.granularity.rawValue
        (head, oldest) = (feed.head, feed.released + 1)
        newestAt = feed.state == .running ? feed.newest?.rfc3339 : nil
        noNewDataSince = feed.quietSince(now)?.rfc3339
        (begunAt, endedAt, epoch) = (feed.begunAt.rfc3339, feed.endedAt?.rfc3339, feed.epoch)
    }

    static var schema: JSONSchema {
        .object(
            .required("id", .identifier(DataRequest.self), "The accepted request's id."),
            .required("grant", .identifier(Grant.self)), .required("state", .oneOf(["running", "over"])),
            .optional("ending", .oneOf(SubscriptionEnding.allCases.map(\.rawValue)), "Why it is over."),
            .required("types", .array(of: .string()), "Codes of the data types that are delivered."), .required("from", .time),
            .required("to", .time, "Not included."), .required("granularity", .oneOf(GrantGranularity.allCases.map(\.rawValue))),
            .required("head", .integer(in: 0...Int.max), "The number of the last item; whoever has all up to this has everything."),
            .required("oldest", .integer(in: 1...Int.max), "The first number that can still be fetched."),
            .optional("newestAt", .time, "Of the newest entry that was delivered."),
            .optional("noNewDataSince", .time, "Nothing has come since; absent while data flow."), .required("begunAt", .time),
            .optional("endedAt", .time), .required("epoch", .string(), FeedItemShape.epoch)
        ).named("Subscription")
    }
}

/// One item of a feed; written by hand, described here.
enum FeedItemShape {
    static let position = JSONSchema.object(
        .required("latitude", .number(in: -90...90)), .required("longitude", .number(in: -180...180)), .optional("altitude", .number()),
        .optional("accuracy", .number()))
    static let epoch = "Names the count in which the numbers stand; opaque. Another one: see `restored` of items."
    private static let restored = JSONSchema.object(
        .required("through", .integer(in: 0...Int.max), "Items up to this number stand as you have them."),
        .required("epoch", .string(), "The count that begins here."))
    private static let gap = JSONSchema.object(.required("before", .time))
    static let schema = JSONSchema.object(
        .required("number", .integer(in: 1...Int.max), "Without gaps in each epoch of a subscription; never given twice."),
        .optional("type", .string(), "Code of the data type."),
        .optional("at", .time, "The beginning of the second, minute or hour."),
        .optional("value", .number(), "The mean of that step, in the unit of the data type."),
        .optional("position", position, "The first position of that step."),
        .optional("replaces", .integer(in: 1...Int.max), "A correction: what that item said of this type and time holds no longer."),
        .optional("withdrawn", .boolean, "The person has withdrawn this data type: the number stands, its content is not delivered."),
        .optional("unreadable", .boolean, "What was kept here is damaged: fetch it from the request's data."),
        .optional(
            "restored", restored,
            """
            We went back to a copy of ours. What you have between `through` and this number we do not know any more; what it told comes \
            again under numbers above this one. Go on as ever.
            """),
        .optional(
            "gap", gap,
            """
            Entries about times before `before` that reached us late may be missing here: fetch them from the request's data if you need them.
            """)
    ).named("FeedItem")
    static let page = JSONSchema.object(
        .required("items", .array(of: schema)), .required("next", .string().nullable(), "Of the parameter `after`; null at the end."),
        .required("head", .integer(in: 0...Int.max), "The number of the last item that there is."),
        .required("epoch", .string(), epoch), .optional("noNewDataSince", .time, "Nothing has come since; absent while data flow.")
    ).named("FeedPage")

    static func page(_ feed: Feed, _ items: [FeedItem], now: Timestamp) -> String {
        let next = items.last.flatMap { $0.number < feed.head ? #""\#($0.number)""# : nil } ?? "null"
        return #"{"items":[\#(items.map(\.json).joined(separator: ","))],"next":\#(next),"head":\#(feed.head),"epoch":"\#(feed.epoch)""#
            + quiet(feed, now) + "}"
    }

    static func heartbeat(_ feed: Feed, now: Timestamp) -> String {
        #"{"head":\#(feed.head),"epoch":"\#(feed.epoch)""# + quiet(feed, now) + "}"
    }

    private static func quiet(_ feed: Feed, _ now: Timestamp) -> String {
        feed.quietSince(now).map { #","noNewDataSince":"\#($0.rfc3339)""# } ?? ""
    }
}

extension FeedRefusal {
    func problem(of feed: Feed) -> Problem {
        switch self {
        case .over(let why):
            Problem.subscriptionOver.saying(
                why.map(feed.explanation) ?? "The grant is not in force any more; nothing more is delivered.")
        case .consentSilent:
            Problem.consentNotHeard.saying(
                "What the person allows now is not known for the moment. Ask again in a few seconds.",
                italian: "Per il momento non si sa che cosa la persona permetta. Chieda di nuovo tra qualche secondo.")
        case .released(let through):
            Problem.itemsReleased.saying(
                "Items up to \(through) are not kept any more. Go on with after=\(through), and fetch what you missed from the request's data."
            )
        case .ahead(let head): Problem.cursorAhead(of: head)
        }
    }
}
