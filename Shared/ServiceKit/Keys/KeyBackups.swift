// Copies of the keys database: two, in turn. More would keep keys alive that somebody has asked to be destroyed.

import Contracts
package import Foundation
import Storage
import Synchronization

/// Where a service keeps the copies of its `<service>-keys.db`. The copies hold wrapped keys alone: without the key-encryption key
/// they open nothing.
package struct KeyBackups: Sendable {
    /// As many as lie there at most.
    package static let copies = 2
    /// How often the older one is replaced, where something has changed.
    static let interval = Duration.seconds(900)

    package let folder: URL
    let name: String

    /// - Parameter name: of the copies: `<name>.1.db` and `<name>.2.db`.
    package init(folder: URL, name: String) {
        (self.folder, self.name) = (folder, name)
    }

    /// In the order of their numbers, whether or not they are there.
    package var files: [URL] {
        (1...Self.copies).map { folder.appendingPathComponent("\(name).\($0).db") }
    }

    /// The one that is missing, else the one that is older.
    var next: URL {
        func age(_ file: URL) -> Date {
            (try? FileManager.default.attributesOfItem(atPath: file.path))?[.modificationDate] as? Date ?? .distantPast
        }
        return files.min { age($0) < age($1) } ?? files[0]
    }
}

/// The copies of one keys database, which may be missing, or be what an operator has put there.
final class KeyCopies: Sendable {
    /// A key of a copy that opens, and the damaged one in whose place new copies hold it.
    struct Kept: Sendable {
        let person: PersonID
        let whole: WrappedKeys.Living
        let damaged: WrappedKeys.Living
    }

    private let store: Store
    private let files: [URL]
    private let table = WrappedKeys()
    private let last = Mutex<Task<Void, any Error>?>(nil)

    init(of store: Store, in files: [URL]) {
        (self.store, self.files) = (store, files)
    }

    private var present: [URL] { files.filter { FileManager.default.fileExists(atPath: $0.path) } }

    /// What each copy that is there holds of the person; a failure where it cannot be read now.
    func living(of person: PersonID) -> [Result<WrappedKeys.Living?, any Error>] {
        present.map { file in Result { try Store.readCopy(file) { db in try table.living(db, of: person) } } }
    }

    /// Whose key these bytes are by the copies that can be read.
    func people(with wrapped: [UInt8]) -> [PersonID] {
        present.flatMap { file -> [PersonID] in
            let keys = try? Store.readCopy(file) { db in try table.living(db) { $0.wrapped == wrapped } }
            return (keys ?? []).compactMap(\.person)
        }
    }

    /// One after the other: a copy that was begun before a key was destroyed must not come to lie over one that was begun after.
    func write(to file: URL, keeping kept: [Kept] = []) async throws {
        let copying = last.withLock { last in
            let copying = Task { [store, table, last] in
                _ = await last?.result
                guard !kept.isEmpty else { return try await store.copy(to: file) }
                try await store.copy(to: file) { db in
                    // Nothing where the key was destroyed since it was found damaged.
                    for key in kept {
                        _ = try table.restore(
                            db, of: key.person, wrapped: key.whole.wrapped, madeAt: key.whole.madeAt, inPlaceOf: key.damaged.wrapped)
                    }
                }
            }
            last = copying
            return copying
        }
        try await copying.value
    }
}
