// What an integrator says about a message that it got.

import Contracts
import Foundation

/// The business acknowledgement: the integrator's own words about one message. A bare 2xx is none.
struct Acknowledgement: Codable, Hashable, Sendable {
    enum Result: String, Codable, Sendable, CaseIterable {
        case accepted
        case rejected
        /// The message was known already; counts as accepted.
        case duplicate
    }

    var messageId: String
    var result: Result
    /// The integrator's own name for it, 1 to 128 printable ASCII characters without spaces.
    var ackId: String
    /// Why it was rejected, at most 500 characters.
    var reason: String?

    static let longestAckID = 128
    static let longestReason = 500

    var accepts: Bool { result != .rejected }
}

/// `{"ack":{…}}`, the body of an acknowledgement in either direction.
struct AcknowledgementBody: Codable, Sendable {
    var ack: Acknowledgement

    /// Reads the body; nil for anything that is no complete acknowledgement.
    static func read(_ bytes: [UInt8]) -> Acknowledgement? {
        guard let body = try? JSONDecoder().decode(AcknowledgementBody.self, from: Data(bytes)), body.ack.isComplete else { return nil }
        return body.ack
    }
}

extension Acknowledgement {
    var isComplete: Bool {
        let printable = (1...Acknowledgement.longestAckID).contains(ackId.utf8.count) && ackId.utf8.allSatisfy { (33...126).contains($0) }
        let reasoned = result != .rejected || !(reason ?? "").isEmpty
        return printable && reasoned && (reason ?? "").count <= Acknowledgement.longestReason
    }
}
