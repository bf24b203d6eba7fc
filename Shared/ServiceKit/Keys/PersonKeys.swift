// Every person's own key in this service: what is sealed under it is gone for good once the key is.

package import Contracts
package import Foundation
package import HTTPKit
package import Logging
package import Sealing
package import Storage
import Synchronization

/// The keys under which one service seals what it holds of each person. They lie in `<service>-keys.db`, wrapped by the
/// service's key-encryption key, apart from the data and backed up apart. A key is durable before it is handed out, and stands in the
/// file itself within `StoreSettings.checkpointInterval`: a log that is lost after a kill takes no older key with it.
package final class PersonKeys: Sendable {
    private let store: Store
    private let wrapping: KeyEncryptionKey
    private let table = WrappedKeys()
    private let known = Mutex(Known())
    private let file: URL
    private let backups: KeyBackups?
    private let lastCopy = Mutex<Task<Void, any Error>?>(nil)
    private let logger: Logger

    private struct Known {
        var keys: [PersonID: SymmetricKey] = [:]
        /// Grows with each destruction and with each new key: whoever read the table before does not bring an old key back.
        var changes = 0
        /// Changes that no copy of the file holds yet.
        var unsaved = true
        /// Whose key opens neither in the file nor in a copy; they are not tried again.
        var damaged: Set<PersonID> = []
    }

    /// "TMky": tells a keys database from any other SQLite file.
    static let applicationID: Int32 = 0x544D_6B79
    static let migrations = [
        Migration(1, "wrapped keys") { try WrappedKeys.create(in: $0) },
        Migration(2, "key checks") { try KeyChecks.create(in: $0) },
    ]
    /// How many wrapped keys are tried where there is no check of the key-encryption key, or a damaged one.
    private static let tries = 16
    /// Keys that one read looks at.
    private static let perRead = 500

    /// - Parameter backups: where the copies of the file lie; nil makes none.
    /// - Throws: `StoreError`; `WrongKeyEncryptionKey` where `wrapping` is not the key that people's keys were wrapped under. Then nothing
    ///   has been written under it.
    package init(
        _ file: URL, wrappedBy wrapping: KeyEncryptionKey, settings: StoreSettings, backups: KeyBackups? = nil, logger: Logger
    ) throws {
        (self.file, self.wrapping, self.backups, self.logger) = (file, wrapping, backups, logger)
        // Few pages, and each lost one takes a person's data with it: what the log holds is in the file a moment later.
        var settings = settings
        settings.checkpointPages = 0
        store = try Store.open(
            file, applicationID: PersonKeys.applicationID, migrations: PersonKeys.migrations, settings: settings, logger: logger)
        try requireWrapping()
    }

    // MARK: Are they the right ones?

    /// A file of before there were checks gets one where a key of it opens; a new one gets its first.
    private func requireWrapping() throws {
        let name = "store.kek"
        let (check, some) = try store.readNow { db in
            (try KeyChecks().all(db)[name], try table.page(db, after: nil, limit: PersonKeys.tries))
        }
        if let check, wrapping.passes(check, named: name) { return }
        // One damaged check, or one damaged key, does not keep the right key out.
        guard some.contains(where: { (try? wrapping.unwrap($0.wrapped, of: $0.subject)) != nil }) || check == nil && some.isEmpty else {
            throw WrongKeyEncryptionKey()
        }
        let fresh = try wrapping.makeCheck(named: name)
        try store.writeNow { db in try KeyChecks().set(db, fresh, named: name) }
    }

    /// Compares the service's other secrets with those of earlier starts; ones that are new are remembered.
    /// - Parameters:
    ///   - secrets: all that there are, by the names of their files.
    ///   - besides: names that somebody else compares.
    /// - Returns: the names of those that are others now, or gone.
    package func changed(of secrets: [String: SymmetricKey], besides: Set<String> = []) throws -> [String] {
        let checks = try store.readNow { db in try KeyChecks().all(db) }
            .filter { $0.key != "store.kek" && !$0.key.contains("/") && !besides.contains($0.key) }
        let wrong = checks.filter { name, check in secrets[name].map { !KeyCheck.isPassed(check, by: $0, named: name) } ?? true }
        let fresh = try secrets.filter { checks[$0.key] == nil }.map { ($0.key, try KeyCheck.make(under: $0.value, named: $0.key)) }
        if wrong.isEmpty, !fresh.isEmpty {
            try store.writeNow { db in
                for (name, check) in fresh { try KeyChecks().set(db, check, named: name) }
            }
        }
        return wrong.keys.sorted()
    }

    /// Whether a secret is that of earlier starts. One that is new is remembered before this returns, so that nothing lies under it before.
    /// - Parameters:
    ///   - secret: nil where its file is gone.
    ///   - name: of its file; with its peer and `/` before it where it is another peer's.
    func isKept(_ secret: SymmetricKey?, named name: String) throws -> Bool {
        let check = try store.readNow { db in try KeyChecks().all(db)[name] }
        guard let secret else { return check == nil }
        if let check { return KeyCheck.isPassed(check, by: secret, named: name) }
        let fresh = try KeyCheck.make(under: secret, named: name)
        try store.writeNow { db in try KeyChecks().set(db, fresh, named: name) }
        known.withLock { $0.unsaved = true }
        return true
    }

    /// Whether anybody has, or has had, a key here.
    package func isAnybodyKnown() throws -> Bool {
        try store.readNow { db in try table.isAnybodyKnown(db) }
    }

    // MARK: Keys

    /// The person's key; nil if there never was one or it was destroyed. Blocks for one small read the first time, and each time where
    /// there is none.
    /// - Throws: `DamagedKey` where it opens neither here nor in a copy: that concerns this person alone.
    package func key(of person: PersonID) throws -> SymmetricKey? {
        while true {
            let (key, changes, isDamaged) = known.withLock { ($0.keys[person], $0.changes, $0.damaged.contains(person)) }
            if let key { return key }
            if isDamaged { throw DamagedKey() }
            let entry = try store.readNow { db in try table.find(db, of: person) }
            guard case .wrapped = entry else { return nil }
            if let key = try remember(entry, of: person, ifStill: changes) { return key }
        }
    }

    /// As `key(of:)`, for whoever goes on without: nil for a key that is damaged too. Nobody may take that for an erasure.
    package func usableKey(of person: PersonID) throws -> SymmetricKey? {
        do {
            return try key(of: person)
        } catch is DamagedKey {
            return nil
        }
    }

    /// Whether it was destroyed: nothing more is to be kept of the person.
    package func isDestroyed(_ person: PersonID) throws -> Bool {
        if known.withLock({ $0.keys[person] != nil }) { return false }
        guard case .destroyed = try store.readNow({ db in try table.find(db, of: person) }) else { return false }
        return true
    }

    /// Whether what was sealed under this key, which was given out before, can still be opened. Ask within the transaction that
    /// stores it: the key may have been destroyed since.
    package func isCurrent(_ key: SymmetricKey, of person: PersonID) -> Bool {
        known.withLock { $0.keys[person] === key }
    }

    /// The person's key, made and durable if there was none.
    /// - Throws: `KeyDestroyed` where it was destroyed: nothing new may be stored about them.
    package func makeKey(for person: PersonID) async throws -> SymmetricKey {
        if let key = try key(of: person) { return key }
        let wrapped = try wrapping.wrap(.random(), of: person)
        let entry = try await store.write { [table] db in try table.make(db, of: person, wrapped: wrapped, at: .now) }
        known.withLock { $0.unsaved = true }
        guard case .wrapped = entry, let key = try key(of: person) else { throw KeyDestroyed() }
        return key
    }

    /// Another key for a person whose data were erased while the account goes on. Nothing happens where there is a living one.
    package func renewKey(of person: PersonID) async throws {
        let wrapped = try wrapping.wrap(.random(), of: person)
        _ = try await store.write { [table] db in try table.renew(db, of: person, wrapped: wrapped, at: .now) }
        known.withLock { known in
            known.changes += 1
            known.unsaved = true
        }
    }

    /// Nil where a key was destroyed since `changes` were counted: read again.
    private func remember(_ entry: WrappedKeys.Entry, of person: PersonID, ifStill changes: Int) throws -> SymmetricKey? {
        guard case .wrapped(let bytes) = entry else { return nil }
        let stored = try opened(bytes, of: person)
        let found = try stored ?? copied(of: person)
        let (key, isNews) = known.withLock { known -> (SymmetricKey?, Bool) in
            guard known.changes == changes else { return (nil, false) }
            guard let key = known.keys[person] ?? found else { return (nil, known.damaged.insert(person).inserted) }
            known.keys[person] = key
            // It is put back before the copy that holds it is replaced.
            if stored == nil { known.unsaved = true }
            return (key, false)
        }
        if isNews { tellOfDamage() }
        return key
    }

    /// Nil for a key that is not as it was stored.
    private func opened(_ wrapped: [UInt8], of person: PersonID) throws(SealingError) -> SymmetricKey? {
        do throws(SealingError) {
            return try wrapping.unwrap(wrapped, of: person)
        } catch {
            // What the library cannot do now says nothing about the key.
            guard error != .library else { throw error }
            return nil
        }
    }

    /// From here on nothing sealed under the person's key can be read, by anybody who has only this service's files; copies of the
    /// keys are another matter: see `renewBackups`.
    package func destroyKey(of person: PersonID) async throws {
        try await store.write { [table] db in try table.destroy(db, of: person, at: .now) }
        known.withLock { known in
            known.keys[person] = nil
            known.damaged.remove(person)
            known.changes += 1
            known.unsaved = true
        }
        try await store.emptyLog()
    }

    // MARK: Damage

    /// For readiness, without anybody's name; empty where all keys that were looked at open.
    package var remarks: [String] {
        let count = known.withLock { $0.damaged.count }
        return count == 0 ? [] : ["\(count) people's keys in \(file.path) are damaged, their data cannot be reached; \(mend)"]
    }

    private var mend: String {
        guard let copy = backups?.files.first else { return "restore the file from its backup" }
        return "stop the service, put a backup of that file in the place of \(copy.path), start it: the keys are taken from there"
    }

    private func tellOfDamage() {
        logger.critical(
            "a person's key is damaged, and no copy holds it: this person's data cannot be reached, everybody else is served",
            metadata: ["file": "\(file.path)", "cause": "what is stored of the key does not open", "mend": "\(mend)"])
    }

    /// The person's key as a copy holds it: opens, is the person's by its seal, and was made when the damaged one was, so that it is
    /// the same one and no earlier one, which was destroyed.
    private func copied(of person: PersonID) throws -> SymmetricKey? {
        guard let backups, let damaged = try store.readNow({ db in try table.living(db, of: person) }) else { return nil }
        for file in backups.files {
            guard let copy = try? Store.readCopy(file, { db in try table.living(db, of: person) }), copy.madeAt == damaged.madeAt
            else { continue }
            if let key = try opened(copy.wrapped, of: person) { return key }
        }
        return nil
    }

    /// Looks at every key, and puts back what is damaged from memory or a copy: else the next copies would take the last whole one away.
    /// - Returns: how many were put back, and whether a copy may still hold the whole key of one that was not.
    private func mendAll() async throws -> (count: Int, isCopyNeeded: Bool) {
        var (count, isCopyNeeded, after): (Int, Bool, PersonID?) = (0, false, nil)
        while true {
            let from = after
            let page = try await store.read { [table] db in try table.page(db, after: from, limit: PersonKeys.perRead) }
            // Where ids themselves are damaged their order may be, too: never the same ones again.
            guard let last = page.last?.subject, from.map({ $0.bits < last.bits }) ?? true else { return (count, isCopyNeeded) }
            after = last
            for (person, wrapped) in page where try opened(wrapped, of: person) == nil {
                if try await putBack(wrapped, of: person) {
                    count += 1
                } else {
                    isCopyNeeded = try isCopyNeeded || mayBeCopied(person)
                }
            }
        }
    }

    /// Whether a copy holds a key of this person that opens, though it was not taken for the damaged one, or cannot be read now.
    private func mayBeCopied(_ person: PersonID) throws -> Bool {
        for file in backups?.files ?? [] where FileManager.default.fileExists(atPath: file.path) {
            do {
                guard let copy = try Store.readCopy(file, { db in try table.living(db, of: person) }) else { continue }
                if try opened(copy.wrapped, of: person) != nil { return true }
            } catch is StoreError {
                return true
            }
        }
        return false
    }

    /// False where nobody has the key, or it was destroyed meanwhile.
    private func putBack(_ damaged: [UInt8], of person: PersonID) async throws -> Bool {
        guard let key = try usableKey(of: person) else { return false }
        let whole = try wrapping.wrap(key, of: person)
        let isMended = try await store.write { [table] db in try table.restore(db, of: person, wrapped: whole, inPlaceOf: damaged) }
        if isMended {
            logger.error(
                "a person's key was damaged and is put back from a copy or from memory: look at the disk",
                metadata: ["file": "\(file.path)"])
        }
        return isMended
    }

    // MARK: Copies

    /// Writes both copies anew, so that no destroyed key is left in one.
    /// - Returns: how many copies there are.
    @discardableResult
    package func renewBackups() async throws -> Int {
        guard let backups else { return 0 }
        known.withLock { $0.unsaved = false }
        do {
            _ = try await mendAll()
            for file in backups.files { try await copy(to: file) }
        } catch {
            known.withLock { $0.unsaved = true }
            throw error
        }
        return KeyBackups.copies
    }

    /// Replaces the older copy whenever keys have changed, every quarter of an hour; runs until it is cancelled. One that fails is
    /// told to the operator and tried again.
    package func keepBackups() async throws {
        guard let backups else { return try await Task.sleep(for: .seconds(Int64(Int32.max))) }
        while true {
            if known.withLock({ $0.unsaved }) {
                known.withLock { $0.unsaved = false }
                do {
                    // A copy that an operator has put there may hold keys that were destroyed since: none of it stays.
                    let (mended, isCopyNeeded) = try await mendAll()
                    let files = mended > 0 ? backups.files : [backups.next]
                    // No copy takes the last whole key of somebody away: an operator decides.
                    for file in files where !isCopyNeeded { try await copy(to: file) }
                } catch {
                    known.withLock { $0.unsaved = true }
                    logger.error("the keys could not be copied", metadata: ["error": "\(error.logReason)"])
                }
            }
            try await Task.sleep(for: KeyBackups.interval)
        }
    }

    /// One after the other: a copy that was begun before a key was destroyed must not come to lie over one that was begun after.
    private func copy(to file: URL) async throws {
        let copying = lastCopy.withLock { last in
            let copying = Task { [store, last] in
                _ = await last?.result
                try await store.copy(to: file)
            }
            last = copying
            return copying
        }
        try await copying.value
    }

    /// After this no key can be read or made.
    package func close() async {
        await store.close()
    }
}

/// People's keys were wrapped under another key-encryption key than the one that was given.
package struct WrongKeyEncryptionKey: Error {}

/// The person's key is damaged and no copy holds it: until it is put back nothing of theirs can be read or stored, and no other key takes
/// its place. Concerns nobody else.
package struct DamagedKey: Error, ErrorForCallers, ErrorForLogs {
    package init() {}

    package var wordsForLogs: String { "a person's key is damaged" }

    /// Soon enough for a device whose next entry may be the critical one: it is heard whether or not it can be stored.
    package var refusal: Refusal? {
        Refusal(
            .unavailable.saying(
                "What is stored of this person cannot be reached now; the operator has been told. Keep what you sent and try again.",
                italian: "I dati di questa persona ora non sono accessibili; il gestore lo sa. Conservi quanto inviato e riprovi."),
            retryAfter: .seconds(1))
    }

    /// The same for a peer on the bus.
    package var failure: Failure { Failure(.unavailable, wordsForLogs) }
}

/// The person asked to be forgotten and has no key any more.
package struct KeyDestroyed: Error {
    package init() {}
}
