// What a service stands on: its settings, its keys, its place on the bus, its stores.

package import Bus
package import Contracts
package import Foundation
package import Logging
package import Outbound
package import Sealing
package import Storage
import Synchronization

/// Made once per service, by `ServiceCommand` in a process of its own and by tests beside other services in one process.
package struct Runtime: Sendable {
    package let peer: Peer
    package let settings: SuiteSettings
    package let keys: KeyFiles
    package let endpoints: Endpoints
    /// Not open to anybody until sockets are bound; `ServiceCommand` has it tested before the service runs.
    package let bus: any BusLine
    package let logger: Logger
    /// As the public peer files say; see `admitPeers`.
    package let allowList: AllowList
    /// How stores are opened, but for what the suite's settings say. Tests choose what happens when a file can no longer be trusted.
    private let store: StoreSettings
    /// What carries requests to the outside, in place of the network; only a simulation has one.
    private let outside: HTTPSender.Played?
    /// What `/metrics` shows.
    package let metrics: @Sendable () -> String
    /// Whether a store that lacks a part is set aside and begun anew instead of refused: `--new`.
    private let beginsAnew: Bool
    private let opened = OpenedKeys()
    /// What is wrong although it has started.
    package let faults: StartFaults

    /// Knows the secrets of earlier starts, once it is open.
    private final class OpenedKeys: Sendable {
        let keys = Mutex<PersonKeys?>(nil)
    }

    /// Makes what is missing of the peer's bus keys and the sockets' folder.
    /// - Parameters:
    ///   - bus: in place of sockets; only a simulation has one.
    ///   - outside: in place of the network beyond the suite; likewise.
    /// - Throws: `KeyFiles.Fault`, `BusError` and file errors; the service must not start then.
    package init(
        peer: Peer, settings: SuiteSettings, logger: Logger, metrics: @escaping @Sendable () -> String = { "" },
        store: StoreSettings = StoreSettings(), beginsAnew: Bool = false, bus: (any BusLine)? = nil, outside: HTTPSender.Played? = nil
    ) throws {
        (self.peer, self.settings, self.logger, self.metrics) = (peer, settings, logger, metrics)
        (self.store, self.beginsAnew, self.outside) = (store, beginsAnew, outside)
        faults = StartFaults(logger)
        keys = KeyFiles(folder: settings.keysFolder)
        endpoints = Endpoints(settings)
        if settings.transport == .ipc {
            try FileManager.default.createDirectory(
                at: settings.busFolder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        }
        allowList = AllowList([])
        self.bus = try bus ?? BusNode(peer: peer, keys: keys.busKeys(of: peer), allowed: allowList, logger: logger)
        admitPeers()
    }

    /// With what the suite's settings decide.
    package var storeSettings: StoreSettings {
        var store = store
        store.groupCommitWindow = settings.groupCommitWindow
        return store
    }

    // MARK: Stores

    /// Opens `<service>-keys.db` and then `<service>.db`, each brought to its newest migration.
    /// - Throws: `StoreFiles.Missing` where one of them is gone, `KeyFiles.Fault` where a secret is gone or is another one than the store's,
    ///   `UnopenedStore`: all name file, cause and mend, and nothing has been written then but the schema's newest steps.
    package func openWhole(applicationID: Int32, migrations: [Migration]) throws -> (store: Store, keys: PersonKeys) {
        try makeStoreFolder()
        if beginsAnew, let folder = try storeFiles.setAside(at: .now) {
            logger.warning("an incomplete store was moved aside and is created again", metadata: ["aside": "\(folder.path)"])
        }
        try storeFiles.requireParts()
        let hadStore = storeFiles.hasStore
        // First the keys: a first start that is broken off between the two leaves keys of nobody, which may go on.
        let keys = try openPersonKeys()
        if !hadStore, try keys.isAnybodyKnown() { throw StoreFiles.Missing(storeFiles.store, beside: storeFiles.keys) }
        return (try openStore(applicationID: applicationID, migrations: migrations), keys)
    }

    /// Opens `<service>.db`, bringing it to the newest migration.
    package func openStore(applicationID: Int32, migrations: [Migration]) throws -> Store {
        try makeStoreFolder()
        return try open(storeFile, applicationID: applicationID, migrations: migrations)
    }

    /// Opens `<service>-<name>.db`, for what must neither load nor fill the service's own store. It has no `StoreLife`: it says nothing, and
    /// what it follows is in it with its positions.
    /// - Returns: also whether the file is new.
    package func openStore(named name: String, applicationID: Int32, migrations: [Migration]) throws -> (store: Store, isNew: Bool) {
        try makeStoreFolder()
        let file = storeFile(named: name)
        let isNew = !FileManager.default.fileExists(atPath: file.path)
        return (try open(file, applicationID: applicationID, migrations: migrations), isNew)
    }

    private func open(_ file: URL, applicationID: Int32, migrations: [Migration]) throws -> Store {
        do {
            return try Store.open(file, applicationID: applicationID, migrations: migrations, settings: storeSettings, logger: logger)
        } catch {
            throw UnopenedStore(file, error)
        }
    }

    /// Where `openStore` finds it.
    package var storeFile: URL { storeFiles.store }

    package func storeFile(named name: String) -> URL { storeFiles.further(name) }

    private var storeFiles: StoreFiles {
        StoreFiles(
            of: peer, in: settings.storeFolder, backups: keyBackups, keyEncryptionKey: keys.file("store.kek", of: peer))
    }

    private var keyBackups: KeyBackups {
        KeyBackups(folder: settings.keyBackups ?? settings.storeFolder.appendingPathComponent("key-backups"), name: "\(peer)-keys")
    }

    /// Opens `<service>-keys.db`. Refused where a secret is not the one that the service's data lie under, or is gone: a new one could
    /// open nothing.
    package func openPersonKeys() throws -> PersonKeys {
        try makeStoreFolder()
        let (file, keyFile) = (storeFiles.keys, storeFiles.keyEncryptionKey)
        if FileManager.default.fileExists(atPath: file.path), !FileManager.default.fileExists(atPath: keyFile.path) {
            throw KeyFiles.Fault(
                "\(keyFile.path) is missing but \(file.path) exists: restore it from the keys' backup, or nothing can be read")
        }
        let wrapping = try KeyEncryptionKey(bytes: keys.secret("store.kek", of: peer))
        let opened: PersonKeys
        do {
            opened = try PersonKeys(file, wrappedBy: wrapping, settings: storeSettings, backups: keyBackups, logger: logger)
        } catch let error as StoreError {
            throw UnopenedStore(file, error)
        } catch is WrongKeyEncryptionKey {
            throw KeyFiles.Fault.another(keyFile, than: file)
        }
        // What two peers share is compared where it is read, since its copy may stand in.
        let shared = Set(SharedSecret.all.filter { SharedSecret.key($0.name, of: peer) != nil }.map(\.name))
        if let name = try opened.changed(of: keys.secrets(of: peer), besides: shared).first {
            throw KeyFiles.Fault.another(keys.file(name, of: peer), than: file)
        }
        self.opened.keys.withLock { $0 = opened }
        return opened
    }

    /// What readiness says of people's keys.
    var keyRemarks: [String] { opened.keys.withLock { $0 }?.remarks ?? [] }

    /// 32 bytes that live as long as the installation, made at the first start. Once `openPersonKeys` has opened the keys' database, that
    /// knows the secret before anything can lie under it, and no later start goes on under another one.
    /// - Parameter owner: in whose folder it lies, where that is not this peer's own.
    ///   The copy of a shared one stands in where that file does not hold it; which of two is right is told by earlier starts, else the
    ///   file decides.
    /// - Throws: `KeyFiles.Fault` where it is another one than at earlier starts, or is gone.
    package func secret(_ name: String, of owner: Peer? = nil) throws -> [UInt8] {
        let owner = owner ?? peer
        guard let shared = SharedSecret.key(name, of: owner) else { return try ownSecret(name, of: owner) }
        let (original, copy) = keys.places(of: shared)
        let isGone = !FileManager.default.fileExists(atPath: original.path) && FileManager.default.fileExists(atPath: copy.path)
        do {
            // Nothing new is made beside a copy.
            if isGone { throw KeyFiles.Fault.another(original, than: copy) }
            return try ownSecret(name, of: owner)
        } catch let fault as KeyFiles.Fault {
            guard let bytes = try? keys.key(in: copy), try isKept(bytes, name, of: owner) else { throw fault }
            faults.note("\(fault.covered(by: copy))")
            return bytes
        }
    }

    /// Whether it is the one of earlier starts, as far as the keys' database is open.
    private func isKept(_ bytes: [UInt8], _ name: String, of owner: Peer) throws -> Bool {
        guard let opened = opened.keys.withLock({ $0 }) else { return true }
        return try opened.isKept(SymmetricKey(bytes: bytes), named: owner == peer ? name : "\(owner)/\(name)")
    }

    private func ownSecret(_ name: String, of owner: Peer) throws -> [UInt8] {
        let file = keys.file(name, of: owner)
        guard let opened = opened.keys.withLock({ $0 }) else { return try keys.secret(name, of: owner) }
        let known = owner == peer ? name : "\(owner)/\(name)"
        let isThere = FileManager.default.fileExists(atPath: file.path)
        guard try isThere || opened.isKept(nil, named: known) else { throw KeyFiles.Fault.another(file, than: storeFiles.keys) }
        let bytes = try keys.secret(name, of: owner)
        guard try isKept(bytes, name, of: owner) else {
            throw KeyFiles.Fault.another(file, than: storeFiles.keys)
        }
        return bytes
    }

    /// The service's own key for one purpose: its `secret` `<name>.key`.
    package func key(_ name: String) throws -> SymmetricKey {
        try SymmetricKey(bytes: secret("\(name).key"))
    }

    /// For look-up columns: finds a row by a value that the file does not show.
    package func lookupKey(for purpose: String) throws -> LookupKey {
        try LookupKey(key("lookup"), purpose: purpose)
    }

    /// The memory of first answers, sealed under the service's own key; its table must be in the store's schema.
    package func answers(in store: Store) throws -> StoredAnswers {
        try StoredAnswers(store, sealedUnder: key("answers"))
    }

    private func makeStoreFolder() throws {
        try FileManager.default.createDirectory(
            at: settings.storeFolder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    }

    // MARK: The outside

    /// Sends requests to the world outside the suite, with a thread and warm connections of its own.
    package func sender(_ settings: OutboundSettings) -> HTTPSender {
        outside.map { HTTPSender(playing: $0) } ?? HTTPSender(settings, logger: logger)
    }

    // MARK: The bus

    /// Answers questions from now on; who may ask what follows from `Contracts` and the public peer files.
    package func answer(_ methods: Methods) async throws {
        guard let endpoint = endpoints.requests(of: peer, binding: true) else {
            throw KeyFiles.Fault("\(peer) has no port for requests in Contracts")
        }
        try await bus.answer(at: endpoint, methods)
    }

    /// Reads the public peer files anew: who was added is admitted, who was removed is refused from now on.
    package func admitPeers() {
        allowList.replace(with: Allowances.allowed(by: peer, peers: keys.publicPeers()))
    }

    /// Reads the public peer files whenever one was added, replaced or removed; runs until it is cancelled.
    package func watchPeers() async throws {
        var seen = keys.publicFolderStamp
        while true {
            try await Task.sleep(for: .seconds(1))
            let stamp = keys.publicFolderStamp
            if stamp != seen {
                seen = stamp
                admitPeers()
                logger.notice("the allow-list was read anew")
            }
        }
    }

    /// Binds the family's socket. `heads` are what the log holds now.
    package func publisher(of family: StreamFamily, epoch: String, heads: [String: Int64]) async throws -> Publisher {
        try await bus.publisher(of: family, at: endpoints.stream(family, binding: true), epoch: epoch, heads: heads)
    }

    /// - Throws: `KeyFiles.Fault` where that peer answers nothing or its public key is not here.
    package func client(of other: Peer) async throws -> BusClient {
        guard let endpoint = endpoints.requests(of: other, binding: false) else {
            throw KeyFiles.Fault("\(other) has no port for requests in Contracts")
        }
        return try await bus.client(of: other, at: endpoint, serverKey: keys.publicPeer(other).key)
    }

    /// Connects to the family's owner; nothing is heard before it runs.
    package func consumer(of family: StreamFamily, freshness: StreamFreshness = StreamFreshness()) async throws -> StreamConsumer {
        let inbox = try await bus.inbox(
            of: family, at: endpoints.stream(family, binding: false), serverKey: keys.publicPeer(family.owner).key)
        return StreamConsumer(
            family: family, inbox: inbox, publisher: try await client(of: family.owner), logger: logger, freshness: freshness)
    }
}
