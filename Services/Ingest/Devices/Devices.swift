// Adding and revoking devices for whoever runs the suite, and telling everybody who follows.

import Bus
import Contracts
import Foundation
import Logging
import Sealing
import ServiceKit
import Storage

/// What an operator asks about devices (ING-10, ING-20). People pair theirs by themselves: `Pairings`.
struct Devices: Sendable {
    /// Active devices that one person may have.
    static let perPerson = 100
    static let longestName = 64
    static let intervals: ClosedRange<Int64> = 10...86_400_000

    let store: Store
    let vault: ChunkVault
    let registry: DeviceRegistry
    let households: HouseholdRepository
    let answers: StoredAnswers
    let events: DeviceEventStore
    let logger: Logger
    private let table = DeviceStore()
    private let ending: DeviceEndingStore

    init(
        store: Store, vault: ChunkVault, registry: DeviceRegistry, households: HouseholdRepository, answers: StoredAnswers,
        events: DeviceEventStore,
        ending: DeviceEndingStore, logger: Logger
    ) {
        (self.store, self.vault, self.registry, self.households) = (store, vault, registry, households)
        (self.answers, self.events, self.ending, self.logger) = (answers, events, ending, logger)
    }

    /// Binds a sealed name to its device.
    static func place(ofNameOf device: DeviceID) -> String { "devices.name \(device)" }
    static func place(ofModelOf device: DeviceID) -> String { "devices.model \(device)" }

    // MARK: Adding

    /// The person's key is durable before the first row that uses it.
    func add(_ request: AddDevice, _ asked: RequestContext) async throws -> AddDevice.Reply {
        try Self.check(request)
        let person = request.person ?? .random()
        // The dispatchers name their synthetic subscribers themselves, so that both know them whatever store is put back.
        let isSynthetic = (asked.peer.deputyOf ?? asked.peer) == .sosDispatcher
        let key: SymmetricKey
        do {
            if let known = request.person, !isSynthetic { try requireKnown(known) }
            key = try await vault.keys.makeKey(for: person)
        } catch is KeyDestroyed {
            throw Failure(.notFound, "there is no such person")
        } catch let damaged as DamagedKey {
            throw damaged.failure
        }
        let token = DeviceToken.random(of: person)
        let reply = AddDevice.Reply(person: person, device: .random(), token: token.text)
        let now = Timestamp.now
        let new = NewDevice(
            device: reply.device, tokenLookup: registry.tokenLookup(token),
            name: try vault.seal(text: Array(request.name.utf8), at: Self.place(ofNameOf: reply.device), of: person, key: key),
            intervalMs: request.intervalMs)
        try await households.change({ [table] db in
            try table.addPerson(db, person, enrolled: true, at: now)
        }) { [table, answers, events] db, household in
            guard household.active.count < Self.perPerson else {
                throw Failure(.conflict, "a person has at most \(Self.perPerson) active devices; revoke one first")
            }
            try table.add(db, new, of: household.number, at: now)
            guard let row = try table.device(db, reply.device) else { throw Failure(.internal, "the device was not stored") }
            try events.publish(db, row, at: now, trace: asked.trace)
            try answers.remember(reply, to: asked, in: db)
        }
        logger.notice("a device was added", metadata: ["device": "\(reply.device)", "trace": "\(asked.trace)"])
        return reply
    }

    private static func check(_ request: AddDevice) throws(Failure) {
        guard request.name.count <= longestName else {
            throw Failure(.invalid, "a device's name has at most \(longestName) characters")
        }
        guard PlainText.isClean(request.name, ofOneLine: true) else {
            throw Failure(.invalid, "a device's name is one line: \(PlainText.advice)")
        }
        if let interval = request.intervalMs, !intervals.contains(interval) {
            throw Failure(.invalid, "intervalMs is within \(intervals.lowerBound)...\(intervals.upperBound)")
        }
    }

    /// By their key too: where the store alone was put back, whoever was made since the copy has one, and is supervised still.
    private func requireKnown(_ person: PersonID) throws {
        guard try registry.number(of: person) != nil || vault.keys.key(of: person) != nil else {
            throw Failure(.notFound, "there is no such person")
        }
    }

    // MARK: Revoking

    /// Revoking again is the same as once; what the device has delivered stays.
    func revoke(_ request: RevokeDevice, _ asked: RequestContext) async throws -> Nothing {
        let now = Timestamp.now
        try await households.change({ [table] db in
            guard let row = try table.device(db, request.device), row.origin.isDevice else {
                throw Failure(.notFound, "there is no such device")
            }
            return row.personNumber
        }) { [answers, ending] db, _ in
            try answers.remember(Nothing(), to: asked, in: db)
            try ending.end(db, request.device, at: now, trace: asked.trace)
        }
        logger.notice("a device was revoked", metadata: ["device": "\(request.device)", "trace": "\(asked.trace)"])
        return Nothing()
    }

    // MARK: Following

    /// The active devices, for a consumer that has not followed from the beginning.
    func snapshot(_ request: SnapshotStream) async throws -> SnapshotStream.Reply {
        guard request.stream == DeviceEventStore.stream else {
            throw Failure(.invalid, "\(request.stream) keeps no state; newcomers start at its head")
        }
        return try await store.read { [events] db in try events.snapshot(db, request) }
    }
}
