// One upload in one transaction: what is new of it, its chunks, its row in the stream's log, its answer.

import Contracts
import GRDB
import Sealing
import ServiceKit
import Storage

/// An upload with everything done that can be done before the writer's turn: sorted, encoded, sealed and rendered as if all of it were new.
/// A class, because it is handed on often and holds much.
final class ReadyUpload: Sendable {
    let device: KnownDevice
    let receivedAt: Timestamp
    let firstTriedAt: Timestamp?
    let sentAt: Timestamp?
    let trace: String
    let key: SymmetricKey
    let plan: UploadPlan
    /// Values of refused entries, in times of now: for alarms alone.
    let unstored: [Sample]
    /// One per group of the plan.
    let chunks: [SealedChunk]
    /// What is published to dispatchers; nil where nobody was subscribed when it came.
    let payload: [UInt8]?
    /// What is published to the gateway.
    let arrivals: [ArrivalEventStore.Rendered]
    let refused: RefusedEntries?
    let repeatable: RepeatableRequest?
    let alongside: UploadEffect?

    init(
        device: KnownDevice, receivedAt: Timestamp, firstTriedAt: Timestamp?, sentAt: Timestamp?, trace: String, key: SymmetricKey,
        plan: UploadPlan, unstored: [Sample], chunks: [SealedChunk], payload: [UInt8]?, arrivals: [ArrivalEventStore.Rendered],
        refused: RefusedEntries?, repeatable: RepeatableRequest?, alongside: UploadEffect?
    ) {
        (self.device, self.receivedAt, self.firstTriedAt, self.sentAt) = (device, receivedAt, firstTriedAt, sentAt)
        (self.trace, self.key, self.plan, self.unstored) = (trace, key, plan, unstored)
        (self.chunks, self.payload, self.arrivals) = (chunks, payload, arrivals)
        (self.refused, self.repeatable, self.alongside) = (refused, repeatable, alongside)
    }
}

/// What else happens with an upload: all of it, or nothing of either.
struct UploadEffect: Sendable {
    /// Whether the upload is refused for what of it was stored before. A value and no error: an error would undo the uploads of everybody
    /// else in this commit, and do them again one by one.
    var refusal: @Sendable (Repetitions) -> Problem? = { _ in nil }
    /// Receives what of the upload was stored before and how many entries are new. Throws only what the store throws.
    var run: @Sendable (Database, Repetitions, _ accepted: Int) throws -> Void = { _, _, _ in }
}

/// Refused entries for the quarantine, sealed.
struct RefusedEntries: Sendable {
    let count: Int
    let body: [UInt8]
}

/// A request with an `Idempotency-Key`: under what its first answer is kept, all of it as keyed digests.
struct RepeatableRequest: Sendable {
    let scope: [UInt8]
    let key: [UInt8]
    let bodyHash: [UInt8]
    /// Status and sealed answer of an upload of which these were the repetitions and so many entries were new.
    let answer: @Sendable (Repetitions, _ accepted: Int) throws -> (status: Int, sealed: [UInt8])
}

enum UploadOutcome: Sendable {
    case stored(StoredUpload)
    /// The same request came before: its first answer.
    case repeated(status: Int, sealed: [UInt8])
    /// Its key came before with another body.
    case otherBody
    /// Its device was removed or replaced while it was on its way: nothing of it is stored (ACC-24).
    case ended
    /// The person's data were erased while it was on its way: nobody could open it any more.
    case erased
    /// What goes with it does not allow what was stored before; nothing of it is stored.
    case refused(Problem)
}

/// A class, because it is handed on often and holds much.
final class StoredUpload: Sendable {
    /// What of it was new, and what was not.
    let plan: UploadPlan
    /// Whether all that the store was handed was new.
    let isWhole: Bool
    /// Its place in the person's stream; nil where nothing was new.
    let sequence: Int64?
    /// What is published to the gateway.
    let arrivals: [EventRelay.Committed]
    /// Of its days, as far as they were not noted before.
    let notes: [NotedDays.Written]

    init(plan: UploadPlan, isWhole: Bool, sequence: Int64?, arrivals: [EventRelay.Committed], notes: [NotedDays.Written]) {
        (self.plan, self.isWhole, self.sequence, self.arrivals, self.notes) = (plan, isWhole, sequence, arrivals, notes)
    }
}

/// A class, because each upload on its way holds it.
final class UploadRepository: Sendable {
    /// Entries closer than this are looked for in one search, those farther apart each by themselves.
    private static let nearby: Int64 = 10_000
    /// Of more stretches than this each chunk is opened once for all.
    private static let mostStretches = 8

    let vault: ChunkVault
    let memory: SeriesMemory
    private let arrivals: ArrivalEventStore
    private var chunks: ChunkStore { vault.chunks }
    private var days: DayStore { vault.days }
    private let quarantine = QuarantineStore()
    private let keys = IdempotencyKeys()

    init(vault: ChunkVault, memory: SeriesMemory, arrivals: ArrivalEventStore) {
        (self.vault, self.memory, self.arrivals) = (vault, memory, arrivals)
    }

    fileprivate func store(_ db: Database, _ upload: ReadyUpload, _ appending: inout StreamLog.Appending) throws -> UploadOutcome {
        guard !upload.device.isEnded else { return .ended }
        // Sealed before the person's data were erased: nobody could open it any more.
        guard vault.keys.isCurrent(upload.key, of: upload.device.person) else { return .erased }
        if let request = upload.repeatable {
            switch try keys.find(db, scope: request.scope, key: request.key, bodyHash: request.bodyHash) {
            case .unused: break
            case .repeated(let status, let answer): return .repeated(status: status, sealed: answer)
            case .otherBody: return .otherBody
            }
        }
        var plan = upload.plan
        let isChanged = try dropStored(db, from: &plan, upload)
        plan.settle()
        // Before anything is written.
        if let problem = upload.alongside?.refusal(plan.repetitions) { return .refused(problem) }
        let sealed = isChanged ? try plan.groups.map { try seal($0, upload) } : upload.chunks
        let sequence = plan.groups.isEmpty ? nil : try insert(db, plan, sealed, upload, &appending)
        let notes = try note(db, plan, sealed)
        let published = try arrivals.append(db, plan.groups, of: upload, &appending)
        if let refused = upload.refused {
            try quarantine.add(
                db, person: upload.device.personNumber, device: upload.device.number, receivedAt: upload.receivedAt,
                count: refused.count, body: refused.body)
        }
        if let request = upload.repeatable {
            let answer = try request.answer(plan.repetitions, plan.count)
            try keys.remember(
                db, scope: request.scope, key: request.key, bodyHash: request.bodyHash, status: answer.status, answer: answer.sealed,
                at: upload.receivedAt)
        }
        try upload.alongside?.run(db, plan.repetitions, plan.count)
        return .stored(StoredUpload(plan: plan, isWhole: !isChanged, sequence: sequence, arrivals: published, notes: notes))
    }

    func seal(_ group: MetricGroup, _ upload: ReadyUpload) throws -> SealedChunk {
        try vault.seal(
            group, of: upload.device.person, number: upload.device.personNumber, device: upload.device.number, key: upload.key)
    }

    // MARK: What is stored already

    /// Takes out of the plan what the store has. Most uploads are later than all that is stored and need no search.
    private func dropStored(_ db: Database, from plan: inout UploadPlan, _ upload: ReadyUpload) throws -> Bool {
        let before = plan.count
        for number in plan.groups.indices {
            let group = plan.groups[number]
            let series = Series(person: upload.device.personNumber, metric: group.metric)
            let newest = try memory.newest(of: series) {
                try chunks.newest(db, of: series)
            }
            guard group.first <= newest else { continue }
            let stored = try stored(db, at: group.samples.map(\.at.milliseconds).sorted(), of: series, upload)
            if !stored.isEmpty { plan.dropStored(fromGroup: number, stored: stored) }
        }
        return plan.count != before
    }

    /// The stored samples at these times, which are in order.
    private func stored(
        _ db: Database, at times: [Int64], of series: Series, _ upload: ReadyUpload
    ) throws -> [Int64: Sample] {
        var found: [Int64: Sample] = [:]
        func take(_ chunk: ChunkRow, _ wanted: ArraySlice<Int64>) throws {
            // Of a damaged chunk nothing is left: whoever delivers its entries again gives them back.
            let opened = try vault.undamaged(chunk) { try vault.open($0, of: upload.device.person, key: upload.key) } ?? []
            for sample in opened where wanted.hasElement(at: sample.at.milliseconds) { found[sample.at.milliseconds] = sample }
        }
        let stretches = Self.stretches(times)
        guard stretches.count > Self.mostStretches else {
            for wanted in stretches {
                let period = wanted[wanted.startIndex]..<wanted[wanted.endIndex - 1] + 1
                try chunks.each(db, of: series, in: period, where: { wanted.hasElement(within: $0) }) { try take($0, wanted) }
            }
            return found
        }
        // Each chunk once, however many of the times lie within it: what is scattered over months meets the same chunks at every time.
        var needed: [Int64] = []
        try chunks.eachOutline(db, of: series, in: times[0]..<times[times.count - 1] + 1) { id, outline, _ in
            if times[...].hasElement(within: outline) { needed.append(id) }
        }
        for id in needed { if let chunk = try chunks.chunk(db, id: id) { try take(chunk, times[...]) } }
        return found
    }

    private static func stretches(_ times: [Int64]) -> [ArraySlice<Int64>] {
        var (found, start) = ([ArraySlice<Int64>](), 0)
        while start < times.count {
            var end = start + 1
            while end < times.count, times[end] - times[end - 1] <= nearby { end += 1 }
            found.append(times[start..<end])
            start = end
        }
        return found
    }

    // MARK: What is new

    private func insert(
        _ db: Database, _ plan: UploadPlan, _ sealed: [SealedChunk], _ upload: ReadyUpload, _ appending: inout StreamLog.Appending
    ) throws -> Int64 {
        let ids = sealed.map { _ in memory.nextChunk() }
        let record = UploadRecord(
            device: upload.device.device, receivedAt: upload.receivedAt, firstTriedAt: upload.firstTriedAt, sentAt: upload.sentAt,
            intervalMs: upload.device.publishedIntervalMs, chunks: ids, runs: plan.runs)
        let sequence = try appending.append(
            db, stream: upload.device.stream, type: SamplesRecorded.type, subject: upload.device.person,
            at: upload.receivedAt, trace: upload.trace, body: record.encoded())
        for (number, chunk) in sealed.enumerated() {
            try chunks.insert(db, chunk, id: ids[number], sequence: sequence)
            memory.added(to: chunk.series, last: chunk.outline.last)
        }
        return sequence
    }

    /// - Returns: the notes that were written.
    private func note(_ db: Database, _ plan: UploadPlan, _ sealed: [SealedChunk]) throws -> [NotedDays.Written] {
        var notes: [NotedDays.Written] = []
        func touch(_ series: Series, _ day: Int64) throws {
            if let note = try days.touch(db, DayKey(series: series, day: day)) { notes.append(note) }
        }
        for (number, chunk) in sealed.enumerated() {
            let span = chunk.outline.days
            if span.count == 1 {
                try touch(chunk.series, span.lowerBound)
            } else {
                for day in Set(plan.groups[number].samples.map { UTCDay.number(of: $0.at.milliseconds) }) { try touch(chunk.series, day) }
            }
        }
        return notes
    }

    fileprivate func committed(_ outcome: UploadOutcome) {
        guard case .stored(let stored) = outcome else { return }
        for note in stored.notes { days.noted.add(note) }
    }
}

/// Uploads of one commit are stored together: one savepoint and one read of each stream's head for all of them. What can be refused is
/// refused by a value; only the store's own errors are thrown.
struct UploadBody: GatheredBody {
    private let store: UploadRepository
    private let upload: ReadyUpload

    init(_ store: UploadRepository, _ upload: ReadyUpload) {
        (self.store, self.upload) = (store, upload)
    }

    static func perform(_ bodies: [UploadBody], in database: Database) throws -> [UploadOutcome] {
        var appending = StreamLog.Appending()
        let outcomes = try bodies.map { try $0.store.store(database, $0.upload, &appending) }
        try appending.finish(database)
        return outcomes
    }

    static func committed(_ bodies: [UploadBody], _ outcomes: [UploadOutcome]) {
        for place in bodies.indices { bodies[place].store.committed(outcomes[place]) }
    }
}

extension ArraySlice<Int64> {
    /// The place of the first element that is not smaller; the slice is in order.
    private func place(of time: Int64) -> Int {
        var (low, high) = (startIndex, endIndex)
        while low < high {
            let middle = (low + high) / 2
            if self[middle] < time { low = middle + 1 } else { high = middle }
        }
        return low
    }

    fileprivate func hasElement(at time: Int64) -> Bool {
        let place = place(of: time)
        return place < endIndex && self[place] == time
    }

    fileprivate func hasElement(within outline: ChunkOutline) -> Bool {
        let place = place(of: outline.first)
        return place < endIndex && self[place] <= outline.last
    }
}
