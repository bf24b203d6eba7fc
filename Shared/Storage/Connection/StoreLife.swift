// Whether a store goes on from where it stood, or was restored from a copy: a file beside it remembers how far it had come.

package import Foundation
package import GRDB
import Glibc

/// A store that was restored knows nothing of what it said after the copy was made: whoever counts must begin a new count then. The store
/// holds a mark that changes every minute, at each start and at each end; the file `<store>.life`, which no backup takes, holds the same.
/// Where the file does not know the store's mark, or is gone, the store was restored. A copy that is younger than a minute, and is restored
/// after a crash, is not told from the store itself.
package struct StoreLife: Sendable {
    private static let interval = Duration.seconds(60)
    /// Stands in the file, beside the new mark, while the store may not have it yet; no mark is spelt like it.
    private static let beginning = "beginning"

    private let file: URL

    /// - Parameter store: the store's own file.
    package init(beside store: URL) {
        file = store.deletingPathExtension().appendingPathExtension("life")
    }

    /// For a migration. A store that existed before begins its life here.
    package static func create(in db: Database) throws {
        try db.execute(
            sql: """
                CREATE TABLE store_life (
                    one INTEGER PRIMARY KEY CHECK (one = 1),
                    mark TEXT NOT NULL
                ) STRICT;
                INSERT INTO store_life VALUES (1, '');
                """)
    }

    /// Whether the schema holds the mark.
    package static func isKept(in db: Database) throws -> Bool {
        try db.tableExists("store_life")
    }

    /// Call once, when the store is open and before it says anything.
    /// - Parameter restored: what a store that was restored has to begin anew; in one transaction with the new mark, so that it is done
    ///   once, whatever is killed when.
    /// - Returns: whether it was restored.
    package func begin(_ store: Store, restored: @escaping @Sendable (Database) throws -> Void) async throws -> Bool {
        let mark = try await store.write { db in try Self.mark(db) }
        let known = remembered()
        guard known.map({ !$0.contains(mark) }) ?? !mark.isEmpty else {
            // A disk that is full keeps nobody from starting: the mark that both know is as good for a while, and `run` tries again.
            try? await goOn(store)
            return false
        }
        let fresh = Self.fresh()
        try remember([fresh, Self.beginning])
        try await store.write { db in
            try restored(db)
            try Self.set(db, fresh)
        }
        // Where this fails the next mark takes the word away.
        try? remember([fresh])
        return true
    }

    /// Changes the mark. Between the two the file knows both, so that a crash is not taken for a restore.
    package func goOn(_ store: Store) async throws {
        let fresh = Self.fresh()
        // By a write, as a look would be cut short where the task is cancelled.
        try remember([try await store.write { db in try Self.mark(db) }, fresh])
        try await store.write { db in try Self.set(db, fresh) }
        try remember([fresh])
    }

    /// Runs until it is cancelled, and changes the mark once more then: the store must still be open. What cannot be written is tried again.
    package func run(_ store: Store) async throws {
        while !Task.isCancelled {
            // Sleeping is the interval of the mark.
            try? await Task.sleep(for: Self.interval)
            try? await goOn(store)
        }
        throw CancellationError()
    }

    /// Whether the file knows a mark that the store does not have, although a commit is over before the file knows its mark alone. Asked where
    /// the log is cut, and before anything writes: then the commit was lost with the end of the log.
    /// - Parameter store: path of the store, which stays as it is.
    func hasLostMark(of store: String) -> Bool {
        guard let known = remembered(), !known.contains(Self.beginning) else { return false }
        let mark = try? Store.readCopy(URL(fileURLWithPath: store)) { db -> String? in try Self.isKept(in: db) ? Self.mark(db) : nil }
        return mark.map { !known.contains($0) } ?? false
    }

    /// Whether the file is there. Without it nothing beside the store is known to be newer than the store.
    package var isRemembered: Bool { remembered() != nil }

    /// The store was restored with the file, as a snapshot of a volume does: without the file, the next start sees it.
    package func forget() {
        try? FileManager.default.removeItem(at: file)
        try? Store.flush(file.deletingLastPathComponent().path, narrowing: false)
    }

    // MARK: The store

    private static func mark(_ db: Database) throws -> String {
        try String.fetchOne(db, sql: "SELECT mark FROM store_life") ?? ""
    }

    private static func set(_ db: Database, _ mark: String) throws {
        try db.execute(sql: "INSERT OR REPLACE INTO store_life VALUES (1, ?)", arguments: [mark])
    }

    private static func fresh() -> String {
        String(UInt64.random(in: .min ... .max), radix: 16)
    }

    // MARK: The file

    /// Nil where there is none, or it cannot be read.
    private func remembered() -> [String]? {
        (try? Data(contentsOf: file)).flatMap { try? JSONDecoder().decode([String].self, from: $0) }
    }

    /// Durable when it returns.
    private func remember(_ marks: [String]) throws {
        let draft = file.appendingPathExtension("draft")
        try JSONEncoder().encode(marks).write(to: draft)
        try Store.flush(draft.path, narrowing: true)
        guard rename(draft.path, file.path) == 0 else { throw StoreError.unreachable(errno: errno) }
        try Store.flush(file.deletingLastPathComponent().path, narrowing: false)
    }
}
