// What the messages to third parties' own servers are about.

/// The `type` of a message of Standard Webhooks; kept with messages that wait, so that a name never changes.
enum WebhookEvent: String, CaseIterable, Codable, Sendable {
    case items = "subscription.items"
    case heartbeat = "subscription.heartbeat"
    case revoked = "grant.revoked"
    case ended = "subscription.ended"
    case windowReleased = "group-window.released"
    case windowWithheld = "group-window.withheld"
    case verification = "endpoint.verification"
}
