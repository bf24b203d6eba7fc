// Writes file jobs in the background, organisations in turn, and hands their files out as long as the request allows it.

import Contracts
import Logging
import Sealing
import ServiceKit
import Storage

struct DataFileService: Sendable {
    /// Where a file is cut, in bytes.
    static let cutAt = 32 << 20
    /// Jobs that a list shows.
    static let listed = 100
    static let day = Duration.seconds(24 * 3600)
    /// Values of one question.
    private static let page = 10_000
    /// Times that a manifest names as damaged at most.
    private static let mostDamaged = 1000
    /// How long a job waits where its data could not be had.
    private static let pause = Duration.seconds(5)
    /// After this a job that could not be written is given up (SHR-10).
    private static let retryTimeout = Duration.seconds(24 * 3600)
    private static let pollInterval = Duration.seconds(10)
    /// Jobs that are written at the same time, of different organisations.
    static let atOnce = 2

    enum Beginning: Sendable {
        case begun(DataFileJob)
        /// So many were begun in a day; another one may be after that long.
        case exhausted(until: Duration)
    }

    let store: Store
    let keys: PersonKeys
    let files: SealedFiles
    let data: DataService
    let gate: FeedGate
    let settings: RequestSettings
    let logger: Logger
    let clock: @Sendable () -> Timestamp
    let table = DataFileStore()
    private let turns = FileTurns()
    private let wakeUps = (0..<DataFileService.atOnce).map { _ in WakeUpSignal() }

    init(
        store: Store, keys: PersonKeys, files: SealedFiles, data: DataService, gate: FeedGate,
        settings: RequestSettings, logger: Logger, clock: @escaping @Sendable () -> Timestamp
    ) {
        (self.store, self.keys, self.files, self.data, self.gate) = (store, keys, files, data, gate)
        (self.settings, self.logger, self.clock) = (settings, logger, clock)
    }

    // MARK: Asking

    /// Asking for the same that is being written gives that one.
    /// - Throws: `DataAccess.Refusal`; `KeyDestroyed` where the person is gone.
    func begin(_ order: DataFileOrder, of request: MadeRequest) async throws -> Beginning {
        guard let person = request.person else { throw KeyDestroyed() }
        let now = clock()
        let job = DataFileJob(
            job: .random(), request: request.id, organisation: request.organisation, person: person, state: .open, order: order,
            createdAt: now, endedAt: nil, parts: [], fault: nil)
        let limit = settings.filesPerDay
        let beginning = try await store.write { [table] db -> Beginning in
            let known = try table.list(db, of: request.id, limit: Self.listed)
            if let same = known.first(where: { $0.state == .open && $0.order == order }) { return .begun(same) }
            let begun = try table.begun(db, of: request.organisation, since: now - Self.day, at: now)
            if begun.count >= limit { return .exhausted(until: begun[begun.count - limit] + Self.day - now) }
            try table.add(db, job)
            return .begun(job)
        }
        wake()
        return beginning
    }

    func find(_ job: JobID, of request: RequestID) async throws -> DataFileJob? {
        try await store.readBriefly { [table] db in try table.find(db, job, of: request) }
    }

    func list(of request: RequestID) async throws -> [DataFileJob] {
        try await store.read { [table] db in try table.list(db, of: request, limit: Self.listed) }
    }

    func remove(_ job: DataFileJob) async throws {
        try await store.write { [table, clock] db in try table.remove(db, job.job, at: clock()) }
        files.remove(job.job)
    }

    /// When the files will be gone; nil where there are none.
    func expiry(of job: DataFileJob) -> Timestamp? {
        job.state == .done ? job.endedAt.map { $0 + settings.filesKept } : nil
    }

    /// Whether a finished job's files may leave now: looked at again while they are read, so that a withdrawal stops what is on its way
    /// (SHR-16), and so does consent's silence.
    func mayLeave(_ job: DataFileJob) async throws -> Bool {
        guard gate.isOpen, try await find(job.job, of: job.request)?.state == .done,
            let found = try await data.find(job.request, of: job.organisation)
        else { return false }
        return (try? DataAccess.grant(of: found.stored.request, isPaid: found.isPaid)) != nil
    }

    /// The file's blocks, opened one after the other.
    /// - Throws: `KeyDestroyed`, `SealedFiles.Fault`.
    func read(_ job: DataFileJob, part: Int) throws -> SealedFileReader {
        guard let key = try keys.key(of: job.person) else { throw KeyDestroyed() }
        return try files.read(job.job, file: part, key: key)
    }

    // MARK: Writing

    /// There is something to write or to remove.
    func wake() {
        for wakeUp in wakeUps { wakeUp.notify() }
    }

    /// Runs until it is cancelled.
    func run() async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (place, wakeUp) in wakeUps.enumerated() {
                let loop = WorkLoop(every: Self.pollInterval, signal: wakeUp) { [logger] error in
                    logger.warning("file jobs could not be run; retrying", metadata: ["error": "\(String(reflecting: type(of: error)))"])
                }
                group.addTask {
                    try await loop.run {
                        // One of them keeps the folder tidy.
                        if place == 0 { try await sweep() }
                        return try await workOff() ? .atOnce : .whenWoken
                    }
                }
            }
            try await group.waitForAll()
        }
    }

    /// Removes what has expired or is no longer allowed, rows first. What is begun meanwhile is not among what is looked at.
    func sweep() async throws {
        let (now, found) = (clock(), files.found)
        let known = try await store.write { [table, settings] db in
            try table.expire(db, endedBefore: now - settings.filesKept, at: now)
            return try table.withFiles(db)
        }
        files.sweep(found, keeping: known)
    }

    /// One job; false where none waits that may be begun.
    func workOff() async throws -> Bool {
        let now = clock()
        let waiting = try await store.read { [table] db in try table.next(db, at: now, longest: Self.pause) }
        guard let job = turns.begin(waiting) else { return false }
        defer {
            turns.end(job)
            wake()
        }
        // Looked at again, now that nobody else writes it: another one may have ended it between the look and the turn.
        guard try await find(job.job, of: job.request)?.state == .open else { return true }
        do {
            let (parts, damaged) = try await write(job)
            try await end(job, .done, parts: parts, damaged: damaged)
        } catch let error where (error is DataRefusal || error is DamagedKey) && now < job.createdAt + Self.retryTimeout {
            try await store.write { [table] db in try table.postpone(db, job.job, until: now + Self.pause) }
        } catch let refusal as DataAccess.Refusal {
            try await end(job, .failed, fault: refusal.problem.detail)
        } catch is KeyDestroyed {
            try await remove(job)
        } catch SealedFiles.Fault.noRoom {
            try await end(job, .failed, fault: "There is no room to write the file. Ask again later, or for less.")
        } catch let error where error is DataRefusal || error is SealedFiles.Fault || error is SealingError || error is DamagedKey {
            logger.error("a data file failed", metadata: ["job": "\(job.job)", "error": "\(String(reflecting: type(of: error)))"])
            try await end(job, .failed, fault: "The data could not be had or written. Ask again.")
        }
        return true
    }

    private func end(
        _ job: DataFileJob, _ state: DataFileState, parts: [DataFilePart] = [], damaged: [DamagedEntries] = [], fault: String? = nil
    ) async throws {
        let isKept = try await store.write { [table, clock] db in
            try table.end(db, job.job, state, parts: parts, damaged: damaged, fault: fault, at: clock())
        }
        // Withdrawn between the last value and the end: then nothing of it stays.
        if !isKept || state == .failed { files.remove(job.job) }
    }

    /// Writes the job from its beginning; what an earlier try left is written over.
    private func write(_ job: DataFileJob) async throws -> (parts: [DataFilePart], damaged: [DamagedEntries]) {
        let key = try await keys.makeKey(for: job.person)
        let writer = DataFileWriter(job.order.format, of: job.request, cutAt: Self.cutAt) { [files] in
            try files.write(job.job, file: $0, key: key)
        }
        var damaged: [DamagedEntries] = []
        for group in Self.groups(job.order.types) {
            var sources: [ValueSource] = []
            for type in group {
                guard
                    let opened = try await data.open(
                        job.request, of: job.organisation, type: type, from: job.order.from, to: job.order.to)
                else { throw KeyDestroyed() }
                sources.append(ValueSource(opened))
            }
            while let sample = try await next(&sources) { try writer.add(sample) }
            damaged += sources.flatMap(\.damaged)
        }
        damaged = Array(damaged.prefix(Self.mostDamaged))
        try writer.finish(without: damaged)
        try files.settle(job.job)
        return (writer.parts, damaged)
    }

    /// Maximum and minimum of blood pressure come together, so that they can be told together.
    static func groups(_ types: [Metric]) -> [[Metric]] {
        let pair = types.filter { $0 == .bloodPressureMax || $0 == .bloodPressureMin }
        return (pair.isEmpty ? [] : [pair]) + types.filter { !pair.contains($0) }.map { [$0] }
    }

    /// The earliest of several types' next values.
    private func next(_ sources: inout [ValueSource]) async throws -> Sample? {
        for place in sources.indices where sources[place].needsPage {
            let opened = sources[place].opened
            // Looked at anew before each page: what was withdrawn meanwhile ends the job.
            let access = opened.access
            guard
                let current = try await data.open(
                    access.request, of: opened.stored.request.organisation, type: access.type, from: access.from, to: access.to)
            else { throw KeyDestroyed() }
            sources[place].take(try await data.page(current, after: sources[place].after, limit: Self.page))
        }
        let first = sources.indices.filter { sources[$0].first != nil }.min { one, other in
            guard let a = sources[one].first, let b = sources[other].first else { return false }
            return (a.at, a.type.number) < (b.at, b.type.number)
        }
        return first.flatMap { sources[$0].pop() }
    }
}

/// One type's values, a page at a time, in order of time.
private struct ValueSource {
    let opened: OpenedAccess
    private(set) var after: String?
    /// In order of time, each once, although pages that share a chunk name it both.
    private(set) var damaged: [DamagedEntries] = []
    /// The page in reverse, so that taking the first is cheap.
    private var waiting: [Sample] = []
    private var isOver = false

    init(_ opened: OpenedAccess) {
        self.opened = opened
    }

    var needsPage: Bool { waiting.isEmpty && !isOver }

    var first: Sample? { waiting.last }

    mutating func take(_ reply: ReadSamples.Reply) {
        waiting = reply.columns.samples.reversed()
        for period in reply.damaged ?? [] {
            let found = DamagedEntries(type: opened.access.type, from: period.from, to: period.to)
            if damaged.last != found { damaged.append(found) }
        }
        after = reply.next
        isOver = reply.next == nil
    }

    mutating func pop() -> Sample? { waiting.popLast() }
}
