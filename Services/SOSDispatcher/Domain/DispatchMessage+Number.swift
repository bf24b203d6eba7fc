// A message that was written and not sent yet, under another number.

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
}
