// What is said on an integrator's own stream: each message once, by reference in the log, whole on the wire.

import Bus
import Contracts
import GRDB
import ServiceKit
import Storage

enum DispatchStreamStore {
    /// Call in the transaction that gives the message to the integrator. The log names the message; its text stays sealed where it is.
    static func append(_ db: Database, stream: String, _ id: MessageID, body: [UInt8]) throws -> EventRelay.Committed {
        try FactLog(stream: stream, epoch: StreamLog().epoch(db))
            .append(db, type: StreamFamily.dispatchType, subject: nil, stored: Array("\(id)".utf8), at: .now) { body }
    }

    /// What a replay says.
    static func payload(_ db: Database, _ row: StreamRow, _ store: SOSStore) throws -> [UInt8]? {
        guard let id = MessageID(String(decoding: row.body, as: UTF8.self)) else { return nil }
        return try store.dispatchPayload(db, id)
    }
}
