// What people do with their devices: see them, name them, remove them (ACC-24, ACC-25).

import Bus
import Contracts
import Foundation
import HTTPKit
import Logging
import Sealing
import ServiceKit
import Storage

/// A person's own devices; every other device is not found.
struct DeviceService: Sendable {
    let store: Store
    let vault: ChunkVault
    let registry: DeviceRegistry
    let households: HouseholdRepository
    let people: People
    let ending: DeviceEndingStore
    let settings: IngestSettings
    let logger: Logger
    private let table = DeviceStore()

    init(
        store: Store, vault: ChunkVault, registry: DeviceRegistry, households: HouseholdRepository, people: People,
        ending: DeviceEndingStore,
        settings: IngestSettings, logger: Logger
    ) {
        (self.store, self.vault, self.registry, self.households, self.people) = (store, vault, registry, households, people)
        (self.ending, self.settings, self.logger) = (ending, settings, logger)
    }

    // MARK: Seeing

    /// Oldest first.
    func list(of person: PersonID, at now: Timestamp) async throws -> [DeviceItem] {
        let number = try await people.number(of: person)
        let key = try vault.key(of: person)
        let labels = try await store.read { [table] db in try table.labels(db, of: number) }
        guard let household = registry.household(of: person) else { return [] }
        let plan = household.plan
        return try household.active.compactMap { row in
            guard let label = labels[row.number] else { return nil }
            return try item(row, label, plan, of: person, key: key, at: now)
        }
    }

    func device(_ device: DeviceID, of person: PersonID, at now: Timestamp) async throws -> DeviceItem {
        guard let item = try await list(of: person, at: now).first(where: { $0.device == device }) else { throw Problem.notFound }
        return item
    }

    private func item(
        _ row: DeviceRow, _ labels: DeviceLabels, _ plan: TrackingPlan, of person: PersonID, key: SymmetricKey, at now: Timestamp
    ) throws -> DeviceItem {
        func open(_ sealed: [UInt8], at place: String) throws -> String {
            String(decoding: try vault.open(text: sealed, at: place, of: person, key: key), as: UTF8.self)
        }
        let admitted = plan.admitted(row.device)
        let pulse = registry.device(number: row.number)?.pulse
        return DeviceItem(
            device: row.device, name: try open(labels.name, at: Devices.place(ofNameOf: row.device)),
            model: try labels.model.map { try open($0, at: Devices.place(ofModelOf: row.device)) }, kind: row.kind,
            pairedByPerson: row.origin == .paired, addedAt: labels.addedAt.rfc3339, intervalMs: row.intervalMs,
            keyFingerprint: labels.publicKey.map(Self.fingerprint),
            parameters: row.measures.metrics.map { metric in
                let source = plan.source(of: metric)?.device
                return DeviceItem.Parameter(
                    code: metric.code, tracked: admitted?.contains(metric) ?? true, trackedFrom: source == row.device ? nil : source)
            },
            charging: row.condition.charging, worn: row.condition.worn, battery: row.condition.battery,
            lastHeardAt: pulse.flatMap { $0.hasBeenHeard ? $0.lastHeard.rfc3339 : nil },
            trouble: reported(row).trouble(at: now)?.rawValue)
    }

    /// The first 128 bits of the key's SHA-256, in groups of four digits, as the device may show it too.
    static func fingerprint(_ publicKey: [UInt8]) -> String {
        let digits = Hex.encode(Digest.sha256(publicKey).prefix(16))
        return stride(from: 0, to: digits.count, by: 4).map { String(digits.dropFirst($0).prefix(4)) }.joined(separator: " ")
    }

    func reported(_ row: DeviceRow) -> ReportedSource {
        registry.reported(row, undeclared: settings.undeclaredInterval)
    }

    // MARK: Changing
    // What is none of the person's is refused from memory, which knows of every commit: no turn in the queue of writes is spent on it.

    /// Gives it another name or kind; what is nil stays.
    func change(_ device: DeviceID, of person: PersonID, name: String?, kind: DeviceKind?) async throws {
        let number = try await people.number(of: person)
        if let household = registry.household(of: person), household.device(device) == nil { throw Problem.notFound }
        let sealed = try name.map {
            try vault.seal(text: Array($0.utf8), at: Devices.place(ofNameOf: device), of: person, key: vault.key(of: person))
        }
        try await households.change(number) { [table] db, household in
            guard household.device(device) != nil else { throw Problem.notFound }
            if let sealed { try table.rename(db, device, name: sealed) }
            if let kind { try table.setKind(db, device, kind) }
        }
    }

    /// From here on nothing of it is taken; its entries stay. Removing again is the same as once.
    func remove(_ device: DeviceID, of person: PersonID, trace: String) async throws {
        let number = try await people.number(of: person)
        if let household = registry.household(of: person), Self.removable(device, in: household) == nil { throw Problem.notFound }
        try await households.change(number) { [ending] db, household in
            guard let row = Self.removable(device, in: household) else { throw Problem.notFound }
            try ending.end(db, row.device, at: .now, trace: trace)
        }
        logger.notice("a device was removed by its person", metadata: ["device": "\(device)", "trace": "\(trace)"])
    }

    /// Removed ones too.
    private static func removable(_ device: DeviceID, in household: Household) -> DeviceRow? {
        household.devices.first { $0.device == device && $0.origin.isDevice }
    }
}
