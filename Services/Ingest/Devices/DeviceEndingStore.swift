// The end of a device within a transaction: its row, what it was chosen for, its place in memory, and the facts that are published.

import Contracts
import GRDB
import ServiceKit

struct DeviceEndingStore: Sendable {
    let registry: DeviceRegistry
    let events: DeviceEventStore
    let outbox: MessageOutbox
    private let table = DeviceStore()

    init(registry: DeviceRegistry, events: DeviceEventStore, outbox: MessageOutbox) {
        (self.registry, self.events, self.outbox) = (registry, events, outbox)
    }

    /// Ends the device; nothing happens where it has ended already. Uploads behind this in the writer's queue find it ended.
    func end(_ db: Database, _ device: DeviceID, at now: Timestamp, trace: String) throws {
        guard let known = try table.device(db, device), let household = try table.household(db, of: known.personNumber),
            try table.revoke(db, device, at: now), let row = try table.device(db, device)
        else { return }
        try events.publish(db, row, at: now, trace: trace)
        try handOn(db, device, of: household, at: now, trace: trace)
        registry.end(row.number)
    }

    /// What the device delivered comes from the person's other ones; the person is notified of it (ACC-26).
    private func handOn(_ db: Database, _ device: DeviceID, of household: Household, at now: Timestamp, trace: String) throws {
        var plan = household.plan
        let moved = plan.removed(device)
        guard !moved.isEmpty else { return }
        try HouseholdRepository.keep(db, plan, of: household)
        for former in household.active where former.device != device {
            // A phone from which a vital sign comes from now on is watched as what measures it.
            guard let heir = try table.device(db, former.device), heir.mayDeliverVital != former.mayDeliverVital else { continue }
            try events.publish(db, heir, at: now, trace: trace)
        }
        let language = registry.language(of: household.person)
        let what = moved.map { language == .italian ? $0.definition.italian : $0.definition.english }.joined(separator: ", ")
        try outbox.enqueue(
            db,
            SendMessage(
                message: .random(), recipient: Recipient(person: household.person), channels: [.inbox, .push], template: .trackingMoved,
                language: language, values: ["what": what]))
    }
}
