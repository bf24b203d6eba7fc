// A message that was written before, under another number.

import Contracts
import Foundation

extension DispatchMessage {
    /// The canonical bytes under `new`; nil where `body` is no message.
    static func renumbered(_ body: [UInt8], from old: MessageID, to new: MessageID, code: String) -> [UInt8]? {
        guard var message = try? JSONDecoder().decode(DispatchMessage.self, from: Data(body)) else { return nil }
        message.messageId = new.description
        message.seq = new.sequence
        message.references = DispatchMessage.references(before: new)
        message.ack.code = code
        message.ack.url = message.ack.url.replacing("/\(old)/", with: "/\(new)/")
        return try? message.encoded()
    }

    /// The latest messages before this one.
    static func references(before id: MessageID) -> [String] {
        (0..<id.sequence).suffix(8).map { MessageID(emergency: id.emergency, sequence: $0).description }
    }

    /// The alert once more, after whoever had taken it has rejected it. Made of its own bytes, so that both dispatchers make the same; nil
    /// where those are no message.
    /// - Parameters:
    ///   - seq: behind every message of the emergency, so that nobody takes it for an old one.
    ///   - time: when it was rejected.
    static func repetition(of alert: [UInt8], as id: MessageID, seq: Int, at time: Timestamp, code: String) -> [UInt8]? {
        guard var message = try? JSONDecoder().decode(DispatchMessage.self, from: Data(alert)) else { return nil }
        message.ack.url = message.ack.url.replacing("/\(message.messageId)/", with: "/\(id)/")
        message.ack.deadline = (time + DispatchLetterhead.acknowledgeWithin).rfc3339
        message.ack.code = code
        message.messageId = id.description
        message.references = references(before: MessageID(emergency: id.emergency, sequence: seq))
        (message.seq, message.sent) = (seq, time.rfc3339)
        message.expires = (time + DispatchLetterhead.validity).rfc3339
        return try? message.encoded()
    }
}
