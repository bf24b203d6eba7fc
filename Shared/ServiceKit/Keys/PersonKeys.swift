// Every person's own key in this service: what is sealed under it is gone for good once the key is.

package import Contracts
package import Foundation
package import Logging
package import Sealing
package import Storage
import Synchronization

/// The keys under which one service seals what it holds of each person. They lie in `<service>-keys.db`, wrapped by the
/// service's key-encryption key, apart from the data and backed up apart. A key is durable before it is handed out.
package final class PersonKeys: Sendable {
    private let store: Store
    private let wrapping: KeyEncryptionKey
    private let table = WrappedKeys()
    private let known = Mutex<[PersonID: SymmetricKey]>([:])

    /// "TMky": tells a keys database from any other SQLite file.
    private static let applicationID: Int32 = 0x544D_6B79

    package init(_ file: URL, wrappedBy wrapping: KeyEncryptionKey, settings: StoreSettings, logger: Logger) throws {
        self.wrapping = wrapping
        store = try Store.open(
            file, applicationID: PersonKeys.applicationID,
            migrations: [Migration(1, "wrapped keys") { try WrappedKeys.create(in: $0) }], settings: settings, logger: logger)
    }

    /// The person's key; nil if there never was one or it was destroyed. Blocks for one small read the first time.
    package func key(of person: PersonID) throws -> SymmetricKey? {
        if let key = known.withLock({ $0[person] }) { return key }
        let entry = try store.readNow { db in try table.find(db, of: person) }
        guard case .wrapped = entry else { return nil }
        return try remember(entry, of: person)
    }

    /// The person's key, made and durable if there was none.
    /// - Throws: `PersonErased` where it was destroyed: nothing new may be stored about them.
    package func makeKey(for person: PersonID) async throws -> SymmetricKey {
        if let key = try key(of: person) { return key }
        let wrapped = try wrapping.wrap(.random(), of: person)
        let entry = try await store.write { [table] db in try table.make(db, of: person, wrapped: wrapped, at: .now) }
        return try remember(entry, of: person)
    }

    private func remember(_ entry: WrappedKeys.Entry, of person: PersonID) throws -> SymmetricKey {
        guard case .wrapped(let bytes) = entry else { throw PersonErased() }
        let key = try wrapping.unwrap(bytes, of: person)
        return known.withLock { keys in
            let first = keys[person] ?? key
            keys[person] = first
            return first
        }
    }

    /// From here on nothing sealed under the person's key can be read, by anybody.
    package func destroyKey(of person: PersonID) async throws {
        try await store.write { [table] db in try table.destroy(db, of: person, at: .now) }
        known.withLock { $0[person] = nil }
        try await store.emptyLog()
    }

    package func close() async {
        await store.close()
    }
}

/// The person asked to be forgotten and has no key any more.
package struct PersonErased: Error {
    package init() {}
}
