// Deliveries as the tables hold them.

import Contracts
import GRDB
import Storage

extension Delivery {
    init(_ row: Row) {
        self.init(nextAt: row["next_at"], notAfter: row["not_after"])
        state = DeliveryState(rawValue: row["state"]) ?? .failed
        reason = row["reason"]
        attempts = row["attempts"]
        provider = row["provider"]
        movesOn = row["moves_on"]
        refusedBy = Set((row["refused_by"] as String).split(separator: " ").map(String.init))
        begunAt = row["begun_at"]
        isSettled = row["settled"]
    }
}

/// Which row a delivery is.
struct DeliveryID: Hashable, Sendable {
    var message: MessageID
    var channel: Channel
    /// Number of the push endpoint; 0 on other channels.
    var target: Int64 = 0

    init(_ message: MessageID, _ channel: Channel, target: Int64 = 0) {
        (self.message, self.channel, self.target) = (message, channel, target)
    }

    init?(_ row: Row) {
        guard let message: MessageID = row.value("message"), let channel = Channel(rawValue: row["channel"]) else { return nil }
        self.init(message, channel, target: row["target"])
    }
}
