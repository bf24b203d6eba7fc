// The messages to third parties' own servers as they stand in JSON, for the `webhooks` of the OpenAPI document.

import Contracts
import HTTPKit
import Sealing

extension WebhookEvent {
    /// How it is described: by its data, the headers that sign it, and what answers to it mean.
    var documentation: WebhookDescription {
        WebhookDescription(
            rawValue, summary: summary, description: explanation, headers: Self.headers,
            body: .init(MediaType.json, schema, examples: [example]), replies: replies)
    }

    /// Standard Webhooks.
    private static let headers: [Parameter] = [
        .header(
            WebhookSignature.idHeader, .identifier(Message.self), required: true,
            "The same at each attempt: whoever keeps it takes nothing twice."),
        .header(
            WebhookSignature.timestampHeader, .string(pattern: "^[0-9]+$"), required: true,
            "Of this attempt, in seconds since 1970; refuse what is more than \(WebhookSignature.tolerance.components.seconds) s away."),
        .header(
            WebhookSignature.signatureHeader, .string(pattern: "^v1a?,"), required: true,
            """
            Separated by spaces: `v1,` and HMAC-SHA256 under the endpoint's secret, during a change of secrets one for each; `v1a,` and \
            Ed25519 by the key at `/thirdparty/v1/webhook-keys`. Signed is id, full stop, timestamp, full stop and the raw body. Verify \
            either before anything else.
            """),
    ]

    private var summary: String {
        switch self {
        case .items: "What is new of subscriptions"
        case .heartbeat: "Nothing is new; the heads prove it"
        case .revoked: "The person has withdrawn, wholly or some data types; or the data are gone"
        case .ended: "A subscription is over"
        case .windowReleased: "A window of a subscription to a group can be fetched"
        case .windowWithheld: "A window of a subscription to a group had too few people for too long"
        case .verification: "Proves that whoever registered the endpoint reads what comes there"
        }
    }

    private var explanation: String {
        switch self {
        case .items:
            """
            Messages with data come one after the other, up to \(WebhookQueueStore.mostItems) items of up to \(WebhookQueueStore.mostFeeds) \
            subscriptions in each; the next is sent when the one before is taken. Store, answer, then work on it. Items have numbers \
            without gaps: an item is new where its number is not stored yet.
            """
        case .heartbeat: "After \(WebhookQueueStore.heartbeat.components.seconds) s in which nothing was sent."
        case .revoked:
            "Does not wait behind data. Nothing more of it is sent, retries included; other types go on where `isWhole` is false."
        case .ended: "Does not wait behind data. Nothing more of it is sent."
        case .windowReleased: "Its entries: `GET /thirdparty/v1/group-requests/{group}/entries?window=…`. Once for each window."
        case .windowWithheld: "There is nothing to fetch, and there will not be. A mail says so too. Once for each window."
        case .verification: "Sent when `POST /thirdparty/v1/endpoints/{endpoint}/verification` asks for it, once."
        }
    }

    private var replies: [WebhookDescription.Reply] {
        switch self {
        case .items, .heartbeat, .revoked, .ended, .windowReleased, .windowWithheld:
            [
                .init("2XX", "Taken, where it comes within \(WebhookSender.timeout.components.seconds) s."),
                .init("410", "The endpoint is `gone`: nothing more is sent until it is verified again; then it goes on with this message."),
                .init(
                    "default",
                    """
                    Not taken, as where nothing comes: sent again under the same id, after 1 s and then growing pauses, or after \
                    `Retry-After` in seconds (an hour at most). After `org.webhook_retry_h` hours, 72 unless the operator says otherwise, it \
                    is a dead letter and the endpoint `paused`.
                    """),
            ]
        case .verification:
            [
                .init(
                    "2XX", "The endpoint is active, where the body holds the challenge.",
                    contents: [
                        .init(MediaType.text, .string(), examples: [Self.challenge]),
                        .init(
                            MediaType.json, .object(.required("challenge", .string())).named("ChallengeAnswer"),
                            examples: [["challenge": Self.challenge]]),
                    ]),
                .init("default", "Not verified: whoever asked for it is told why, and may ask again."),
            ]
        }
    }

    // MARK: The body

    var schema: JSONSchema {
        .object(
            .required("type", .oneOf([rawValue])), .required("timestamp", .time, "When the message was made."),
            .required("data", data)
        ).named(rawValue.split { ".-".contains($0) }.map { $0.prefix(1).uppercased() + $0.dropFirst() }.joined() + "Message")
    }

    private var data: JSONSchema {
        switch self {
        case .items, .heartbeat: .object(.required("batches", .array(of: Self.batch, count: 1...WebhookQueueStore.mostFeeds)))
        case .revoked, .ended: notice
        case .windowReleased, .windowWithheld: window
        case .verification: .object(.required("challenge", .string(), "To be sent back in the answer."))
        }
    }

    private static let batch = JSONSchema.object(
        .required("subscription", .identifier(DataRequest.self), "The id of the accepted request."),
        .required("grant", .identifier(Grant.self)),
        .required("after", .integer(in: 0...Int.max), "The items follow this number: what is missing up to it was missed."),
        .required("through", .integer(in: 0...Int.max), "The number of the last item of this batch."),
        .required("head", .integer(in: 0...Int.max), "The number of the last item that there is."),
        .required("epoch", .string(), FeedItemShape.epoch),
        .required("noNewDataSince", JSONSchema.time.nullable(), "Nothing has come since; null while data flow."),
        .required("items", .array(of: FeedItemShape.schema), "Oldest first; none in a heartbeat.")
    ).named("WebhookBatch")

    private var window: JSONSchema {
        .object(
            .required("groupRequest", .identifier(GroupDataRequest.self)),
            .required("window", .integer(in: 1...Int.max), "Its number, without gaps."),
            .required("status", .oneOf([(self == .windowReleased ? GroupWindowStatus.released : .withheld).rawValue])),
            .required("from", .time), .required("to", .time, "Not included."))
    }

    private var notice: JSONSchema {
        let reasons = SubscriptionEnding.allCases.filter { $0.eventType == self }.map(\.rawValue)
        return .object(
            .required("type", .oneOf([rawValue]), "As the message's."), .required("subscription", .identifier(DataRequest.self)),
            .required("grant", .identifier(Grant.self)),
            .required("reason", .oneOf(self == .revoked ? reasons + [WebhookNotice.typesWithdrawn] : reasons)),
            .required("explanation", .string(), "For people."),
            .required("types", .array(of: .string()), "Codes of the data types that are not delivered any more."),
            .required("isWhole", .boolean, "False: only these types are gone, the others are delivered as before."),
            .required("head", .integer(in: 0...Int.max), "The number of the last item that there ever was."))
    }
}

// MARK: Examples

extension WebhookEvent {
    private static let challenge: JSONValue = "4tJ0TqCw1v6m2c8ZkQm0bq2rW9xY7s5d"

    private var example: JSONValue {
        let data: JSONValue =
            switch self {
            case .items: ["batches": [Examples.webhookBatch]]
            case .heartbeat: ["batches": [Examples.emptyWebhookBatch]]
            case .revoked:
                Examples.webhookNotice(
                    rawValue, reason: WebhookNotice.typesWithdrawn,
                    "The person withdrew these data types; the others are delivered as before.",
                    isWhole: false)
            case .ended: Examples.webhookNotice(rawValue, reason: "ended", SubscriptionEnding.ended.explanation, isWhole: true)
            case .windowReleased: Examples.webhookWindow("released")
            case .windowWithheld: Examples.webhookWindow("withheld")
            case .verification: ["challenge": Self.challenge]
            }
        return ["type": .string(rawValue), "timestamp": "2026-01-10T08:41:00.000Z", "data": data]
    }
}
