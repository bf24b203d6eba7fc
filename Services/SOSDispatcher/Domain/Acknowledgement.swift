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
        guard let ack = readAny(bytes), ack.isComplete else { return nil }
        return ack
    }

    /// Reads the body, complete or not; nil for anything else.
    static func readAny(_ bytes: [UInt8]) -> Acknowledgement? {
        try? CheckedJSON.decode(AcknowledgementBody.self, from: bytes).ack
    }
}

extension Acknowledgement {
    /// What keeps it from being taken, by the name of the field; empty where nothing does.
    var faults: [(field: String, fault: FieldFault)] {
        var faults: [(field: String, fault: FieldFault)] = []
        let isPrintable =
            (1...Acknowledgement.longestAckID).contains(ackId.utf8.count) && ackId.utf8.allSatisfy { (33...126).contains($0) }
        if !isPrintable {
            faults.append(("ackId", .notAnAckID))
        }
        if result == .rejected, (reason ?? "").isEmpty { faults.append(("reason", .reasonMissing)) }
        if (reason ?? "").count > Acknowledgement.longestReason {
            faults.append(("reason", .tooLong(Acknowledgement.longestReason)))
        }
        return faults
    }

    var isComplete: Bool { faults.isEmpty }
}
