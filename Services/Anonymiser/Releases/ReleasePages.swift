// The entries of a release, page by page, to the organisation whose request it was.

import Contracts
import Storage

/// Where a page begins: `table.entry`, both from 0.
struct PageCursor: Hashable, Sendable, CustomStringConvertible {
    /// No release has more of either.
    private static let bounds = 0...1 << 30
    static let first = "0.0"

    let table: Int
    let entry: Int

    init(table: Int, entry: Int) {
        (self.table, self.entry) = (table, entry)
    }

    /// Nil for what is no cursor.
    init?(_ text: String) {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 2, let table = Int(parts[0]), let entry = Int(parts[1]), Self.bounds.contains(table),
            Self.bounds.contains(entry)
        else { return nil }
        self.init(table: table, entry: entry)
    }

    var description: String { "\(table).\(entry)" }
}

struct ReleasePages: Sendable {
    /// Tables that are opened for one page: of statistics some may be empty.
    static let mostTables = 256
    /// Of a page's entries, as JSON.
    private static let bytes = (1 << 20) - 4096

    let store: Store
    let requests: GroupRequestStore
    let tables: GroupTableStore
    let subscriptions: GroupSubscriptionStore

    /// - Throws: `not-found` for what is not released to this organisation, `invalid` for a bad cursor or limit.
    func page(_ asked: ReadGroupRelease) async throws -> ReadGroupRelease.Reply {
        guard (0...ReadGroupRelease.mostEntries).contains(asked.limit) else {
            throw Failure(.invalid, "limit: 0 to \(ReadGroupRelease.mostEntries)")
        }
        guard let start = PageCursor(asked.after ?? PageCursor.first) else {
            throw Failure(.invalid, "after: the `next` of the page before")
        }
        return try await store.read { [self] db in
            let digests = try requests.tables(db, for: asked, subscriptions)
            guard asked.limit > 0 else { return .init(entries: [], next: nil) }
            return try page(limit: asked.limit, from: start) { place in
                guard let digest = try digests(place) else { return nil }
                guard let table = try tables.table(db, digest), let view = try tables.view(db, digest, of: asked.organisation) else {
                    throw DamagedRelease(table: "group_tables")
                }
                return view.entries(table)
            }
        }
    }

    /// - Parameter entries: of the table at a place; nil beyond the last one.
    private func page(
        limit: Int, from start: PageCursor, _ entries: (Int) throws -> [GroupEntry]?
    ) throws -> ReadGroupRelease.Reply {
        var page: [GroupEntry] = []
        var room = Self.bytes
        for place in start.table..<start.table + Self.mostTables {
            guard let found = try entries(place) else { return .init(entries: page, next: nil) }
            let first = place == start.table ? start.entry : 0
            for index in found.indices.dropFirst(first) {
                room -= found[index].mostBytes
                if page.count == limit || room < 0 {
                    return .init(entries: page, next: PageCursor(table: place, entry: index).description)
                }
                page.append(found[index])
            }
        }
        return .init(entries: page, next: PageCursor(table: start.table + Self.mostTables, entry: 0).description)
    }
}

extension GroupEntry {
    /// No less than it takes as JSON. Labels are codes of the catalogue, of which none needs an escape of more than six bytes a character.
    fileprivate var mostBytes: Int {
        let texts = classes.reduce(0) { $0 + 6 * ($1.key.utf8.count + $1.value.utf8.count) + 8 } + 6 * (place?.utf8.count ?? 0)
        return 384 + texts + 24 * (values.count + (valueErrors?.count ?? 0))
    }
}
