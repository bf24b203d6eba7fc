// Reading under grants between a real store of ingest and a consent that only says grants.

import Bus
import Contracts
import Foundation
import GRDB
import Sealing
import ServiceKit
import Storage
import Synchronization
import TestKit

@testable import Ingest

extension FactSpeaker {
    func say(_ state: GrantState) async throws {
        try await say(state, type: GrantState.type, of: state.person)
    }
}

final class GrantedHarness: Sendable {
    let store: Store
    let keys: PersonKeys
    let vault: ChunkVault
    let parts: GrantedModule
    let consent: FactSpeaker
    let gateway: BusClient
    let runtime: Runtime
    private let harness: Harness
    private let nextChunk = Mutex<Int64>(0)

    private init(_ folder: URL) async throws {
        let harness = Harness(folder)
        let ingest = try harness.runtime(.ingest)
        if (try? ingest.keys.publicPeer(.thirdPartyGateway)) == nil {
            try ingest.keys.makeBusKeys(KeyFiles.PublicPeer(peer: .thirdPartyGateway, key: "", hear: [], ask: ["read-samples"]))
        }
        let (said, asked) = (try harness.runtime(.consent), try harness.runtime(.thirdPartyGateway))
        for one in [ingest, said] { one.admitPeers() }
        consent = try await FactSpeaker(.grants, said, folder)
        store = try ingest.openStore(applicationID: IngestSchema.applicationID, migrations: IngestSchema.migrations)
        keys = try ingest.openPersonKeys()
        vault = ChunkVault(
            keys: keys, chunks: try await store.read { db in try ChunkStore(db) }, damage: DamagedChunks(logger: ingest.logger))
        let (relay, epoch) = try await ingest.relay(of: .accesses, in: store)
        parts = GrantedModule(store: store, vault: vault, epoch: epoch, relay: relay, on: ingest)
        var methods = Methods()
        parts.reading.register(in: &methods)
        try await ingest.answer(methods)
        gateway = try await asked.client(of: .ingest)
        (self.harness, runtime) = (harness, ingest)
        harness.run { [follower = parts.follower] in try await follower.run() }
    }

    private func stop() async {
        await harness.stop()
        await consent.close()
        await store.close()
        await keys.close()
    }

    static func run<Value>(_ body: (GrantedHarness) async throws -> Value) async throws -> Value {
        try await withTemporaryFolder { folder in
            try await withHarness(GrantedHarness(folder), body) { await $0.stop() }
        }
    }

    // MARK: What there is to read

    /// Somebody whose entries are stored as one upload each would store them.
    func addPerson(_ uploads: [[Sample]]) async throws -> PersonID {
        let person = PersonID.random()
        let key = try await keys.makeKey(for: person)
        let (number, device) = try await store.write { db -> (Int64, Int64) in
            let number = try DeviceStore().addPerson(db, person, enrolled: true, at: .now)
            try db.execute(
                sql: "INSERT INTO devices (device, person, token_lookup, name, added_at) VALUES (?, ?, ?, x'00', 0)",
                arguments: [Data(DeviceID.random().bytes), number, Data(Random.bytes(16))])
            return (number, db.lastInsertedRowID)
        }
        for upload in uploads { try await add(upload, of: person, number, device, key) }
        return person
    }

    private func add(_ samples: [Sample], of person: PersonID, _ number: Int64, _ device: Int64, _ key: SymmetricKey) async throws {
        for (metric, group) in Dictionary(grouping: samples, by: \.type) {
            let sorted = group.sorted { $0.at < $1.at }
            guard let outline = ChunkOutline(of: sorted) else { continue }
            let series = Series(person: number, metric: metric)
            let chunk = try vault.seal(sorted, outline: outline, series: series, of: person, device: device, key: key)
            let id = nextChunk.withLock { last in
                last += 1
                return last
            }
            try await store.write { [vault] db in
                try vault.chunks.insert(db, chunk, id: id, sequence: 0)
                for day in Set(sorted.map { UTCDay.number(of: $0.at.milliseconds) }) {
                    _ = try vault.days.touch(db, DayKey(series: series, day: day))
                }
            }
        }
    }

    // MARK: Granting and reading

    static func grant(
        to person: PersonID, types: [Metric] = [.heartRate], _ window: Range<Int64>, _ granularity: GrantGranularity = .seconds
    ) -> GrantState {
        GrantState(
            grant: .random(), request: .random(), person: person, organisation: .random(), types: types,
            from: Timestamp(milliseconds: window.lowerBound), to: Timestamp(milliseconds: window.upperBound), granularity: granularity,
            active: true, version: 1)
    }

    /// Says the grant and waits until ingest reads by it.
    func saying(_ state: GrantState) async throws -> GrantState {
        try await consent.say(state)
        try await eventually("ingest knows the grant") { [self] in
            let known = try await store.read { db in try GrantProjection().find(db, state.grant) }
            return known == state && parts.follower.silentFor < .seconds(1)
        }
        return state
    }

    func read(
        _ grant: GrantState, type: Metric = .heartRate, _ period: Range<Int64>? = nil, after: String? = nil, limit: Int = 10_000
    ) async throws -> ReadSamples.Reply {
        try await gateway.ask(
            ReadSamples(
                grant: grant.grant, organisation: grant.organisation, type: type,
                from: period.map { Timestamp(milliseconds: $0.lowerBound) } ?? grant.from,
                to: period.map { Timestamp(milliseconds: $0.upperBound) } ?? grant.to, after: after, limit: limit),
            deadline: .seconds(10), attempts: 1)
    }

    /// All pages.
    func readAll(_ grant: GrantState, type: Metric = .heartRate, limit: Int) async throws -> [Sample] {
        var samples: [Sample] = []
        var after: String?
        repeat {
            let page = try await read(grant, type: type, after: after, limit: limit)
            samples += page.samples
            after = page.next
        } while after != nil
        return samples
    }

    func refusal(_ grant: GrantState, type: Metric = .heartRate, _ period: Range<Int64>? = nil) async -> Failure.Code? {
        await failure { _ = try await read(grant, type: type, period) }?.code
    }

    /// Everything that was written down of reads, oldest first.
    func accesses() async throws -> [(person: PersonID?, read: DataRead)] {
        try await store.read { db in
            try StreamLog().rows(db, StreamFamily.accesses.streams[0], from: 1, limit: 10_000).map {
                ($0.subject, try JSONDecoder().decode(DataRead.self, from: Data($0.body)))
            }
        }
    }
}

extension ReadSamples.Reply {
    var samples: [Sample] { columns.samples }
}
