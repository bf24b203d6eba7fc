// Seals what is kept of messages and people, and opens it again.

import Contracts
import Foundation
import Sealing
import ServiceKit

/// The content of a message and its addresses, as they are kept.
struct MessageContent: Codable, Hashable, Sendable {
    var template: MessageTemplate
    var language: Language
    var values: [String: String]
    var mail: String?
    var phone: String?

    init(_ message: SendMessage) {
        (template, language, values) = (message.template, message.language, message.values)
        (mail, phone) = (message.recipient.mail, message.recipient.phone)
    }

    /// Without addresses: for the inbox.
    var withoutAddresses: MessageContent {
        var copy = self
        (copy.mail, copy.phone) = (nil, nil)
        return copy
    }
}

/// One key per person; what belongs to nobody in the suite is sealed under a key of the service's own. Every seal is bound to
/// its row.
struct Envelopes: Sendable {
    private let keys: PersonKeys
    private let own: SymmetricKey
    private let digests: SymmetricKey
    private let lookups: LookupKey

    init(keys: PersonKeys, runtime: Runtime) throws {
        self.keys = keys
        own = try runtime.key("messages")
        digests = try runtime.key("message-digests")
        lookups = try runtime.lookupKey(for: "recipients")
    }

    /// Which row a seal is bound to.
    enum Place: Sendable {
        case message(MessageID)
        case inbox(MessageID)
        case endpoint(PushEndpointID)
        case choices(PersonID)

        var context: [UInt8] {
            switch self {
            case .message(let id): Array("messages|\(id)".utf8)
            case .inbox(let id): Array("inbox|\(id)".utf8)
            case .endpoint(let id): Array("push_endpoints|\(id)".utf8)
            case .choices(let person): Array("channel_choices|\(person)".utf8)
            }
        }
    }

    /// The key for what concerns the person, made if there was none; the service's own for nobody.
    /// - Throws: `KeyDestroyed` where the person was erased.
    func makeKey(for person: PersonID?) async throws -> SymmetricKey {
        guard let person else { return own }
        return try await keys.makeKey(for: person)
    }

    /// nil where the person was erased, or never known.
    func key(of person: PersonID?) throws -> SymmetricKey? {
        guard let person else { return own }
        return try keys.key(of: person)
    }

    func seal(_ value: some Encodable, in place: Place, key: SymmetricKey) throws -> [UInt8] {
        try Seal.seal(JSONEncoder().encode(value), key: key, context: place.context)
    }

    func open<Value: Decodable>(_ sealed: [UInt8], as _: Value.Type = Value.self, in place: Place, key: SymmetricKey) throws -> Value {
        try JSONDecoder().decode(Value.self, from: Data(Seal.open(sealed, key: key, context: place.context)))
    }

    /// The same for the same message, different for any other.
    func digest(of message: SendMessage) throws -> [UInt8] {
        struct Whole: Encodable {
            var content: MessageContent
            var person: PersonID?
            var channels: [String]
            var notAfter: Timestamp?
        }
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        let whole = Whole(
            content: MessageContent(message), person: message.recipient.person, channels: message.channels.map(\.rawValue).sorted(),
            notAfter: message.notAfter)
        return Digest.hmacSHA256(Array(try encoder.encode(whole)), key: digests)
    }

    /// Finds an address without showing it.
    func lookup(_ address: String) -> [UInt8] {
        lookups.lookup(address.lowercased())
    }
}
