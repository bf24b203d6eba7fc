// Links that open one page without a log-in, and the names of messages: derived, so that a restart finds the same ones.

import Contracts
import Foundation
import Sealing

/// A capability is 128 bits under a key of the service's own, and tells nothing of what it opens.
struct Capabilities: Sendable {
    /// Base64url of 16 bytes.
    static let characters = 22

    private let promptKey: SymmetricKey
    private let contactKey: SymmetricKey
    private let messageKey: SymmetricKey
    private let occasionKey: SymmetricKey
    /// Where people reach the suite, without a slash at the end.
    let origin: String

    init(key: SymmetricKey, origin: String) {
        promptKey = key.derived(for: "prompt-page")
        contactKey = key.derived(for: "contact-page")
        messageKey = key.derived(for: "messages")
        occasionKey = key.derived(for: "occasions")
        self.origin = origin
    }

    /// Opens the person's own page of one emergency.
    func prompt(_ emergency: EmergencyID) -> String {
        code("\(emergency)", promptKey)
    }

    /// Opens one contact's page of one alarm.
    func contact(_ position: Int, of occasion: OccasionID) -> String {
        code("\(occasion)|\(position)", contactKey)
    }

    func promptLink(_ emergency: EmergencyID) -> String {
        "\(origin)/sos/v1/prompt/page/\(prompt(emergency))"
    }

    func contactLink(_ position: Int, of occasion: OccasionID) -> String {
        "\(origin)/sos/c/\(contact(position, of: occasion))"
    }

    /// The message that tells this: sent again after a crash, it is the same one.
    func message(_ what: String) -> Contracts.MessageID {
        identifier(what, messageKey)
    }

    /// An alarm that is no emergency.
    func occasion(_ what: String) -> OccasionID {
        identifier(what, occasionKey)
    }

    /// Capabilities are looked up by this: how long a look-up takes tells nothing of them.
    static func digest(_ capability: String) -> [UInt8] {
        Digest.sha256(Array(capability.utf8))
    }

    private func code(_ what: String, _ key: SymmetricKey) -> String {
        Base64URL.encode(Array(Digest.hmacSHA256(Array(what.utf8), key: key).prefix(16)))
    }

    private func identifier<Kind>(_ what: String, _ key: SymmetricKey) -> Identifier<Kind> {
        Identifier(bits: Digest.hmacSHA256(Array(what.utf8), key: key).prefix(16).reduce(0) { $0 << 8 | UInt128($1) })
    }
}
