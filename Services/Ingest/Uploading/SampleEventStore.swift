// SQL sentences for the streams `ingest.samples.*`: a fact rendered again from the chunks that its log row names.

import Contracts
import GRDB
import Logging
import Sealing
import ServiceKit
import Storage

struct SampleEventStore: Sendable {
    let vault: ChunkVault
    let logger: Logger

    init(vault: ChunkVault, logger: Logger) {
        (self.vault, self.logger) = (vault, logger)
    }

    /// The payload as it was published, byte for byte; nil where the person's key is gone. A row that cannot be read gives nil too,
    /// and is logged: one damaged chunk or key must not keep a dispatcher from everybody else's entries.
    func render(_ db: Database, _ row: StreamRow) throws -> [UInt8]? {
        do {
            return try rendered(db, row)
        } catch let error where error is CorruptBytes || error is SealingError || error is DamagedKey {
            logger.error(
                "a row of the stream's log cannot be read and is skipped",
                metadata: ["stream": "\(row.stream)", "sequence": "\(row.sequence)", "error": "\(type(of: error))"])
            return nil
        }
    }

    /// - Throws: `CorruptBytes` where the row's chunks are not those that it names: compaction spares them as long as the row lives.
    private func rendered(_ db: Database, _ row: StreamRow) throws -> [UInt8]? {
        guard let person = row.subject, let key = try vault.keys.key(of: person) else { return nil }
        let record = try UploadRecord(decoding: row.body)
        let opened = try record.chunks.map { id in
            guard let chunk = try vault.chunks.chunk(db, id: id) else { throw CorruptBytes() }
            return try vault.open(chunk, of: person, key: key)
        }
        guard let samples = record.interleave(opened) else { throw CorruptBytes() }
        return SamplesRecordedWriter.render(
            device: record.device, receivedAt: record.receivedAt, firstTriedAt: record.firstTriedAt, sentAt: record.sentAt,
            intervalMs: record.intervalMs, samples: samples)
    }
}
