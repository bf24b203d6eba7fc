// Messages to people: what is asked of the notifier and what it says of their delivery.

/// A way to reach somebody.
package enum Channel: String, Codable, Sendable, CaseIterable, CodingKeyRepresentable {
    case mail, sms, call, push
    /// The list inside the apps, kept by the notifier.
    case inbox
}

/// Who is to be told. Personal.
package struct Recipient: Hashable, Codable, Sendable {
    /// Needed for push and inbox; erasing the person erases the message.
    package var person: PersonID?
    /// `local@domain`; one that cannot stand in an envelope fails on that channel alone.
    package var mail: String?
    /// E.164: `+39…`.
    package var phone: String?

    package init(person: PersonID?, mail: String? = nil, phone: String? = nil) {
        (self.person, self.mail, self.phone) = (person, mail, phone)
    }
}

/// Takes responsibility for a message: once answered, it is delivered by every channel asked for, or reported as failed. The same
/// id with the same content is the same message; with other content it is a `conflict`.
package struct SendMessage: BusRequest {
    package static let method = "send-message"
    package static let owner = Peer.notifier
    package static let clients: Set<Peer> = [.consent, .ingest, .sosDispatcher, .sosDeputy, .thirdPartyGateway]
    package static let mutates = true
    package typealias Reply = Nothing

    package var message: MessageID
    package var recipient: Recipient
    /// At least one; each is tried by itself.
    package var channels: Set<Channel>
    package var template: MessageTemplate
    package var language: Language
    /// One for each of the template's `values`. Personal.
    package var values: [String: String]
    /// Given up after this instant; a day unless told.
    package var notAfter: Timestamp?

    package init(
        message: MessageID, recipient: Recipient, channels: Set<Channel>, template: MessageTemplate, language: Language,
        values: [String: String], notAfter: Timestamp? = nil
    ) {
        (self.message, self.recipient, self.channels, self.template) = (message, recipient, channels, template)
        (self.language, self.values, self.notAfter) = (language, values, notAfter)
    }
}

/// How far a message is, by channel; `not-found` for one that this peer did not send.
package struct ReadMessage: BusRequest {
    package static let method = "read-message"
    package static let owner = Peer.notifier
    package static let clients: Set<Peer> = [.consent, .ingest, .sosDispatcher, .sosDeputy, .thirdPartyGateway]
    package static let mutates = false

    package var message: MessageID

    package init(message: MessageID) {
        self.message = message
    }

    package struct Reply: Codable, Sendable {
        /// One for each channel that was asked for; of several push endpoints their progress together.
        package var states: [Channel: DeliveryState]

        package init(states: [Channel: DeliveryState]) {
            self.states = states
        }
    }
}

/// How far a message is on one channel.
package enum DeliveryState: String, Codable, Sendable, CaseIterable {
    /// Waiting for its first or next attempt.
    case queued
    /// Taken by the next system on the way.
    case sent
    /// A receipt says that it arrived.
    case delivered
    /// Given up.
    case failed
}

/// Said by the notifier on `notify.deliveries` when nothing more will happen to a message on one channel.
package struct MessageSettled: Hashable, Codable, Sendable {
    package static let type = "message-settled.v1"

    package var message: MessageID
    package var channel: Channel
    /// `sent`, `delivered` or `failed`.
    package var state: DeliveryState
    /// A short kebab-case word for programs: `address-refused`, `expired`, `no-channel`, …; absent where it went well.
    package var reason: String?

    package init(message: MessageID, channel: Channel, state: DeliveryState, reason: String?) {
        (self.message, self.channel, self.state, self.reason) = (message, channel, state, reason)
    }
}
