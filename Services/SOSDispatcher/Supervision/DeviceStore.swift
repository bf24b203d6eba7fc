// SQL sentences about what ingest says of people: their devices, and whether all monitoring is paused.

import Contracts
import Foundation
import GRDB
import ServiceKit
import Storage

/// Follows `ingest.devices`: store first, then whoever watches.
struct DeviceStore: Sendable {
    let store: SOSStore
    let supervision: SupervisionService

    func follower(on runtime: Runtime) -> Follower {
        Follower(
            family: .devices, on: runtime, store: store.store,
            apply: { db, event in _ = try apply(db, event) },
            snapshot: SnapshotRules { db, event in
                try apply(db, event)
            } known: { db, _, after, limit in
                try known(db, after: after, limit: limit)
            } forget: { db, key in
                try forget(db, key)
            },
            after: { events in
                let facts = events.compactMap(DeviceFact.init)
                for case .pause(let pause) in facts { await supervision.monitoring(pause) }
                let people = facts.compactMap { fact -> PersonID? in if case .device(let device) = fact { device.person } else { nil } }
                await supervision.devicesChanged(of: Set(people))
            })
    }

    /// - Returns: what the fact is about: a device or a person.
    private func apply(_ db: Database, _ event: StreamEvent) throws -> [UInt8]? {
        // It may come later than the order to erase the person.
        guard let fact = DeviceFact(event), try !store.keys.isDestroyed(fact.person) else { return nil }
        switch fact {
        case .device(let device):
            try note(db, device)
            return device.device.bytes
        case .pause(let pause):
            try db.cachedStatement(
                sql: pause.paused
                    ? "INSERT OR IGNORE INTO monitoring_pauses (person) VALUES (?)" : "DELETE FROM monitoring_pauses WHERE person = ?"
            ).execute(arguments: [pause.person.data])
            return pause.person.bytes
        }
    }

    private func note(_ db: Database, _ device: DeviceState) throws {
        guard device.active else {
            return try db.cachedStatement(sql: "DELETE FROM devices WHERE device = ?").execute(arguments: [device.device.data])
        }
        try db.cachedStatement(
            sql: "INSERT OR REPLACE INTO devices (device, person, interval_ms, charging, vital) VALUES (?, ?, ?, ?, ?)"
        ).execute(arguments: [
            device.device.data, device.person.data, device.intervalMs, device.charging ?? false, device.vital ?? true,
        ])
    }

    private func known(_ db: Database, after: [UInt8], limit: Int) throws -> [[UInt8]] {
        try Data.fetchAll(
            db.cachedStatement(
                sql: """
                    SELECT device AS known FROM devices WHERE device > :after
                    UNION SELECT person FROM monitoring_pauses WHERE person > :after ORDER BY known LIMIT :limit
                    """), arguments: ["after": Data(after), "limit": limit]
        ).map { Array($0) }
    }

    /// A whole snapshot has neither such a device nor such a pause.
    private func forget(_ db: Database, _ key: [UInt8]) throws -> SnapshotRules.Effect? {
        let owner = try Data.fetchOne(
            db.cachedStatement(sql: "SELECT person FROM devices WHERE device = ?"), arguments: [Data(key)]
        ).flatMap { PersonID($0) }
        if let owner {
            try db.cachedStatement(sql: "DELETE FROM devices WHERE device = ?").execute(arguments: [Data(key)])
            return { [supervision] in await supervision.devicesChanged(of: [owner]) }
        }
        try db.cachedStatement(sql: "DELETE FROM monitoring_pauses WHERE person = ?").execute(arguments: [Data(key)])
        guard db.changesCount > 0, let person = PersonID(bytes: key) else { return nil }
        return { [supervision] in await supervision.monitoring(MonitoringState(person: person, paused: false)) }
    }
}

/// A fact of `ingest.devices`. What cannot be read is skipped: an unknown interval only makes silence shorter.
private enum DeviceFact {
    case device(DeviceState)
    case pause(MonitoringState)

    init?(_ event: StreamEvent) {
        switch event.header.type {
        case DeviceState.type:
            guard let state = try? JSONDecoder().decode(DeviceState.self, from: Data(event.payload)) else { return nil }
            self = .device(state)
        case MonitoringState.type:
            guard let state = try? JSONDecoder().decode(MonitoringState.self, from: Data(event.payload)) else { return nil }
            self = .pause(state)
        default: return nil
        }
    }

    var person: PersonID {
        switch self {
        case .device(let device): device.person
        case .pause(let pause): pause.person
        }
    }
}
