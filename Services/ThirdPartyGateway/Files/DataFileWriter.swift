// One job's files while they are written: documents of about one size, each with its seal and its hash.

import Contracts
import Sealing
import ServiceKit

/// Used by one task at a time.
final class DataFileWriter {
    private struct Current {
        var document: any EntryDocument
        let file: SealedFileWriter
        let digest = RunningDigest()
        var bytes = 0
        var values = 0
    }

    private let format: DataFormat
    private let request: RequestID
    private let cutAt: Int
    private let open: (_ number: Int) throws -> SealedFileWriter
    private var current: Current?
    private(set) var parts: [DataFilePart] = []

    /// - Parameters:
    ///   - cutAt: bytes from which on a document is ended.
    ///   - open: begins a file, by its number from 0.
    init(_ format: DataFormat, of request: RequestID, cutAt: Int, open: @escaping (_ number: Int) throws -> SealedFileWriter) {
        (self.format, self.request, self.cutAt, self.open) = (format, request, cutAt, open)
    }

    func add(_ sample: Sample) throws {
        var writing = try current ?? begun()
        current = nil
        writing.document.add(ExportedEntry(sample: sample, source: nil))
        writing.values += 1
        // Written in large pieces: a document gives its bytes a few values at a time.
        if writing.values.isMultiple(of: 256) { try drain(&writing) }
        current = writing
        if writing.bytes >= cutAt, writing.document.canEnd { try endFile() }
    }

    /// Writes the last file; of a job without values one empty document. It names what cannot be read, of all of them.
    func finish(without damaged: [DamagedEntries] = []) throws {
        if current == nil, parts.isEmpty || !damaged.isEmpty { current = try begun() }
        if current != nil { try endFile(without: damaged) }
    }

    private func begun() throws -> Current {
        Current(document: format.document(of: request), file: try open(parts.count))
    }

    private func drain(_ writing: inout Current) throws {
        let bytes = writing.document.take()
        guard !bytes.isEmpty else { return }
        try writing.file.add(bytes)
        writing.digest.add(bytes)
        writing.bytes += bytes.count
    }

    private func endFile(without damaged: [DamagedEntries] = []) throws {
        guard var writing = current else { return }
        current = nil
        writing.document.finish(without: damaged)
        try drain(&writing)
        try writing.file.close()
        let number = String(parts.count + 1)
        let name = "data-" + String(repeating: "0", count: max(0, 4 - number.count)) + number + "." + format.fileExtension
        parts.append(
            DataFilePart(
                name: name, mediaType: format.mediaType, bytes: writing.bytes, values: writing.values,
                sha256: Hex.encode(writing.digest.finish())))
    }
}
