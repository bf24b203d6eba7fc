// One service's SQLite file: durable writes in groups, concurrent reads, and no life after a fault of the disk.

import Dispatch
package import Foundation
package import GRDB
package import Logging

/// What `write` has returned survives a kill and a power cut. One process, one `Store` for each file; the file is made on first
/// opening, readable by its owner alone. Usable from any task or thread.
package final class Store: Sendable {
    private let file: StoreFile
    private let pool: DatabasePool
    private let connection: DatabaseQueue
    private let brief: BriefReaders
    private let length: LogLength
    private let settings: StoreSettings
    let writer: Writer
    private let checkpointer: Checkpointer
    private let fatal: FatalFault

    /// Opens or makes the file, proves the settings that durability rests on, and brings the schema up to the last migration.
    /// - Parameter applicationID: SQLite's `application_id`, one for each kind of store in the suite.
    /// - Parameter migrations: numbered 1, 2, 3, …
    /// - Throws: `inUse`, `newerSchema`, `foreign`, `misnumberedMigration`, `tableNotStrict`, `settingRefused`, `cannotOpen`,
    ///   `damagedLog`, `unreachable`, `full`.
    package static func open(
        _ file: URL, applicationID: Int32, migrations: [Migration], settings: StoreSettings = StoreSettings(), logger: Logger
    ) throws(StoreError) -> Store {
        do {
            return try Store(StoreFile(file), applicationID, migrations, settings, logger)
        } catch {
            switch Fault.translate(error) {
            case let error as StoreError: throw error
            default: throw .cannotOpen(code: Fault(error)?.code ?? 0)
            }
        }
    }

    private init(
        _ file: StoreFile, _ applicationID: Int32, _ migrations: [Migration], _ settings: StoreSettings, _ logger: Logger
    ) throws {
        let recipe = ConnectionSetup(settings: settings)
        if settings.synchronous == .full { try LogIntegrity.require(of: file.path) }
        // Looks before the pool opens, which would turn on the log in a file that is not ours.
        let connection = try DatabaseQueue(path: file.path, configuration: recipe.configuration(label: file.name + ".checkpoint"))
        let isNew = try connection.inDatabase { database in
            let isNew = try Identity.check(database, is: applicationID, knowing: migrations.count)
            if !isNew { try Integrity.requireInSmall(database) }
            return isNew
        }
        let pool = try DatabasePool(path: file.path, configuration: recipe.configuration(label: file.name))
        let length = LogLength()
        try pool.writeWithoutTransaction { database in
            try recipe.setSynchronous(database)
            length.watch(database)
            if isNew { try Identity.set(database, applicationID) }
            try Migration.bring(database, to: migrations)
        }
        try connection.inDatabase { try recipe.setSynchronous($0) }
        brief = BriefReaders(most: settings.briefReaders) { [name = file.name, path = file.path] in
            var configuration = recipe.configuration(label: name + ".brief")
            configuration.readonly = true
            return try DatabaseQueue(path: path, configuration: configuration)
        }
        let metrics = StoreMetrics(store: file.name)
        (self.file, self.pool, self.connection, self.length, self.settings) = (file, pool, connection, length, settings)
        fatal = FatalFault(file: file.path, logger: logger, end: settings.onFatal)
        // A played disk says by itself when it is full.
        let room = DiskRoom { [path = file.path] in settings.disk == nil ? settings.freeBytes(path) : nil }
        writer = Writer(pool: pool, settings: settings, metrics: metrics, room: room, fatal: fatal)
        checkpointer = Checkpointer(
            connection: connection, settings: settings, length: length, file: file, queue: writer.queue, metrics: metrics, fatal: fatal)
        guard settings.disk == nil else { return }
        writer.start(named: file.name + " writer")
        checkpointer.start(named: file.name + " checkpoint")
    }

    deinit {
        writer.queue.close()
        checkpointer.askToStop()
    }
}

// MARK: Put back

extension Store {
    /// What it says is not what it said: it was restored under a running suite. Ends the process; the next one begins a new life.
    package func endAsPutBack() {
        StoreLife(beside: URL(fileURLWithPath: file.path)).forget()
        fatal.happened(0, refusing: writer.queue)
    }
}

// MARK: Writing

extension Store {
    /// Runs `body` in the next group's transaction and returns once that is on disk. A body that throws undoes only itself and its
    /// error comes back unchanged. Bodies run one after the other in the order in which they were handed over; they must not wait
    /// for anything, begin or end transactions, or keep the `Database`. Cancelling the task does not take a body back. What is to happen
    /// only once the body is on disk, it gives to `Database.afterCommit`.
    /// - Throws: what `body` throws, or `full`, `busy`, `undone`, `closed`.
    package func write<Value: Sendable>(_ body: @escaping @Sendable (Database) throws -> Value) async throws -> Value {
        if let disk = settings.disk { return try await disk.write { try writeNow(body) } }
        return try await withCheckedThrowingContinuation { continuation in
            enqueue(body) { continuation.resume(with: $0) }
        }
    }

    /// As `write`, blocking the calling thread: for start-up and for threads of their own, never in a task.
    package func writeNow<Value: Sendable>(_ body: @escaping @Sendable (Database) throws -> Value) throws -> Value {
        let done = DispatchSemaphore(value: 0)
        let answer = Answer<Value>()
        enqueue(body) { result in
            answer.put(result)
            done.signal()
        }
        done.wait()
        return try answer.take().get()
    }

    /// As `write`, for callers that cannot wait: `answer` is called once, from any thread.
    func enqueue<Value: Sendable>(
        _ body: @escaping @Sendable (Database) throws -> Value, answer: @escaping @Sendable (Result<Value, any Error>) -> Void
    ) {
        enqueue(
            WaitingWrite(
                perform: { database in
                    let value = try body(database)
                    return { answer(.success(value)) }
                },
                refuse: { answer(.failure($0)) }))
    }

    func enqueue(_ write: WaitingWrite) {
        guard settings.disk == nil else { return writer.commitAtOnce(write) }
        do {
            try writer.queue.add(write)
        } catch {
            write.refuse(error)
        }
    }

    /// Empties the write-ahead log into the file: afterwards nothing that was deleted is left in either. Part of destroying a key.
    /// - Throws: `busy` where a long read still needs the old state; ask again.
    package func emptyLog() async throws {
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
            do {
                try writer.queue.add(
                    maintenance: Checkpointer.copyingAll(
                        .truncate, timeout: settings.lockTimeout, then: settings.lockTimeout, length: length
                    ) {
                        continuation.resume(with: $0)
                    })
            } catch {
                continuation.resume(throwing: error)
            }
        }
    }
}

// MARK: Room

extension Store {
    /// False while the disk has no room for what is to be written, whether or not somebody has tried. Costs one call of the system, but
    /// after a write was refused: then it writes the file's header once more, to see whether there is room again.
    package func hasRoom() async -> Bool {
        switch writer.room.knowledge {
        case .room: return true
        case .full: return false
        case .unknown:
            let isWritten: Void? = try? await write { db in
                let version = try Int.fetchOne(db, sql: "PRAGMA user_version") ?? 0
                try db.execute(sql: "PRAGMA user_version = \(version)")
            }
            if isWritten != nil { writer.room.hasRoom() }
            return isWritten != nil
        }
    }
}

// MARK: Copying

extension Store {
    /// See `copy(to:)`.
    func vacuum(into file: URL) async throws {
        try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
            // It takes as long as writing the file takes.
            aside { [connection] in
                continuation.resume(
                    with: Result {
                        try connection.inDatabase { try $0.execute(sql: "VACUUM INTO ?", arguments: [file.path]) }
                    }.mapError(Fault.translate))
            }
        }
    }
}

// MARK: Reading and closing

extension Store {
    /// Runs `body` on a state of the file that holds at least everything acknowledged before the call, beside the writer.
    /// - Throws: what `body` throws, `busy`, `closed`, or `CancellationError`.
    package func read<Value: Sendable>(_ body: @escaping @Sendable (Database) throws -> Value) async throws -> Value {
        guard settings.disk == nil else { return try readNow(body) }
        do {
            return try await pool.read(body)
        } catch {
            throw answer(toReaderAbout: error)
        }
    }

    /// As `read`, for what a millisecond is enough for: it is read on the calling thread, which spares two changes of thread, unless
    /// as many as may are doing so already.
    package func readBriefly<Value: Sendable>(_ body: @escaping @Sendable (Database) throws -> Value) async throws -> Value {
        do {
            if let value = try briefly(body) { return value }
        } catch {
            throw answer(toReaderAbout: error)
        }
        return try await read(body)
    }

    private func briefly<Value>(_ body: (Database) throws -> Value) throws -> Value? {
        guard let reader = try brief.take() else { return nil }
        defer { brief.giveBack(reader) }
        return try reader.inDatabase { database in
            // One state of the file, as the pool's own reads see it, by statements that are kept.
            try database.run("BEGIN DEFERRED")
            defer { if database.isInsideTransaction { try? database.run("COMMIT") } }
            return try body(database)
        }
    }

    /// Counts all commits since the store was opened, each before its writers are told. Whoever remembers what was read, and the
    /// number from before that, need not read again while the number is the same.
    package var commits: Int { length.commits }

    /// As `read`, blocking the calling thread: for start-up and for threads of their own, never in a task.
    package func readNow<Value>(_ body: (Database) throws -> Value) throws -> Value {
        do {
            return try pool.read(body)
        } catch {
            throw answer(toReaderAbout: error)
        }
    }

    private func answer(toReaderAbout error: any Error) -> any Error {
        guard let fault = Fault(error) else { return error }
        if fault.isFatal {
            fatal.happened(fault.code, refusing: writer.queue)
            return StoreError.broken
        }
        return writer.queue.isClosed ? StoreError.closed : Fault.translate(error)
    }

    /// Refuses what is new, finishes what has been taken, and closes the file. Returns when that is done; may be called again.
    package func close() async {
        await withCheckedContinuation { continuation in
            aside { [self] in
                closeNow()
                continuation.resume()
            }
        }
    }

    /// As `close`, blocking the calling thread.
    func closeNow() {
        if settings.disk == nil {
            writer.stop()
            checkpointer.stop()
        }
        brief.close()
        do {
            try pool.close()
            // Last, because it writes: SQLite then moves the whole log into the file. Behind the pool's readers, which may not write, the
            // log would lie there until the next start, and damage to its end would look like a power cut.
            try connection.close()
        } catch {
            fatal.logger.warning("a store was not closed cleanly", metadata: ["code": "\(Fault(error)?.code ?? 0)"])
        }
        file.release()
    }

    /// Runs what blocks for long on a thread of its own.
    private func aside(_ work: @escaping @Sendable () -> Void) {
        if settings.disk == nil { Thread(block: work).start() } else { work() }
    }
}
