// The reference client's queue: entries wait on the disk, sealed, until the server has acknowledged them (ING-02, ING-14).

import Contracts
import Foundation
import Sealing
import ServiceKit
import Synchronization

/// An append-only file of sealed records, each bound to its place, so that none can be taken out or moved unnoticed. What
/// `append` has returned for survives the end of the process at any instant; with `.flushed` also that of the machine.
/// One process at a time.
final class OutboxQueue: Sendable {
    enum Durability: Sendable {
        /// Handed to the kernel: survives `kill -9`.
        case written
        /// On the disk: survives a power cut.
        case flushed
    }

    /// Records are folded together when the file is longer than this and most of it is history.
    static let compactionBytes = 8 << 20
    /// The same where nothing waits: what was delivered need not stay, sealed or not.
    static let idleBytes = 1 << 20
    /// Longer records are not written, so a longer length in a file is damage.
    static let recordBytes = 16 << 20
    /// What still waits is folded into records of at most so many bytes of entries, or one entry.
    static let foldedRecordBytes = 1 << 20

    private struct Contents {
        var id: String
        var tokens: [String: String] = [:]
        var state = OutboxState()
        var descriptor: Int32
        /// How many records the file has: the next one's place.
        var records: UInt64 = 0
        var length = 0
        /// Bytes of the file just after it was last folded.
        var foldedLength = 0
    }

    private let folder: URL
    private let key: SymmetricKey
    private let durability: Durability
    private let contents: Mutex<Contents>

    private init(_ folder: URL, key: SymmetricKey, durability: Durability, contents: Contents) {
        (self.folder, self.key, self.durability) = (folder, key, durability)
        self.contents = Mutex(contents)
    }

    deinit {
        contents.withLock { _ = close($0.descriptor) }
    }

    /// Opens the folder's queue or begins one. A record that a crash tore at the end is dropped: `append` had not returned.
    static func open(_ folder: URL, durability: Durability) throws -> OutboxQueue {
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        let keys = KeyFiles(folder: folder)
        let key = try SymmetricKey(bytes: keys.secret("queue.key", of: keyOwner))
        let file = folder.appendingPathComponent(fileName)
        let descriptor = Foundation.open(file.path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw fault(file, String(cString: strerror(errno)), mend: "check the folder's rights") }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            close(descriptor)
            throw fault(file, "another process uses this queue", mend: "wait until it has ended, or name another folder with --state")
        }
        let stored = [UInt8](FileManager.default.contents(atPath: file.path) ?? Data())
        var contents = Contents(id: "", descriptor: descriptor)
        var offset = 0
        while let (record, end) = try next(stored, from: offset, place: contents.records, key: key, file: file) {
            apply(record, to: &contents)
            contents.records += 1
            offset = end
        }
        guard ftruncate(descriptor, off_t(offset)) == 0 else {
            throw fault(file, String(cString: strerror(errno)), mend: "make room on the disk")
        }
        (contents.length, contents.foldedLength) = (offset, offset)
        let queue = OutboxQueue(folder, key: key, durability: durability, contents: contents)
        if contents.id.isEmpty {
            try queue.contents.withLock { contents in
                contents.id = Hex.encode(Random.bytes(16))
                try queue.write([.queue(id: contents.id)], &contents)
            }
        }
        return queue
    }

    // MARK: What waits

    /// Random, made with the queue: part of every upload's idempotency key.
    var id: String { contents.withLock { $0.id } }

    /// Entries that no server has acknowledged yet.
    var waiting: Int { contents.withLock { $0.state.waiting } }

    /// Devices whose entries go through here, with their tokens.
    var partitions: [String: String] { contents.withLock { $0.tokens } }

    func waiting(in partition: String) -> Int { contents.withLock { $0.state.waiting(in: partition) } }

    /// Sequence that the partition's next entry gets: greater once a new one has come.
    func end(of partition: String) -> UInt64 { contents.withLock { $0.state.end(of: partition) } }

    /// Opens a partition, or gives it another token.
    func open(partition: String, token: String) throws {
        try contents.withLock { contents in
            let record = OutboxRecord.partition(name: partition, token: token, next: contents.state.end(of: partition))
            try write([record], &contents)
            contents.tokens[partition] = token
        }
    }

    /// Kept when it returns. All entries or, where it throws, none.
    func append(_ entries: [[UInt8]], to partition: String) throws {
        guard !entries.isEmpty else { return }
        try contents.withLock { contents in
            try write([.entries(partition: partition, entries)], &contents)
            for entry in entries { contents.state.append(entry, to: partition) }
        }
    }

    func oldest(of partition: String, count: Int, bytes: Int) -> OutboxBatch? {
        contents.withLock { $0.state.oldest(of: partition, count: count, bytes: bytes) }
    }

    func newest(of partition: String, count: Int, bytes: Int) -> OutboxBatch? {
        contents.withLock { $0.state.newest(of: partition, count: count, bytes: bytes) }
    }

    /// The batch was acknowledged, or refused for good.
    func finished(_ batch: OutboxBatch) throws {
        try contents.withLock { contents in
            try write([.done(partition: batch.partition, batch.places)], &contents)
            contents.state.done(batch.partition, batch.places)
            let limit = contents.state.waiting == 0 ? OutboxQueue.idleBytes : OutboxQueue.compactionBytes
            if contents.length > limit, contents.length > 2 * contents.foldedLength { try fold(&contents) }
        }
    }

    // MARK: The file

    private static let fileName = "queue"
    private static let keyOwner = Peer("key")

    private static func fault(_ file: URL, _ problem: String, mend: String) -> OperatorError {
        OperatorError(.configuration, "\(file.path): \(problem)", mend: mend)
    }

    private static func context(_ place: UInt64) -> [UInt8] {
        Array("trackme outbox \(place)".utf8)
    }

    private func sealed(_ record: OutboxRecord, place: UInt64) throws -> [UInt8] {
        let sealed = try Seal.seal(record.encoded, key: key, context: OutboxQueue.context(place))
        return withUnsafeBytes(of: UInt32(sealed.count).littleEndian, Array.init) + sealed
    }

    private func write(_ records: [OutboxRecord], _ contents: inout Contents) throws {
        var bytes: [UInt8] = []
        for (index, record) in records.enumerated() { bytes += try sealed(record, place: contents.records + UInt64(index)) }
        let written = Foundation.write(contents.descriptor, bytes, bytes.count)
        guard written == bytes.count, durability == .written || fdatasync(contents.descriptor) == 0 else {
            let reason = String(cString: strerror(errno))
            // What was written in part must not stand before what comes later.
            _ = ftruncate(contents.descriptor, off_t(contents.length))
            throw OperatorError(.failed, "the queue in \(folder.path) cannot be written: \(reason)", mend: "make room on the disk")
        }
        contents.records += UInt64(records.count)
        contents.length += bytes.count
    }

    /// A new file with what still waits takes the place of the old one.
    private func fold(_ contents: inout Contents) throws {
        let file = folder.appendingPathComponent(OutboxQueue.fileName)
        let draft = folder.appendingPathComponent(OutboxQueue.fileName + ".new")
        let descriptor = Foundation.open(draft.path, O_RDWR | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0o600)
        guard descriptor >= 0, flock(descriptor, LOCK_EX | LOCK_NB) == 0 else { return }
        let old = contents.descriptor
        var fresh = contents
        (fresh.descriptor, fresh.records, fresh.length) = (descriptor, 0, 0)
        do {
            try write([.queue(id: contents.id)], &fresh)
            for stretch in contents.state.stretches(of: OutboxQueue.foldedRecordBytes) {
                let token = contents.tokens[stretch.partition] ?? ""
                var records = [OutboxRecord.partition(name: stretch.partition, token: token, next: stretch.first)]
                if !stretch.entries.isEmpty { records.append(.entries(partition: stretch.partition, stretch.entries)) }
                try write(records, &fresh)
            }
        } catch {
            close(descriptor)
            throw error
        }
        guard fsync(descriptor) == 0, rename(draft.path, file.path) == 0 else {
            close(descriptor)
            return
        }
        fresh.foldedLength = fresh.length
        contents = fresh
        close(old)
    }

    /// Nil at the end of what is whole. A record that cannot be opened although more follows is damage, not a torn end.
    private static func next(
        _ stored: [UInt8], from offset: Int, place: UInt64, key: SymmetricKey, file: URL
    ) throws -> (OutboxRecord, Int)? {
        guard stored.count - offset >= 4 else { return nil }
        let length = Int(stored[offset..<offset + 4].reversed().reduce(UInt32(0)) { $0 << 8 | UInt32($1) })
        let end = offset + 4 + length
        guard length >= Seal.overhead, length <= recordBytes, end <= stored.count else { return nil }
        guard let plain = try? Seal.open(stored[(offset + 4)..<end], key: key, context: context(place)), let record = OutboxRecord(plain)
        else {
            if end == stored.count { return nil }
            throw fault(
                file, "the queue is damaged at byte \(offset)", mend: "move it away; what was not acknowledged must be recorded again")
        }
        return (record, end)
    }

    private static func apply(_ record: OutboxRecord, to contents: inout Contents) {
        switch record {
        case .queue(let id): contents.id = id
        case .partition(let name, let token, let next):
            contents.tokens[name] = token
            contents.state.begin(name, at: next)
        case .entries(let partition, let entries):
            for entry in entries { contents.state.append(entry, to: partition) }
        case .done(let partition, let places): contents.state.done(partition, places)
        }
    }
}
