// Sentences for upkeep: minutes of a day that hold all its chunks, day chunks instead of many small ones.

import Contracts
import GRDB
import Sealing
import ServiceKit
import Storage

/// What was found to be done for one day; carried out in a transaction of its own, if the day is still as it was.
struct DayWork: Sendable {
    enum Kind: Sendable {
        /// Sealed minutes that hold every chunk up to `through`.
        case keep(minutes: [UInt8], through: Int64)
        /// Larger chunks with the same entries as those that they replace.
        case replace(ids: [Int64], by: [SealedChunk])
        /// The person's key is gone; there is nothing to be done ever.
        case giveUp
    }

    let key: DayKey
    /// Whose day it is, and the key that its work was sealed under; nil where the key is gone.
    let owner: (person: PersonID, secret: SymmetricKey)?
    /// The state of the day that the work rests on.
    let rolledThrough: Int64
    let kind: Kind
}

struct UpkeepStore: Sendable {
    /// Entries that one merged chunk holds at most.
    private static let entriesPerChunk = 100_000

    let vault: ChunkVault
    private let log = StreamLog()

    init(vault: ChunkVault) {
        self.vault = vault
    }

    private var chunks: ChunkStore { vault.chunks }
    var days: DayStore { vault.days }

    private func owner(_ db: Database, of key: DayKey) throws -> (person: PersonID, secret: SymmetricKey)? {
        guard let person = try DeviceStore().person(db, key.series.person), let secret = try vault.keys.key(of: person) else { return nil }
        return (person, secret)
    }

    // MARK: Finding

    enum UpkeepJob: Sendable {
        case summing, merging
    }

    func find(_ db: Database, at keys: [DayKey], for job: UpkeepJob) throws -> [DayWork] {
        try keys.compactMap { key in
            switch job {
            case .summing: try summing(db, key)
            case .merging: try merging(db, key)
            }
        }
    }

    /// The day's minutes with everything that came since they were last summed up. Entries are never taken away, so that adding is
    /// enough. Nil where nothing came, or a chunk of it is damaged.
    private func summing(_ db: Database, _ key: DayKey) throws -> DayWork? {
        guard let state = try days.state(db, key), state.isDirty else { return nil }
        guard let (person, secret) = try owner(db, of: key) else {
            return DayWork(key: key, owner: nil, rolledThrough: state.rolledThrough, kind: .giveUp)
        }
        let through = try chunks.highestID(db)
        let minutes = try vault.minutes(of: state, key.series, of: person, under: secret)
        var sum = minutes ?? RollUp(width: Granularity.minuteWidth)
        let range = UTCDay.range(key.day)
        let missing = DamagedPeriods()
        try chunks.each(db, of: key.series, in: range, after: minutes == nil ? 0 : state.rolledThrough) { chunk in
            let opened = try vault.undamaged(chunk, noting: missing) { try vault.open($0, of: person, key: secret) } ?? []
            sum.add(opened.filter { range.contains($0.at.milliseconds) })
        }
        // Whoever reads the day goes on opening its chunks, and is sent what is missing; kept minutes would hide it.
        guard missing.all.isEmpty else { return nil }
        let sealed = try vault.seal(minutes: sum, key, of: person, under: secret)
        return DayWork(
            key: key, owner: (person, secret), rolledThrough: state.rolledThrough, kind: .keep(minutes: sealed, through: through))
    }

    /// The day's chunks merged by device, in order of time. Nil while a row of the stream's log still names one of them: the row is
    /// rendered from it.
    private func merging(_ db: Database, _ key: DayKey) throws -> DayWork? {
        guard let state = try days.state(db, key), !state.isDirty else { return nil }
        guard let (person, secret) = try owner(db, of: key) else {
            return DayWork(key: key, owner: nil, rolledThrough: state.rolledThrough, kind: .giveUp)
        }
        let range = UTCDay.range(key.day)
        let oldest = try log.oldest(db, StreamFamily.samplesStream(of: person))
        guard try chunks.highestSequence(db, of: key.series, within: range) < oldest else { return nil }
        var replaced: [Int64] = []
        var larger: [SealedChunk] = []
        let byDevice = Dictionary(grouping: try chunks.chunks(db, of: key.series, within: range), by: \.device)
        for (device, group) in byDevice where group.count > 1 {
            // A damaged chunk stays as it is.
            let opened = try group.compactMap { chunk in
                try vault.undamaged(chunk) { try vault.open($0, of: person, key: secret) }.map { (chunk.id, $0) }
            }
            guard opened.count > 1 else { continue }
            let samples = opened.flatMap(\.1).sorted { $0.at < $1.at }
            for start in stride(from: 0, to: samples.count, by: Self.entriesPerChunk) {
                let part = Array(samples[start..<min(samples.count, start + Self.entriesPerChunk)])
                guard let outline = ChunkOutline(of: part) else { continue }
                larger.append(try vault.seal(part, outline: outline, series: key.series, of: person, device: device, key: secret))
            }
            replaced += opened.map(\.0)
        }
        return DayWork(key: key, owner: (person, secret), rolledThrough: state.rolledThrough, kind: .replace(ids: replaced, by: larger))
    }

    // MARK: Forgetting

    /// Forgets what was measured before `time`, and past days whole. Of its rows in the stream's log only their places stay.
    /// - Returns: how many chunks; `limit` means that there may be more.
    func forget(_ db: Database, entriesOf person: PersonID, before time: Timestamp, limit: Int) throws -> Int {
        guard let number = try DeviceStore().personNumber(db, person) else { return 0 }
        let ended = try chunks.ended(db, of: number, before: time, limit: limit)
        let stream = StreamFamily.samplesStream(of: person)
        for sequence in Set(ended.map { $0.sequence }) { _ = try log.erase(db, person, in: stream, range: sequence...sequence) }
        try chunks.delete(db, ids: ended.map { $0.id })
        try days.forget(db, of: number, before: UTCDay.number(of: time.milliseconds))
        return ended.count
    }

    // MARK: Doing

    /// Carries out what was found, unless the day is no longer as it was found; then the next round finds it again.
    func carryOut(_ db: Database, _ work: DayWork, nextID: () -> Int64) throws {
        guard let state = try days.state(db, work.key), state.rolledThrough == work.rolledThrough else { return }
        // The person's data were erased meanwhile: what was sealed before must not come back.
        if let owner = work.owner, !vault.keys.isCurrent(owner.secret, of: owner.person) { return }
        switch work.kind {
        case .keep(let minutes, let through):
            // Chunks that came since then keep the day dirty.
            let isDirty = try chunks.hasNewer(db, of: work.key.series, than: through)
            try days.keep(db, work.key, minutes: minutes, through: through, isDirty: isDirty)
        case .replace(let ids, let larger):
            guard !state.isDirty else { return }
            var through = state.rolledThrough
            for chunk in larger {
                through = nextID()
                try chunks.insert(db, chunk, id: through, sequence: 0)
            }
            try chunks.delete(db, ids: ids)
            try days.noteCompacted(db, work.key, through: through)
        case .giveUp:
            // Collected data were erased, and what comes now is sealed under a new key.
            guard try owner(db, of: work.key) == nil else { return }
            try days.giveUp(db, work.key)
        }
    }
}
