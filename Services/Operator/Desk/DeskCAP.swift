// What the desk reads of a CAP 1.2 document, and the CAP document that it answers with.

import Contracts
import Documents
import Foundation

struct DeskCAP: Sendable {
    static let contentType = "application/cap+xml"
    private static let namespace = "urn:oasis:names:tc:emergency:cap:1.2"

    let identifier: String
    let sender: String
    let sent: String
    let status: String
    /// `alert`, `update` or `cancel`.
    let kind: String

    /// nil for anything but a CAP document with what an answer needs.
    init?(_ bytes: [UInt8]) {
        guard bytes.first == UInt8(ascii: "<") else { return nil }
        let reader = Reader()
        guard (try? XMLReading.read(bytes, into: reader)) != nil, let identifier = reader.values["identifier"],
            let sender = reader.values["sender"], let sent = reader.values["sent"], let status = reader.values["status"],
            let kind = reader.values["msgType"]
        else { return nil }
        (self.identifier, self.sender, self.sent, self.status, self.kind) = (identifier, sender, sent, status, kind.lowercased())
    }

    /// `Ack`, or `Error` with a reason, about this document.
    func answer(_ result: AcknowledgementResult, ackID: String, reason: String?, at now: Timestamp) -> [UInt8] {
        var writer = XMLWriter()
        writer.open("alert", [("xmlns", DeskCAP.namespace)])
        writer.leaf("identifier", ackID)
        writer.leaf("sender", "desk@localhost")
        writer.leaf("sent", now.rfc3339.prefix(19) + "+00:00")
        writer.leaf("status", status)
        writer.leaf("msgType", result == .rejected ? "Error" : "Ack")
        writer.leaf("scope", "Private")
        writer.leaf("addresses", sender)
        if let reason { writer.leaf("note", reason) }
        writer.leaf("references", "\(sender),\(identifier),\(sent)")
        writer.finish()
        return writer.take()
    }

    /// The first text of each name.
    private final class Reader: XMLHandler {
        private(set) var values: [String: String] = [:]

        func opened(_ tag: XMLTag) {}

        func closed(_ name: String, text: String) {
            values[name] = values[name] ?? text.trimmingCharacters(in: .whitespacesAndNewlines)
        }
    }
}
