// Where samples become sealed chunks and chunks become samples again.

import Contracts
import Sealing
import ServiceKit

/// Seals what ingest stores of people under their own keys. Each seal is bound to its table, person and place, so that bytes that
/// somebody moves elsewhere do not open.
struct ChunkVault: Sendable {
    let keys: PersonKeys
    let chunks: ChunkStore
    let damage: DamagedChunks
    let days = DayStore()

    /// - Throws: `KeyDestroyed` where the person's key is gone: nothing may be stored or read any more. `DamagedKey`.
    func key(of person: PersonID) throws -> SymmetricKey {
        guard let key = try keys.key(of: person) else { throw KeyDestroyed() }
        return key
    }

    /// The key for an answer on the bus; nil where the person has none.
    /// - Throws: `Failure` where it is damaged.
    func keyForPeer(of person: PersonID) throws -> SymmetricKey? {
        do {
            return try keys.key(of: person)
        } catch let damaged as DamagedKey {
            throw damaged.failure
        }
    }

    /// False while the person's key is damaged: what is to be done for them has to wait.
    func isReachable(_ person: PersonID) throws -> Bool {
        do {
            _ = try keys.key(of: person)
            return true
        } catch is DamagedKey {
            return false
        }
    }

    // MARK: Samples

    /// One group of an upload as a chunk; the group is not empty.
    func seal(_ group: MetricGroup, of person: PersonID, number: Int64, device: Int64, key: SymmetricKey) throws -> SealedChunk {
        try seal(
            group.samples, outline: ChunkOutline(first: group.first, last: group.last, count: group.samples.count),
            series: Series(person: number, metric: group.metric), of: person, device: device, key: key)
    }

    func seal(
        _ samples: [Sample], outline: ChunkOutline, series: Series, of person: PersonID, device: Int64, key: SymmetricKey
    ) throws -> SealedChunk {
        let body = try Seal.seal(
            ChunkCodec.encode(samples), key: key, context: Self.context(chunk: outline, series.metric, of: person))
        return SealedChunk(series: series, outline: outline, device: device, body: body)
    }

    /// - Throws: `SealingError` or `CorruptBytes` where the chunk is not what was stored.
    func open(_ chunk: ChunkRow, of person: PersonID, key: SymmetricKey) throws -> [Sample] {
        try Self.open(chunk, of: person, key: key).withUnsafeBytes { try ChunkCodec.decode($0, metric: chunk.metric) }
    }

    /// Opens a period alone: the first of it, at least `limit` unless there are fewer.
    func open(_ chunk: ChunkRow, of person: PersonID, key: SymmetricKey, in period: Range<Int64>, limit: Int) throws -> [Sample] {
        try Self.open(chunk, of: person, key: key).withUnsafeBytes {
            try ChunkCodec.decode($0, metric: chunk.metric, in: period, limit: limit)
        }
    }

    /// Opens a period column by column.
    func openColumns(_ chunk: ChunkRow, of person: PersonID, key: SymmetricKey, in period: Range<Int64>, limit: Int) throws -> EntryColumns
    {
        try Self.open(chunk, of: person, key: key).withUnsafeBytes {
            try ChunkCodec.columns($0, metric: chunk.metric, in: period, limit: limit)
        }
    }

    /// Only the times, in ms.
    func openTimes(_ chunk: ChunkRow, of person: PersonID, key: SymmetricKey) throws -> [Int64] {
        try Self.open(chunk, of: person, key: key).withUnsafeBytes { try ChunkCodec.decodeTimes($0) }
    }

    private static func open(_ chunk: ChunkRow, of person: PersonID, key: SymmetricKey) throws -> [UInt8] {
        try Seal.open(chunk.body, key: key, context: context(chunk: chunk.outline, chunk.metric, of: person))
    }

    private static func context(chunk outline: ChunkOutline, _ metric: Metric, of person: PersonID) -> [UInt8] {
        context("chunks", of: person, Int64(metric.number), outline.first, outline.last, Int64(outline.count))
    }

    // MARK: Roll-ups

    func seal(minutes: RollUp, _ key: DayKey, of person: PersonID, under secret: SymmetricKey) throws -> [UInt8] {
        try Seal.seal(
            RollUpCodec.encode(minutes), key: secret,
            context: Self.context("roll_ups", of: person, Int64(key.series.metric.number), key.day))
    }

    /// Adds the sealed minutes of one day to `sum`.
    func open(minutes: [UInt8], _ key: DayKey, of person: PersonID, under secret: SymmetricKey, into sum: inout RollUp) throws {
        let plain = try Seal.open(
            minutes, key: secret, context: Self.context("roll_ups", of: person, Int64(key.series.metric.number), key.day))
        try plain.withUnsafeBytes { bytes in
            try RollUpCodec.decode(bytes) { sum.add($1, from: $0) }
        }
    }

    /// The sealed minutes of a day; nil where there are none, or they are damaged: then the day's chunks have the same.
    func minutes(of state: DayState, _ series: Series, of person: PersonID, under secret: SymmetricKey) throws -> RollUp? {
        guard let minutes = state.minutes else { return nil }
        var day = RollUp(width: Granularity.minuteWidth)
        do {
            try open(minutes: minutes, DayKey(series: series, day: state.day), of: person, under: secret, into: &day)
        } catch let error where error is CorruptBytes || error as? SealingError == .cannotOpen {
            return nil
        }
        return day
    }

    // MARK: Texts

    /// Seals something sent by or to a person; `place` names the table and what else finds the row.
    func seal(text: [UInt8], at place: String, of person: PersonID, key: SymmetricKey) throws -> [UInt8] {
        try Seal.seal(text, key: key, context: Self.context(place, of: person))
    }

    func open(text: [UInt8], at place: String, of person: PersonID, key: SymmetricKey) throws -> [UInt8] {
        try Seal.open(text, key: key, context: Self.context(place, of: person))
    }

    private static func context(_ table: String, of person: PersonID, _ numbers: Int64...) -> [UInt8] {
        var context: [UInt8] = []
        context.reserveCapacity(table.utf8.count + 17 + numbers.count * 8)
        context.append(contentsOf: table.utf8)
        context.append(0)
        withUnsafeBytes(of: person.bits.bigEndian) { context.append(contentsOf: $0) }
        for number in numbers { withUnsafeBytes(of: number.bigEndian) { context.append(contentsOf: $0) } }
        return context
    }
}
