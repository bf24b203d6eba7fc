// What a service has on disk, and why a start refuses to go on with a part of it.

import Contracts
import Foundation

/// The files that belong together: a store without its keys can be read by nobody, keys without their store are the trace of people whose
/// data are gone. A service that began anew beside either would seem ready, and tell every device that it does not exist.
struct StoreFiles {
    let store: URL
    let keys: URL
    let keyEncryptionKey: URL
    private let folder: URL
    private let peer: Peer
    private let life: URL
    private let backups: KeyBackups

    init(of peer: Peer, in folder: URL, backups: KeyBackups, keyEncryptionKey: URL) {
        store = folder.appendingPathComponent("\(peer).db")
        keys = folder.appendingPathComponent("\(peer)-keys.db")
        life = folder.appendingPathComponent("\(peer).life")
        (self.folder, self.peer, self.backups, self.keyEncryptionKey) = (folder, peer, backups, keyEncryptionKey)
    }

    /// A store beside the service's own.
    func further(_ name: String) -> URL { folder.appendingPathComponent("\(peer)-\(name).db") }

    /// Whatever stores there are beside the two.
    private var further: [URL] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
        return names.filter { $0.hasPrefix("\(peer)-") && $0.hasSuffix(".db") }.map(folder.appendingPathComponent).filter { $0 != keys }
    }

    /// A part that is gone while another is there.
    struct Missing: Error, Hashable, CustomStringConvertible {
        let description: String

        init(_ missing: URL, beside other: URL) {
            description =
                "\(missing.path) is missing or empty beside \(other.path): put it back from its backup; to begin anew on purpose, "
                + "without anything that was stored, start once with --new, which sets aside what is left"
        }
    }

    var hasStore: Bool { Self.holdsSomething(store) }

    private var copies: [URL] { backups.files.filter(Self.holdsSomething) }

    /// - Throws: `Missing`. Keys of nobody beside no store are a first start that was broken off; whoever has opened them can tell.
    func requireParts() throws(Missing) {
        if hasStore {
            guard Self.holdsSomething(keys) else { throw Missing(keys, beside: store) }
        } else if let trace = ([life] + copies).first(where: Self.holdsSomething) {
            throw Missing(store, beside: trace)
        }
    }

    /// Moves what is left of a store that lacks a part into a folder of its own beside it; does nothing where none lacks one, or nothing is
    /// left.
    /// - Returns: the folder.
    func setAside(at now: Timestamp) throws -> URL? {
        let isWhole = hasStore && Self.holdsSomething(keys) && Self.holdsSomething(keyEncryptionKey)
        let left =
            ([store, keys] + further).flatMap { file in ["", "-wal", "-shm"].map { URL(fileURLWithPath: file.path + $0) } } + [life]
            + backups.files
        let there = left.filter { FileManager.default.fileExists(atPath: $0.path) }
        guard !isWhole, !there.isEmpty else { return nil }
        let folder = store.deletingLastPathComponent().appendingPathComponent("aside-\(now.milliseconds)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        for file in there {
            do {
                try FileManager.default.moveItem(at: file, to: folder.appendingPathComponent(file.lastPathComponent))
            } catch CocoaError.fileNoSuchFile {
                // SQLite takes its log away when the last connection goes, which may be that of a start that was refused just now.
                continue
            }
        }
        return folder
    }

    private static func holdsSomething(_ file: URL) -> Bool {
        let size = (try? FileManager.default.attributesOfItem(atPath: file.path))?[.size] as? Int
        return (size ?? 0) > 0
    }
}
