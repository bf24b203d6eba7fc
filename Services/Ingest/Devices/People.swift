// People as ingest meets them: by their own log-in, by what consent publishes of them, by what they bring without a device.

import Bus
import Contracts
import Sealing
import ServiceKit
import Storage

/// Sources of entries that are no devices; each person has at most one of each.
enum OwnSource: String, CaseIterable, Sendable {
    case manual
    case imported

    fileprivate var origin: DeviceOrigin { self == .manual ? .manual : .imported }
}

struct People: Sendable {
    let store: Store
    let vault: ChunkVault
    let registry: DeviceRegistry
    let households: HouseholdRepository
    private let table = DeviceStore()

    init(store: Store, vault: ChunkVault, registry: DeviceRegistry, households: HouseholdRepository) {
        (self.store, self.vault, self.registry, self.households) = (store, vault, registry, households)
    }

    /// The person's number; where ingest has met them for the first time, their key and row are made.
    /// - Throws: `KeyDestroyed` where the person was erased.
    func number(of person: PersonID) async throws -> Int64 {
        if let known = registry.number(of: person) { return known }
        _ = try await vault.keys.makeKey(for: person)
        return try await households.change({ [table] db in try table.addPerson(db, person, enrolled: false, at: .now) }) {
            _, household in household.number
        }
    }

    /// Whose own entries may be read.
    /// - Throws: `KeyDestroyed`.
    func reader(of person: PersonID) async throws -> Reader {
        Reader(person: person, number: try await number(of: person))
    }

    /// The source under which entries without a device are stored (ING-03): nobody has a token for it, and it is in no list.
    /// - Throws: `KeyDestroyed`.
    func ownSource(of person: PersonID, _ source: OwnSource) async throws -> KnownDevice {
        let number = try await number(of: person)
        if let row = row(source, of: person), let known = registry.device(number: row.number) { return known }
        let device = DeviceID.random()
        let key = try vault.key(of: person)
        let new = NewDevice(
            device: device, tokenLookup: Random.bytes(LookupKey.length),
            name: try vault.seal(text: [], at: "devices.name \(device)", of: person, key: key), kind: .manual, origin: source.origin)
        try await households.change(number) { [table] db, household in
            guard !household.devices.contains(where: { $0.origin == source.origin }) else { return }
            try table.add(db, new, of: household.number, at: .now)
        }
        guard let row = row(source, of: person), let known = registry.device(number: row.number) else { throw KeyDestroyed() }
        return known
    }

    private func row(_ source: OwnSource, of person: PersonID) -> DeviceRow? {
        registry.household(of: person)?.devices.first { $0.origin == source.origin }
    }

    // MARK: What consent publishes

    /// Follows the accounts: only who is known and active may have entries taken (ING-10), and only who shares anonymously is told of for
    /// group data.
    func follower(on runtime: Runtime, sharing: CohortPeopleStore) -> Follower {
        let accounts = KnownAccountStore()
        let keys = vault.keys
        let states: @Sendable ([StreamEvent]) -> [PersonState] = { events in
            events.compactMap { try? $0.fact(PersonState.self, type: PersonState.type) }
        }
        return Follower(
            family: .people, on: runtime, store: store,
            apply: { db, event in
                try accounts.apply(db, event, keys)
                try sharing.apply(db, event, keys)
            },
            // No account is forgotten that is not in a snapshot: one that ends is published and erased by itself, and a consent that was
            // restored from a copy does not know who has registered since. Their entries are still taken, and their hearts watched. But
            // nobody shares anything who is not said to.
            snapshot: SnapshotRules { db, event in
                try accounts.apply(db, event, keys)
                return try sharing.apply(db, event, keys)
            } known: { db, _, after, limit in
                try sharing.known(db, after: after, limit: limit)
            } forget: { db, key in
                if let person = PersonID(bytes: key) { _ = try CohortPeopleStore.delete(db, person) }
                return nil
            },
            after: { [registry] events in registry.takeOver(states(events)) })
    }
}
