// One file of an export while it is written: a document, its seal, its hash.

import Contracts
import Sealing
import ServiceKit

/// What a person reads of one file; the hash is of what is downloaded.
struct ExportedFile: Codable, Hashable, Sendable {
    var name: String
    var mediaType: String
    var bytes: Int
    var entries: Int
    /// Lower-case hexadecimal.
    var sha256: String
}

/// Cuts entries into documents of about one size, so that each can be read whole and imported again. Used by one task at a time.
final class ExportFileWriter {
    private let format: ExchangeFormat
    private let subject: FHIRSubject
    private let open: (_ number: Int) throws -> SealedFileWriter
    private let cutAt: Int
    private var current: (document: any EntryDocument, file: SealedFileWriter, digest: RunningDigest, bytes: Int, entries: Int)?
    private(set) var files: [ExportedFile] = []

    /// - Parameters:
    ///   - cutAt: bytes from which on a document is ended.
    ///   - open: begins a file, by its number from 0.
    init(_ format: ExchangeFormat, of subject: FHIRSubject, cutAt: Int, open: @escaping (_ number: Int) throws -> SealedFileWriter) {
        (self.format, self.subject, self.cutAt, self.open) = (format, subject, cutAt, open)
    }

    func add(_ entry: ExportedEntry) throws {
        if current == nil { current = (format.document(of: subject), try open(files.count), RunningDigest(), 0, 0) }
        current?.document.add(entry)
        current?.entries += 1
        // Written in large pieces: a document gives its bytes a few entries at a time.
        if let entries = current?.entries, entries.isMultiple(of: 64) { try drain() }
        if let current, current.bytes >= cutAt, current.document.canEnd { try endFile() }
    }

    /// Writes the last file; of an export without entries one empty document.
    func finish() throws {
        if files.isEmpty, current == nil { current = (format.document(of: subject), try open(0), RunningDigest(), 0, 0) }
        if current != nil { try endFile() }
    }

    /// A file that is not a document of entries.
    func add(file bytes: [UInt8], named name: String, mediaType: String, entries: Int) throws {
        let file = try open(files.count)
        let digest = RunningDigest()
        try file.add(bytes)
        digest.add(bytes)
        try file.close()
        files.append(
            ExportedFile(name: name, mediaType: mediaType, bytes: bytes.count, entries: entries, sha256: Hex.encode(digest.finish())))
    }

    private func drain() throws {
        guard let bytes = current?.document.take(), !bytes.isEmpty else { return }
        try current?.file.add(bytes)
        current?.digest.add(bytes)
        current?.bytes += bytes.count
    }

    private func endFile() throws {
        current?.document.finish()
        try drain()
        guard let current else { return }
        try current.file.close()
        files.append(
            ExportedFile(
                name: name(files.count + 1), mediaType: format.mediaType, bytes: current.bytes, entries: current.entries,
                sha256: Hex.encode(current.digest.finish())))
        self.current = nil
    }

    private func name(_ number: Int) -> String {
        let digits = String(number)
        return (format == .gpx ? "track-" : "entries-") + String(repeating: "0", count: max(0, 4 - digits.count)) + digits + "."
            + format.fileExtension
    }
}
