// What a channel needs to carry a message: the next system on the way.

import Contracts

/// One message for one address, finished, as a carrier gets it for one attempt.
struct Letter: Sendable {
    var message: MessageID
    /// Counts from 1.
    var attempt: Int
    /// A mail address, a telephone number or the address of a push endpoint.
    var address: String
    var language: Language
    var list: String?
    var text: RenderedMessage
    var createdAt: Timestamp
    var notAfter: Timestamp
}

protocol Carrier: Sendable {
    /// Names of the providers, the preferred one first; empty where none is configured: messages then wait.
    var providers: [String] { get }

    /// Makes one attempt; returns within its own deadline.
    func carry(_ letter: Letter, by provider: String) async -> Delivery.Outcome
}
