// What an emergency service is told that was called in vain: another has taken the call, nobody is to be sent.

import Contracts
import Foundation

extension DispatchMessage {
    /// Made of the alert's own bytes, so that both dispatchers make the same; nil where those are no message. Of the person it tells
    /// what the alert began with, and no more: whoever need not go need not know it.
    /// - Parameters:
    ///   - seq: behind every message of the emergency, so that nobody takes it for an old one.
    ///   - time: when the call was taken.
    static func release(
        of alert: [UInt8], as id: MessageID, seq: Int, takenBy integrator: String, at time: Timestamp, code: String
    ) -> [UInt8]? {
        guard var message = try? JSONDecoder().decode(DispatchMessage.self, from: Data(alert)) else { return nil }
        message.ack.url = message.ack.url.replacing("/\(message.messageId)/", with: "/\(id)/")
        message.ack.deadline = (time + DispatchLetterhead.acknowledgeWithin).rfc3339
        message.ack.code = code
        message.messageId = id.description
        message.references = references(before: MessageID(emergency: id.emergency, sequence: seq))
        (message.seq, message.msgType, message.takenBy) = (seq, .cancel, integrator)
        (message.sent, message.decidedAt) = (time.rfc3339, time.rfc3339)
        message.expires = (time + DispatchLetterhead.validity).rfc3339
        if let began = Timestamp(rfc3339: message.firstBreachAt) { message.trace.decidedAfterMs = max(0, (time - began).wholeMilliseconds) }
        message.headline = "Taken by another emergency service (\(integrator)): nobody needs to be sent"
        (message.urgency, message.severity, message.certainty) = ("past", "unknown", "observed")
        message.subject = Subject(pid: message.subject.pid, basis: message.subject.basis)
        message.location = Location(method: "none", trusted: false, previous: [])
        (message.parameters, message.vitals, message.worse, message.reason) = ([], [], nil, nil)
        message.trigger.threshold?.samples = []
        return try? message.encoded()
    }
}
