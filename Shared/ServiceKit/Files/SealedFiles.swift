// Files that a job leaves on disk: sealed block by block under the person's key, one folder a job.

package import Contracts
package import Foundation
import Glibc
package import Sealing

/// `<store>/<name>/<job>/<number>`: a file is a row of blocks, each its length and its sealed bytes. A block is bound to its job,
/// file and place and to whether it is the last, so that nothing can be swapped or cut off. Files from before there was a last block
/// read as `damaged`: none is kept longer than a week, and whoever asked for it is told to ask again.
package struct SealedFiles: Sendable {
    /// Plain bytes of one block; a file's last one may be shorter.
    package static let block = 64 << 10

    /// The disk would not take or give a file.
    package enum Fault: Error, Hashable, Sendable {
        case noRoom
        case disk(code: Int32)
        /// It is not what was written.
        case damaged
    }

    /// Made with the first file.
    package let folder: URL
    private let name: String

    /// - Parameter name: of the folder, and what every block is bound to.
    package init(in storeFolder: URL, named name: String) {
        self.name = name
        folder = storeFolder.appendingPathComponent(name, isDirectory: true)
    }

    private func folder(of job: JobID) -> URL {
        folder.appendingPathComponent(job.description, isDirectory: true)
    }

    /// Begins a file of a job, instead of one that was there.
    /// - Throws: `noRoom` or `disk`, as everything that writes does.
    package func write(_ job: JobID, file: Int, key: SymmetricKey) throws -> SealedFileWriter {
        try FileManager.default.createDirectory(
            at: folder(of: job), withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        return try SealedFileWriter(
            folder(of: job).appendingPathComponent(String(file)), place: FilePlace(name: name, job: job, file: file), key: key)
    }

    /// - Throws: `disk` where there is no such file. What it holds is not checked before `next`.
    package func read(_ job: JobID, file: Int, key: SymmetricKey) throws -> SealedFileReader {
        try SealedFileReader(
            folder(of: job).appendingPathComponent(String(file)), place: FilePlace(name: name, job: job, file: file), key: key)
    }

    /// Makes the folders' entries survive a power cut, after their files were closed.
    package func settle(_ job: JobID) throws {
        for place in [folder(of: job), folder] {
            let descriptor = open(place.path, O_RDONLY | O_DIRECTORY)
            guard descriptor >= 0 else { throw Fault.disk(code: errno) }
            defer { close(descriptor) }
            guard fsync(descriptor) == 0 else { throw Fault.disk(code: errno) }
        }
    }

    /// Nothing where there is nothing.
    package func remove(_ job: JobID) {
        try? FileManager.default.removeItem(at: folder(of: job))
    }

    /// Removes what belongs to no job that is known: left behind by a crash between a file and its row.
    package func sweep(keeping jobs: Set<JobID>) {
        sweep(found, keeping: jobs)
    }

    /// What lies there now, by name.
    package var found: [String] {
        (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
    }

    /// Removes of what was `found` before what belongs to none of `jobs`: for callers that look up `jobs` while others begin new ones.
    package func sweep(_ found: [String], keeping jobs: Set<JobID>) {
        for name in found where JobID(name).map({ !jobs.contains($0) }) ?? true {
            try? FileManager.default.removeItem(at: folder.appendingPathComponent(name))
        }
    }
}

/// What a block's seal is bound to, beside its own place.
private struct FilePlace {
    let name: String
    let job: JobID
    let file: Int

    func context(block: Int, isLast: Bool) -> [UInt8] {
        var context = Array(name.utf8) + [0] + job.bytes
        for number in [Int64(file), Int64(block)] { withUnsafeBytes(of: number.bigEndian) { context.append(contentsOf: $0) } }
        return context + [isLast ? 1 : 0]
    }
}

/// The bit of a block's length that says that it is the file's last.
private let lastMark: UInt32 = 1 << 31

/// Takes bytes, seals and writes them; closed without `close` it is not whole. Used by one task at a time.
package final class SealedFileWriter {
    private let descriptor: Int32
    private let place: FilePlace
    private let key: SymmetricKey
    private var waiting: [UInt8] = []
    private var blocks = 0
    private var isOpen = true

    fileprivate init(_ url: URL, place: FilePlace, key: SymmetricKey) throws {
        (self.place, self.key) = (place, key)
        descriptor = open(url.path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw SealedFiles.Fault.of(errno) }
    }

    deinit {
        if isOpen { _ = Glibc.close(descriptor) }
    }

    /// Writes each block that is full and not the last, blocking; nothing is durable before `close`.
    package func add(_ bytes: some Collection<UInt8>) throws {
        waiting.append(contentsOf: bytes)
        while waiting.count > SealedFiles.block {
            try put(waiting.prefix(SealedFiles.block), isLast: false)
            waiting.removeFirst(SealedFiles.block)
        }
    }

    /// Everything is on disk when this returns.
    package func close() throws {
        try put(waiting[...], isLast: true)
        waiting = []
        guard fsync(descriptor) == 0 else { throw SealedFiles.Fault.of(errno) }
        isOpen = false
        guard Glibc.close(descriptor) == 0 else { throw SealedFiles.Fault.of(errno) }
    }

    private func put(_ plain: ArraySlice<UInt8>, isLast: Bool) throws {
        let sealed = try Seal.seal(plain, key: key, context: place.context(block: blocks, isLast: isLast))
        blocks += 1
        var frame = withUnsafeBytes(of: (UInt32(sealed.count) | (isLast ? lastMark : 0)).bigEndian, Array.init)
        frame.append(contentsOf: sealed)
        var at = 0
        while at < frame.count {
            let written = frame.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress.map { $0 + at }, $0.count - at) }
            guard written > 0 || errno == EINTR else { throw SealedFiles.Fault.of(errno) }
            at += max(0, written)
        }
    }
}

/// Gives a file's bytes block by block. Used by one task at a time.
package final class SealedFileReader {
    private let descriptor: Int32
    private let place: FilePlace
    private let key: SymmetricKey
    private var blocks = 0
    private var isAtEnd = false

    fileprivate init(_ url: URL, place: FilePlace, key: SymmetricKey) throws {
        (self.place, self.key) = (place, key)
        descriptor = open(url.path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw SealedFiles.Fault.of(errno) }
    }

    deinit {
        _ = Glibc.close(descriptor)
    }

    /// Nil at the end, which comes after the last block only.
    /// - Throws: `damaged` for anything that is not, byte for byte, what was written at this place, and where the file ends too early.
    package func next() throws -> [UInt8]? {
        if isAtEnd { return nil }
        guard let head = try read(4), head.count == 4 else { throw SealedFiles.Fault.damaged }
        let length = head.reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
        let (count, isLast) = (Int(length & ~lastMark), length & lastMark != 0)
        guard count <= SealedFiles.block + Seal.overhead, let sealed = try read(count), sealed.count == count else {
            throw SealedFiles.Fault.damaged
        }
        let plain: [UInt8]
        do {
            plain = try Seal.open(sealed, key: key, context: place.context(block: blocks, isLast: isLast))
        } catch {
            throw SealedFiles.Fault.damaged
        }
        blocks += 1
        guard isLast else { return plain }
        guard try read(1) == nil else { throw SealedFiles.Fault.damaged }
        isAtEnd = true
        // An empty file is one empty block.
        return plain.isEmpty ? nil : plain
    }

    private func read(_ count: Int) throws -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: count)
        var at = 0
        while at < count {
            let got = bytes.withUnsafeMutableBytes { Glibc.read(descriptor, $0.baseAddress.map { $0 + at }, count - at) }
            if got == 0 { break }
            guard got > 0 || errno == EINTR else { throw SealedFiles.Fault.of(errno) }
            at += max(0, got)
        }
        return at == 0 ? nil : Array(bytes.prefix(at))
    }
}

extension SealedFiles.Fault {
    fileprivate static func of(_ code: Int32) -> SealedFiles.Fault {
        code == ENOSPC || code == EDQUOT ? .noRoom : .disk(code: code)
    }
}
