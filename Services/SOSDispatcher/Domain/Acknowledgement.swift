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

        static let inWords = "accepted, rejected or duplicate"
    }

    var messageId: String
    var result: Result
    /// The integrator's own name for it, 1 to 128 printable ASCII characters without spaces.
    var ackId: String
    /// Why it was rejected, cut off after 500 characters; empty or nil where nobody says: how much somebody says does not change what.
    private(set) var reason: String?

    static let longestAckID = 128
    static let longestReason = 500

    private enum CodingKeys: String, CodingKey {
        case messageId, result, ackId, reason
    }

    init(messageId: String, result: Result, ackId: String, reason: String?) {
        (self.messageId, self.result, self.ackId) = (messageId, result, ackId)
        self.reason = reason.map { String($0.prefix(Acknowledgement.longestReason)) }
    }

    var accepts: Bool { result != .rejected }
}

extension Acknowledgement {
    /// Stands for a reason that was given and that nobody can read.
    private static let unreadableReason = "(not a readable text)"

    /// A faulty reason never keeps the rest from being read: whoever rejects a call does not come, and the next one is to be called.
    init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: CodingKeys.self)
        func text(_ key: CodingKeys) throws -> String {
            let text = try fields.decode(String.self, forKey: key)
            guard StreamSafeText.isSafe(text) else {
                throw DecodingError.dataCorruptedError(forKey: key, in: fields, debugDescription: "too many combining marks")
            }
            return text
        }
        guard let result = Result(rawValue: try text(.result)) else {
            throw DecodingError.dataCorruptedError(forKey: .result, in: fields, debugDescription: "no such result")
        }
        var reason: String?
        if fields.contains(.reason), try !fields.decodeNil(forKey: .reason) {
            let given = try? fields.decode(String.self, forKey: .reason)
            reason = given.flatMap { StreamSafeText.isSafe($0) ? $0 : nil } ?? Acknowledgement.unreadableReason
        }
        self.init(messageId: try text(.messageId), result: result, ackId: try text(.ackId), reason: reason)
    }
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
        // What stream-safe texts are for, the fields that are compared see to themselves.
        try? CheckedJSON.decode(AcknowledgementBody.self, from: bytes, of: .suite).ack
    }

    /// Why a body that seems to be meant for an acknowledgement is none, in words that hold nothing of it; nil for any other body.
    static func fault(in bytes: [UInt8]) -> String? {
        if let given = readAny(bytes) { return given.faultsInWords }
        return bytes.firstRange(of: #""ack""#.utf8) == nil
            ? nil : "not JSON with messageId, ackId and a result that is \(Acknowledgement.Result.inWords)"
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
        return faults
    }

    /// nil where there are none.
    var faultsInWords: String? {
        isComplete ? nil : faults.map { "\($0.field) \($0.fault.english)" }.joined(separator: "; ")
    }

    var isComplete: Bool { faults.isEmpty }
}
