// Who is called in an emergency: the emergency services that take the suite's messages, as the operator registers them.

/// Where an integrator is responsible, in WGS84 degrees. With neither it is responsible everywhere.
package struct ServiceArea: Hashable, Codable, Sendable {
    package struct Corner: Hashable, Codable, Sendable {
        /// -90 to 90, north positive.
        package var latitude: Double
        /// -180 to 180, east positive; a polygon may cross the 180th meridian.
        package var longitude: Double

        package init(latitude: Double, longitude: Double) {
            (self.latitude, self.longitude) = (latitude, longitude)
        }
    }

    package struct Circle: Hashable, Codable, Sendable {
        package var centre: Corner
        /// 0.1 to 20,000.
        package var radiusKm: Double

        package init(centre: Corner, radiusKm: Double) {
            (self.centre, self.radiusKm) = (centre, radiusKm)
        }
    }

    /// Not together with a polygon.
    package var circle: Circle?
    /// Three corners or more, in order; the last one is joined to the first.
    package var polygon: [Corner]?

    package init(circle: Circle? = nil, polygon: [Corner]? = nil) {
        (self.circle, self.polygon) = (circle, polygon)
    }
}

/// What the operator says of one integrator. Its secrets are made by the dispatcher.
package struct IntegratorSettings: Hashable, Codable, Sendable {
    /// In which form webhooks carry a message.
    package enum Format: String, Codable, Sendable, CaseIterable {
        /// Schema `dispatch/1`.
        case json
        /// OASIS CAP 1.2.
        case cap
    }

    /// 1 to 32 lower-case letters, digits and hyphens, a letter first; timelines show it.
    package var name: String
    package var area: ServiceArea
    /// Endpoint for webhooks, http or https without a user name. Without it there must be a `number` or a `peer`.
    package var url: String?
    /// Tried as well when there is no acknowledgement after 1.5 s.
    package var secondURL: String?
    package var format: Format
    /// E.164: where texts go, and whose texts are believed.
    package var number: String?
    /// Of the texts that it gets.
    package var language: Language
    /// 0 to 1000; among equals the lower one is called first.
    package var priority: Int
    /// A `whpk_` key that its answers may be signed with besides the shared secret.
    package var answerKey: String?
    /// The peer on the bus that consumes its stream and acknowledges there.
    package var peer: String?
    /// A test emergency is sent so often, 0.01 to 8760; nil: never by itself.
    package var drillEveryHours: Double?

    package init(
        name: String, area: ServiceArea = ServiceArea(), url: String? = nil, secondURL: String? = nil, format: Format = .json,
        number: String? = nil, language: Language = .english, priority: Int = 100, answerKey: String? = nil, peer: String? = nil,
        drillEveryHours: Double? = nil
    ) {
        (self.name, self.area, self.url, self.secondURL, self.format) = (name, area, url, secondURL, format)
        (self.number, self.language, self.priority, self.answerKey) = (number, language, priority, answerKey)
        (self.peer, self.drillEveryHours) = (peer, drillEveryHours)
    }
}

extension StreamFamily {
    /// Where the streams of integrators begin on TCP; each has the port after the one before.
    package static let firstDispatchPort = 5760

    /// `dispatch.v1` facts: every message to one integrator, in order and without gaps. Heard by peers whose public file names the
    /// family, by nobody else.
    package static func dispatches(to integrator: String, tcpPort: Int) -> StreamFamily {
        let name = dispatchesName(to: integrator)
        return StreamFamily(
            name: name, owner: .sosDispatcher, streams: [name], keepsState: false, heartbeat: .milliseconds(250), consumers: [],
            tcpPort: tcpPort)
    }

    /// The name of the family and of its only stream.
    package static func dispatchesName(to integrator: String) -> String { "dispatch." + integrator }
    /// The type of a fact there; its payload is the message, schema `dispatch/1`.
    package static let dispatchType = "dispatch.v1"
}

/// Registers an integrator with new secrets, or changes what is known of one and keeps its secrets.
package struct AddIntegrator: BusRequest {
    package static let method = "add-integrator"
    package static let owner = Peer.sosDispatcher
    package static let clients: Set<Peer> = [.trackme]
    package static let mutates = true

    /// `invalid`, with what to do, where they do not fit each other.
    package var settings: IntegratorSettings
    /// Whether one of this name may be there already: it keeps its secrets, also one that was removed. Without, `conflict` for one that is
    /// registered, and new secrets for one that was removed.
    package var replaces: Bool

    package init(settings: IntegratorSettings, replaces: Bool) {
        (self.settings, self.replaces) = (settings, replaces)
    }

    package struct Reply: Codable, Sendable {
        /// Shared with its endpoints, `whsec_…`; for the operator to hand over.
        package var webhookSecret: String
        /// The bearer token of its own calls.
        package var token: String
        /// What the suite signs with, `whpk_…`.
        package var publicKey: String

        package init(webhookSecret: String, token: String, publicKey: String) {
            (self.webhookSecret, self.token, self.publicKey) = (webhookSecret, token, publicKey)
        }
    }
}

/// All integrators, in the order in which they would be asked if nobody knew where the person is.
package struct ListIntegrators: BusRequest {
    package static let method = "list-integrators"
    package static let owner = Peer.sosDispatcher
    package static let clients: Set<Peer> = [.trackme]
    package static let mutates = false

    package init() {}

    package struct Entry: Codable, Sendable {
        package var settings: IntegratorSettings
        /// The one that the dispatcher's settings name.
        package var isConfigured: Bool
        /// Gets no new emergencies; those that it was called for are brought to their end.
        package var isRetired: Bool
        /// Where its stream is published over TCP.
        package var streamPort: Int?

        package init(settings: IntegratorSettings, isConfigured: Bool, isRetired: Bool, streamPort: Int?) {
            (self.settings, self.isConfigured, self.isRetired, self.streamPort) = (settings, isConfigured, isRetired, streamPort)
        }
    }

    package struct Reply: Codable, Sendable {
        package var integrators: [Entry]

        package init(integrators: [Entry]) {
            self.integrators = integrators
        }
    }
}

/// Takes an integrator out of the choice. Whoever was called already is still told of updates and cancels.
package struct RemoveIntegrator: BusRequest {
    package static let method = "remove-integrator"
    package static let owner = Peer.sosDispatcher
    package static let clients: Set<Peer> = [.trackme]
    package static let mutates = true
    package typealias Reply = Nothing

    /// `not-found` for one that is not registered or was removed, `conflict` for the one of the dispatcher's settings.
    package var name: String

    package init(name: String) {
        self.name = name
    }
}

/// Makes a new secret. A webhook secret that is replaced goes on signing beside the new one until the next change; a token that is
/// replaced is refused at once.
package struct RotateIntegrator: BusRequest {
    package static let method = "rotate-integrator"
    package static let owner = Peer.sosDispatcher
    package static let clients: Set<Peer> = [.trackme]
    package static let mutates = true

    /// `secret`: what signs webhooks. `token`: what the integrator's own calls bear.
    package enum Part: String, Codable, Sendable, CaseIterable {
        case secret
        case token
    }

    /// `not-found` for one that is not registered or was removed, `conflict` for the one of the dispatcher's settings.
    package var name: String
    package var part: Part

    package init(name: String, part: Part) {
        (self.name, self.part) = (name, part)
    }

    package struct Reply: Codable, Sendable {
        /// The whole new secret or token, for the operator to hand over.
        package var value: String

        package init(value: String) {
            self.value = value
        }
    }
}

/// An integrator's business acknowledgement over the bus; by the peer that its entry names, about its own messages.
package struct AcknowledgeDispatch: BusRequest {
    package static let method = "acknowledge-dispatch"
    package static let owner = Peer.sosDispatcher
    /// None of the suite's own: the right is in the public file of the integrator's peer.
    package static let clients: Set<Peer> = []
    package static let mutates = false
    package typealias Reply = Nothing

    /// Of a message that was sent to this integrator; any other is `not-found`.
    package var messageId: String
    /// `accepted`, `rejected` or `duplicate`.
    package var result: String
    /// The integrator's own: 1 to 128 printable ASCII characters without spaces.
    package var ackId: String
    /// Required where the result is `rejected`; what is longer than 500 characters is cut off.
    package var reason: String?

    package init(messageId: String, result: String, ackId: String, reason: String?) {
        (self.messageId, self.result, self.ackId, self.reason) = (messageId, result, ackId, reason)
    }
}

/// A text that came in. Counts where it is from the registered number of an integrator that the message was sent to, and holds the
/// message's code; the same text again changes nothing.
package struct AcknowledgeByCode: BusRequest {
    package static let method = "acknowledge-by-code"
    package static let owner = Peer.sosDispatcher
    package static let clients: Set<Peer> = [.notifier]
    package static let mutates = false

    /// E.164, as the network says.
    package var number: String
    /// As it came; the notifier cuts it after 480 characters.
    package var text: String

    package init(number: String, text: String) {
        (self.number, self.text) = (number, text)
    }

    package struct Reply: Codable, Sendable {
        /// `accepted`, `rejected` or `not-understood` (it has the code of a message, and the call goes on); nil: it was no acknowledgement.
        package var result: String?

        package init(result: String?) {
            self.result = result
        }
    }
}

/// An operator's word that the emergency service has taken the call, with a second person who stands by it.
package struct AcknowledgeByHand: BusRequest {
    package static let method = "acknowledge-by-hand"
    package static let owner = Peer.sosDispatcher
    package static let clients: Set<Peer> = [.trackme]
    package static let mutates = true
    package typealias Reply = Nothing

    /// `conflict` where it waits for no acknowledgement, or is a drill.
    package var emergency: EmergencyID
    /// Who says so; 1 to 200 characters. The audit log keeps all three.
    package var by: String
    /// Somebody else than `by`; 1 to 200 characters.
    package var second: String
    /// 1 to 200 characters.
    package var reason: String

    package init(emergency: EmergencyID, by: String, second: String, reason: String) {
        (self.emergency, self.by, self.second, self.reason) = (emergency, by, second, reason)
    }
}
