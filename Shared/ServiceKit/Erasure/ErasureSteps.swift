// What each service brings to an erasure: its own memory, rows and streams. The order of the steps is the same everywhere.

package import Contracts
package import GRDB
package import Storage

/// Called in this order: `shut`, then the person's key is destroyed, `delete` until nothing is left, the facts of `streams` become
/// `erased`, `further` stores lose their rows, files are emptied of what was deleted, the copies of the keys are made anew, `finish`.
/// Each may be called again after a crash.
package struct ErasureSteps: Sendable {
    /// Makes the service forget the person in memory, so that nothing is answered or taken from here on (data alone: until `finish`).
    /// Throws `ErasureWaits` where something must come to its end first, such as a call for help.
    package var shut: @Sendable (PersonErased) async throws -> Void
    /// Whether the person's key is destroyed: not where this service holds nothing but the account's own, and the account stays.
    package var destroysKey: @Sendable (PersonErased) -> Bool
    /// Deletes rows in one short transaction and says how many; asked again until it is none.
    package var delete: @Sendable (Database, PersonErased) throws -> Int
    /// This service's streams that hold facts about the person which are to go.
    package var streams: @Sendable (PersonErased) -> [String]
    /// Everything is gone. Where the account stays the person has a new key already and may be served again.
    package var finish: @Sendable (PersonErased) async throws -> Void
    /// What had to stay in the service's store, and why; for the certificate.
    package var kept: String?
    /// The service's stores beside its own.
    package var further: [FurtherStore]
    /// What of the person's keys had to stay where none is destroyed, for the certificate; nil for a service that has none.
    package var keptKey: String?

    /// Unless told, the person's key is destroyed and no stream holds anything about them.
    package init(
        shut: @escaping @Sendable (PersonErased) async throws -> Void = { _ in },
        destroysKey: @escaping @Sendable (PersonErased) -> Bool = { _ in true },
        delete: @escaping @Sendable (Database, PersonErased) throws -> Int,
        streams: @escaping @Sendable (PersonErased) -> [String] = { _ in [] },
        finish: @escaping @Sendable (PersonErased) async throws -> Void = { _ in }, kept: String? = nil, further: [FurtherStore] = [],
        keptKey: String? = "the account's own key"
    ) {
        (self.shut, self.destroysKey, self.delete, self.streams) = (shut, destroysKey, delete, streams)
        (self.finish, self.kept, self.further, self.keptKey) = (finish, kept, further, keptKey)
    }
}

/// A store of a service beside its own that holds rows about people. What is about them in the service's own store, such as the account, is
/// gone before anything is deleted here.
package struct FurtherStore: Sendable {
    /// As certificates name it.
    let name: String
    let store: Store
    let delete: @Sendable (Database, PersonErased) throws -> Int
    let kept: @Sendable (PersonErased) -> String?

    /// - Parameters:
    ///   - delete: as that of `ErasureSteps`.
    ///   - kept: what of this order's person stays, and why; for the certificate.
    package init(
        name: String, store: Store, delete: @escaping @Sendable (Database, PersonErased) throws -> Int,
        kept: @escaping @Sendable (PersonErased) -> String? = { _ in nil }
    ) {
        (self.name, self.store, self.delete, self.kept) = (name, store, delete, kept)
    }

    /// Until nothing is left, in slices, and out of the write-ahead log as well.
    func erase(_ order: PersonErased) async throws -> ErasedStore {
        var removed = 0
        while true {
            let count = try await store.write { [delete] db in try delete(db, order) }
            guard count > 0 else { break }
            removed += count
        }
        try await store.emptyLog()
        return ErasedStore(store: name, removed: removed, at: .now, kept: kept(order))
    }
}

/// Not yet: something is under way for the person that must come to its end first. It is tried again soon.
package struct ErasureWaits: Error {
    package init() {}
}
