// Every person's own key in this service: what is sealed under it is gone for good once the key is.

package import Contracts
package import Foundation
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
    /// Keys that do not open for whom their rows name; nil until all were looked at.
    private let unopened = Mutex<[WrappedKeys.Living]?>(nil)
    private let file: URL
    private let backups: KeyBackups?
    private let copies: KeyCopies
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
        copies = KeyCopies(of: store, in: backups?.files ?? [])
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
    /// there is none; for a look at every key the first time that anybody has none, unless `keepBackups` has looked before.
    /// - Throws: `DamagedKey` where it opens neither here nor in a copy: that concerns this person alone.
    package func key(of person: PersonID) throws -> SymmetricKey? {
        while true {
            let (key, changes, isDamaged) = known.withLock { ($0.keys[person], $0.changes, $0.damaged.contains(person)) }
            if let key { return key }
            if isDamaged { throw DamagedKey() }
            let wrapped: [UInt8]
            switch try store.readNow({ db in try table.find(db, of: person) }) {
            case .destroyed: return nil
            case .wrapped(let bytes): wrapped = bytes
            case .none:
                guard let key = try misnamed(of: person) else { return nil }
                wrapped = key.wrapped
                // Its row is mended before the next copy.
                known.withLock { $0.unsaved = true }
            }
            if let key = try remember(wrapped, of: person, ifStill: changes) { return key }
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
    private func remember(_ wrapped: [UInt8], of person: PersonID, ifStill changes: Int) throws -> SymmetricKey? {
        let stored = try opened(wrapped, of: person)
        let found = try stored ?? copied(of: person)
        let (key, isNews) = known.withLock { known -> (SymmetricKey?, Bool) in
            guard known.changes == changes else { return (nil, false) }
            guard let key = known.keys[person] ?? found else { return (nil, known.damaged.insert(person).inserted) }
            known.keys[person] = key
            // It is restored before the copy that holds it is replaced.
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
        // Where no row names the person, the key may lie under a name that is damaged: that one goes as well. It is looked for before,
        // since a look at every key would keep others from the writer.
        let misnamed = try await store.read { [self] db -> [WrappedKeys.Living] in
            guard case .none = try table.find(db, of: person) else { return [] }
            return try table.living(db) { try opened($0.wrapped, of: person) != nil }
        }
        let removed = try await store.write { [table] db -> [WrappedKeys.Living] in
            var removed: [WrappedKeys.Living] = []
            if case .none = try table.find(db, of: person) { removed = misnamed }
            for key in removed { try table.remove(db, key) }
            try table.destroy(db, of: person, at: .now)
            return removed
        }
        unopened.withLock { keys in keys = keys?.filter { !removed.contains($0) } }
        known.withLock { known in
            known.keys[person] = nil
            known.damaged.subtract(removed.compactMap(\.person) + [person])
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
        guard let damaged = try store.readNow({ db in try table.living(db, of: person) }) else { return nil }
        for case .success(let copy?) in copies.living(of: person) where copy.madeAt == damaged.madeAt {
            if let key = try opened(copy.wrapped, of: person) { return key }
        }
        return nil
    }

    /// The key of a person whom no row names, under a name that damage has made of the person's: a key opens for its own person alone, so
    /// that nobody new is taken for somebody else.
    private func misnamed(of person: PersonID) throws -> WrappedKeys.Living? {
        let keys = try unopened.withLock { keys -> [WrappedKeys.Living] in
            if let keys { return keys }
            let found = try store.readNow { db in try table.living(db) { try isUnopened($0) } }
            keys = found
            return found
        }
        return try keys.first { try opened($0.wrapped, of: person) != nil }
    }

    private func isUnopened(_ key: WrappedKeys.Living) throws -> Bool {
        guard let person = key.person else { return true }
        return try opened(key.wrapped, of: person) == nil
    }

    /// What became of the keys that did not open.
    private struct Mended {
        /// How many were restored.
        var count = 0
        /// Whether a copy may still hold the whole key of one that was not.
        var isCopyNeeded = false
        /// What new copies must hold of these.
        var kept: [KeyCopies.Kept] = []
    }

    /// Looks at every key, and restores what is damaged from memory or a copy: else the next copies would take the last whole one away.
    private func mendAll() async throws -> Mended {
        var (mended, left): (Mended, [WrappedKeys.Living]) = (Mended(), [])
        for key in try await store.read({ [self] db in try table.living(db) { try isUnopened($0) } }) {
            if try await giveBack(key) {
                mended.count += 1
            } else if let person = key.person, try await putBack(key.wrapped, of: person) {
                mended.count += 1
            } else {
                left.append(key)
                if let person = key.person { try note(key, of: person, in: &mended) }
            }
        }
        unopened.withLock { $0 = left }
        return mended
    }

    /// Notes which copies hold a key of this person that opens, though it was not taken for the damaged one, or cannot be read now.
    private func note(_ damaged: WrappedKeys.Living, of person: PersonID, in mended: inout Mended) throws {
        for copy in copies.living(of: person) {
            guard case .success(let found) = copy else {
                mended.isCopyNeeded = true
                continue
            }
            guard let whole = found, try opened(whole.wrapped, of: person) != nil else { continue }
            mended.isCopyNeeded = true
            // One that was made before may have been destroyed: no erasure leaves that in a copy.
            if whole.madeAt >= damaged.madeAt { mended.kept.append(.init(person: person, whole: whole, damaged: damaged)) }
        }
    }

    /// False for a key that opens for nobody who is in memory, or of whom a copy has it.
    private func giveBack(_ key: WrappedKeys.Living) async throws -> Bool {
        let people = known.withLock { Array($0.keys.keys) } + copies.people(with: key.wrapped)
        guard let person = try people.first(where: { try opened(key.wrapped, of: $0) != nil }) else { return false }
        let isMended = try await store.write { [table] db in try table.giveBack(db, key, to: person) }
        if isMended { tellOfMend(of: key.person) }
        return isMended
    }

    /// False where nobody has the key, or it was destroyed meanwhile.
    private func putBack(_ damaged: [UInt8], of person: PersonID) async throws -> Bool {
        // Also from a copy that an operator has put there since it was found damaged.
        guard let key = try usableKey(of: person) ?? copied(of: person) else { return false }
        let whole = try wrapping.wrap(key, of: person)
        let isMended = try await store.write { [table] db in try table.restore(db, of: person, wrapped: whole, inPlaceOf: damaged) }
        if isMended { tellOfMend(of: person) }
        return isMended
    }

    private func tellOfMend(of person: PersonID?) {
        if let person { known.withLock { _ = $0.damaged.remove(person) } }
        logger.error(
            "a person's key was damaged and is restored from a copy or from memory: check the disk", metadata: ["file": "\(file.path)"])
    }

    // MARK: Copies

    /// Writes both copies anew, so that no destroyed key is left in one; the last whole key of somebody else stays in them.
    /// - Returns: how many copies there are.
    @discardableResult
    package func renewBackups() async throws -> Int {
        guard let backups else { return 0 }
        known.withLock { $0.unsaved = false }
        do {
            let kept = try await mendAll().kept
            for file in backups.files { try await copies.write(to: file, keeping: kept) }
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
                    let mended = try await mendAll()
                    let files = mended.count > 0 ? backups.files : [backups.next]
                    // No copy takes the last whole key of somebody away: an operator decides.
                    for file in files where !mended.isCopyNeeded { try await copies.write(to: file) }
                } catch {
                    known.withLock { $0.unsaved = true }
                    logger.error("the keys could not be copied", metadata: ["error": "\(error.logReason)"])
                }
            }
            try await Task.sleep(for: KeyBackups.interval)
        }
    }

    /// After this no key can be read or made.
    package func close() async {
        await store.close()
    }
}
