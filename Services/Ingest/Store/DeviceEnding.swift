// The end of a device within a transaction: its row, its place in memory, and the fact that everybody hears.

import Contracts
import GRDB
import ServiceKit

struct DeviceEnding: Sendable {
    let registry: DeviceRegistry
    let news: DeviceNews
    private let table = DeviceTable()

    init(registry: DeviceRegistry, news: DeviceNews) {
        (self.registry, self.news) = (registry, news)
    }

    /// Ends the device; nothing happens where it has ended already. Uploads behind this in the writer's queue find it ended.
    func end(_ db: Database, _ device: DeviceID, _ facts: inout [EventRelay.Committed], at now: Timestamp, trace: String) throws {
        guard try table.revoke(db, device, at: now), let row = try table.device(db, device) else { return }
        facts.append(try news.append(db, row, at: now, trace: trace))
        registry.end(row.number)
    }
}
