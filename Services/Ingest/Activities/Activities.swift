// Workouts and runs (ING-18): what was sent of them is stored, their figures are computed from the entries measured meanwhile.

import Contracts
import Foundation
import ServiceKit
import Storage

/// One activity, opened.
struct KnownActivity: Sendable {
    let activity: ActivityID
    let kind: String
    let name: String?
    let start: Timestamp
    let end: Timestamp
    let source: EntrySource
    /// Where a list goes on after it.
    let cursor: String
}

struct Activities: Sendable {
    static let onDashboard = 5
    /// Samples that one read of the store gives.
    private static let block = 5000

    let store: Store
    let vault: ChunkVault
    let registry: DeviceRegistry
    private let table = ActivityStore()

    init(store: Store, vault: ChunkVault, registry: DeviceRegistry) {
        (self.store, self.vault, self.registry) = (store, vault, registry)
    }

    /// What is sealed of an activity.
    private struct Body: Codable {
        var kind: String
        var name: String?
    }

    private static func place(_ activity: ActivityID) -> String { "activities \(activity)" }

    enum Creation: Sendable {
        case created(KnownActivity)
        /// The person has one with exactly these times and the same kind and name.
        case known(KnownActivity)
        /// The person has another one with exactly these times.
        case contradicted
        case tooMany
    }

    // MARK: Changing

    /// An activity is known by its times, so that sending it again is no second one.
    /// - Parameter device: that sent it; nil where the person did.
    func create(_ draft: ActivityDraft, of reader: Reader, device: Int64?) async throws -> Creation {
        let key = try vault.key(of: reader.person)
        let id = ActivityID.random()
        let text = try JSONEncoder().encode(Body(kind: draft.kind, name: draft.name))
        let body = try vault.seal(text: Array(text), at: Self.place(id), of: reader.person, key: key)
        let (found, isFull) = try await store.write { [table] db in
            if let known = try table.find(db, of: reader.number, draft.start, draft.end) { return (Optional(known), false) }
            guard try table.count(db, of: reader.number) < ActivityStore.perPerson else { return (nil, true) }
            try table.add(db, id, of: reader.number, draft.start, draft.end, device: device, body: body)
            return (nil, false)
        }
        if isFull { return .tooMany }
        guard let found else {
            guard let row = try await row(id, of: reader) else { return .contradicted }
            return .created(try open(row, reader))
        }
        let known = try open(found, reader)
        return known.kind == draft.kind && known.name == draft.name ? .known(known) : .contradicted
    }

    /// False where there is none. What was measured meanwhile stays.
    func delete(_ activity: ActivityID, of reader: Reader) async throws -> Bool {
        try await store.write { [table] db in try table.delete(db, of: reader.number, activity) }
    }

    // MARK: Reading

    private func row(_ activity: ActivityID, of reader: Reader) async throws -> ActivityRow? {
        try await store.readBriefly { [table] db in try table.find(db, of: reader.number, activity) }
    }

    private func open(_ row: ActivityRow, _ reader: Reader) throws -> KnownActivity {
        let text = try vault.open(
            text: row.body, at: Self.place(row.activity), of: reader.person, key: vault.key(of: reader.person))
        let body = try JSONDecoder().decode(Body.self, from: Data(text))
        return KnownActivity(
            activity: row.activity, kind: body.kind, name: body.name, start: row.start, end: row.end,
            source: row.device.map { registry.source(number: $0) } ?? .manual, cursor: "\(row.start.milliseconds).\(row.number)")
    }

    /// The latest first.
    func list(of reader: Reader, after cursor: String?, limit: Int) async throws -> (items: [KnownActivity], next: String?) {
        let parts = (cursor ?? "").split(separator: ".").compactMap { Int64($0) }
        let before = parts.count == 2 ? (start: parts[0], number: parts[1]) : nil
        let rows = try await store.read { [table] db in
            try table.list(db, of: reader.number, before: before, limit: limit + 1)
        }
        let items = try rows.prefix(limit).map { try open($0, reader) }
        return (items, rows.count > limit ? items.last?.cursor : nil)
    }

    /// The activity with the figures of the entries measured during it; nil where there is none.
    func find(_ activity: ActivityID, of reader: Reader) async throws -> (activity: KnownActivity, figures: ActivityFigures)? {
        guard let row = try await row(activity, of: reader) else { return nil }
        let figures = try await figures(
            of: ActivityFigures.metrics, in: row.start.milliseconds..<row.end.milliseconds + 1, of: reader)
        return (try open(row, reader), figures)
    }

    /// Of the entries in a period, a block at a time.
    func figures(of metrics: [Metric], in range: Range<Int64>, of reader: Reader) async throws -> ActivityFigures {
        let readStore = ReadStore(
            vault: vault, person: reader.person, number: reader.number, key: try vault.key(of: reader.person), damaged: reader.damaged)
        var figures = ActivityFigures()
        for metric in metrics {
            var from = range.lowerBound
            while from < range.upperBound {
                let rest = from..<range.upperBound
                let block = try await store.read { db in try readStore.page(db, metric, in: rest, limit: Self.block) }
                for stored in block { figures.add(stored.sample) }
                guard block.count == Self.block, let last = block.last else { break }
                from = last.sample.at.milliseconds + 1
            }
        }
        return figures
    }
}

extension DeviceRegistry {
    /// Where entries under this number came from.
    func source(number: Int64) -> EntrySource {
        guard let known = device(number: number) else { return .unknown }
        return switch known.origin {
        case .enrolled, .paired: .device(known.device)
        case .manual: .manual
        case .imported: .imported
        }
    }
}
