// SQL sentences about alerted people, as the SOS dispatcher publishes them; kept through restarts.

import Contracts
import Foundation
import GRDB
import Logging
import ServiceKit
import Storage

struct AlertStore: Sendable {
    static func create(in db: Database) throws {
        try db.execute(
            sql: """
                CREATE TABLE alerted_people (
                    person BLOB PRIMARY KEY,
                    rate REAL NOT NULL
                ) STRICT, WITHOUT ROWID;
                """)
    }

    func all(_ db: Database) throws -> [PersonID: Double] {
        let rows = try Row.fetchAll(db, sql: "SELECT person, rate FROM alerted_people")
        return Dictionary(rows.compactMap { row in row.value(0, as: PersonID.self).map { ($0, row[1]) } }) { $1 }
    }

    /// A fact without a rate ends the alert.
    func apply(_ db: Database, _ changed: EmergencyChanged) throws {
        let person = changed.person
        guard let rate = changed.measurementsPerSecond else {
            return try db.execute(sql: "DELETE FROM alerted_people WHERE person = ?", arguments: [person])
        }
        try db.execute(sql: "INSERT OR REPLACE INTO alerted_people (person, rate) VALUES (?, ?)", arguments: [person, rate])
    }
}

/// Follows `sos.emergencies`: store first, then memory, then whoever listens.
struct AlertFollower: Sendable {
    let alerted: AlertedPeople
    let registry: DeviceRegistry
    let logger: Logger
    private let table = AlertStore()

    init(alerted: AlertedPeople, registry: DeviceRegistry, logger: Logger) {
        (self.alerted, self.registry, self.logger) = (alerted, registry, logger)
    }

    /// Begins with what the store knows.
    func follower(on runtime: Runtime, store: Store) async throws -> Follower {
        alerted.takeOver(try await store.read { [table] db in try table.all(db) })
        return Follower(family: .emergencies, on: runtime, store: store) { [table] db, event in
            guard let changed = try event.fact(EmergencyChanged.self, type: EmergencyChanged.type) else { return }
            try table.apply(db, changed)
        } after: { events in
            for event in events {
                guard let changed = try? event.fact(EmergencyChanged.self, type: EmergencyChanged.type) else { continue }
                note(changed)
            }
        }
    }

    /// SOS-11: a device that cannot measure as often as an alert asks is used at its highest rate, and that is logged.
    private func note(_ changed: EmergencyChanged) {
        let before = alerted.rate(of: changed.person)
        alerted.set(changed.measurementsPerSecond, of: changed.person)
        guard let rate = changed.measurementsPerSecond, before == nil else { return }
        for device in registry.household(of: changed.person)?.active ?? [] {
            let highest = AskedRate.capped(rate, fastest: device.condition.fastestIntervalMs)
            guard highest < rate else { continue }
            logger.notice(
                "a device measures less often than an alert asks",
                metadata: ["device": "\(device.device)", "asked": "\(rate)", "highest": "\(highest)"])
        }
    }
}
