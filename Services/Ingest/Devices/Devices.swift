// Adding and removing devices, and telling everybody who follows.

import Bus
import Contracts
import Foundation
import Logging
import Sealing
import ServiceKit
import Storage

/// The one place where devices change (ING-10, ING-20): the store first, then memory, then the stream `ingest.devices`.
struct Devices: Sendable {
    /// Active devices that one person may have.
    static let perPerson = 100
    static let longestName = 64
    static let intervals: ClosedRange<Int64> = 10...86_400_000

    let store: Store
    let vault: ChunkVault
    let registry: DeviceRegistry
    let relay: EventRelay
    let answers: StoredAnswers
    let news: DeviceNews
    let logger: Logger
    private let table = DeviceTable()

    init(
        store: Store, vault: ChunkVault, registry: DeviceRegistry, relay: EventRelay, answers: StoredAnswers, news: DeviceNews,
        logger: Logger
    ) {
        (self.store, self.vault, self.registry, self.relay) = (store, vault, registry, relay)
        (self.answers, self.news, self.logger) = (answers, news, logger)
    }

    // MARK: Adding

    /// The person's key is durable before the first row that uses it.
    func add(_ request: AddDevice, _ asked: RequestContext) async throws -> AddDevice.Reply {
        try Self.check(request)
        let person = request.person ?? .random()
        if let known = request.person { try await requireKnown(known) }
        let key: SymmetricKey
        do {
            key = try await vault.keys.makeKey(for: person)
        } catch is PersonErased {
            throw Failure(.notFound, "there is no such person")
        }
        let reply = AddDevice.Reply(person: person, device: .random(), token: "tmd_" + Base64URL.encode(Random.bytes(32)))
        let lookup = registry.tokenLookup(reply.token)
        let name = try vault.seal(text: Array(request.name.utf8), at: "devices.name \(reply.device)", of: person, key: key)
        let now = Timestamp.now
        let (row, event) = try await store.write { [table, answers, news] db in
            let number = try table.addPerson(db, person, at: now)
            guard try table.countActive(db, of: number) < Self.perPerson else {
                throw Failure(.conflict, "a person has at most \(Self.perPerson) active devices; revoke one first")
            }
            _ = try table.addDevice(
                db, reply.device, of: number, tokenLookup: lookup, name: name, intervalMs: request.intervalMs, at: now)
            guard let row = try table.device(db, reply.device) else { throw Failure(.internal, "the device was not stored") }
            let event = try news.append(db, row, at: now, trace: asked.trace)
            try answers.remember(reply, to: asked, in: db)
            return (row, event)
        }
        registry.update(row)
        relay.committed(event)
        logger.notice("a device was added", metadata: ["device": "\(reply.device)", "trace": "\(asked.trace)"])
        return reply
    }

    private static func check(_ request: AddDevice) throws(Failure) {
        guard request.name.count <= longestName else {
            throw Failure(.invalid, "a device's name has at most \(longestName) characters")
        }
        if let interval = request.intervalMs, !intervals.contains(interval) {
            throw Failure(.invalid, "intervalMs is within \(intervals.lowerBound)...\(intervals.upperBound)")
        }
    }

    private func requireKnown(_ person: PersonID) async throws {
        guard try await store.read({ [table] db in try table.personNumber(db, person) }) != nil else {
            throw Failure(.notFound, "there is no such person")
        }
    }

    // MARK: Revoking

    /// Revoking again is the same as once; what the device has delivered stays.
    func revoke(_ request: RevokeDevice, _ asked: RequestContext) async throws -> Nothing {
        let now = Timestamp.now
        let (row, event) = try await store.write { [table, answers, news] db in
            let changed = try table.revoke(db, request.device, at: now)
            guard let row = try table.device(db, request.device) else { throw Failure(.notFound, "there is no such device") }
            try answers.remember(Nothing(), to: asked, in: db)
            return (row, changed ? try news.append(db, row, at: now, trace: asked.trace) : nil)
        }
        registry.update(row)
        if let event { relay.committed(event) }
        logger.notice("a device was revoked", metadata: ["device": "\(request.device)", "trace": "\(asked.trace)"])
        return Nothing()
    }

    // MARK: Following

    /// The active devices, for a consumer that has not followed from the beginning.
    func snapshot(_ request: SnapshotStream) async throws -> SnapshotStream.Reply {
        guard request.stream == DeviceNews.stream else {
            throw Failure(.invalid, "\(request.stream) keeps no state; newcomers start at its head")
        }
        guard let after = Int64(request.after ?? "0") else { throw Failure(.invalid, "after is the next of the page before") }
        return try await store.read { [news] db in try news.snapshot(db, after: after) }
    }
}
