// Moves what the write-ahead log holds into the file.

import Contracts
import Dispatch
import Foundation
import GRDB
import Logging

/// A thread with a connection of its own copies pages beside the writer (PASSIVE waits for nobody and holds nobody up), often and
/// little at a time: while the file is flushed, a commit's own flush waits. Under steady load that never catches up entirely;
/// a log that grows past a part of its limit is begun anew by the writer between two groups, when little is left to copy. Its
/// file stays as long as it was: writing over what is there flushes faster than making it longer.
final class Checkpointer: Sendable {
    private let connection: DatabaseQueue
    private let settings: StoreSettings
    private let length: LogLength
    private let file: StoreFile
    private let queue: WriteQueue
    private let metrics: StoreMetrics
    private let fatal: FatalFault
    private let stopped = DispatchSemaphore(value: 0)
    private let ended = DispatchSemaphore(value: 0)

    /// How long the writer may be held up by readers of an old state before beginning anew is put off.
    private static let restartTimeout: Duration = .milliseconds(200)
    /// The log is begun anew at this part of its limit.
    private static let restartPart = 4
    /// A page of the log with its header.
    private static let frameSize = 4096 + 24
    /// Emptying that fails so often in a row is said in the log: a reader holds an old state.
    private static let failuresUntilWarning = 3

    init(
        connection: DatabaseQueue, settings: StoreSettings, length: LogLength, file: StoreFile, queue: WriteQueue,
        metrics: StoreMetrics, fatal: FatalFault
    ) {
        (self.connection, self.settings, self.length, self.file) = (connection, settings, length, file)
        (self.queue, self.metrics, self.fatal) = (queue, metrics, fatal)
    }

    func start(named name: String) {
        let thread = Thread { [self] in
            run()
            ended.signal()
        }
        thread.name = name
        thread.start()
    }

    func askToStop() {
        stopped.signal()
    }

    /// Blocks until the thread is over.
    func stop() {
        askToStop()
        ended.wait()
        ended.signal()
    }

    private func run() {
        var failures = 0
        let interval = DispatchTimeInterval.milliseconds(Int(settings.checkpointInterval.wholeMilliseconds))
        while stopped.wait(timeout: .now() + interval) == .timedOut {
            metrics.log(bytes: file.logSize)
            guard length.pages > settings.checkpointPages else { continue }
            do {
                try copy()
                if length.pages * Checkpointer.frameSize > settings.logLimit / Checkpointer.restartPart { try restart() }
                failures = 0
            } catch {
                guard keepOn(after: error, failures: &failures) else { return }
            }
        }
    }

    private func copy() throws {
        let result = try connection.writeWithoutTransaction { try $0.checkpoint(.passive) }
        if result.checkpointedFrameCount == result.walFrameCount, result.walFrameCount == length.pages { length.wasCheckpointed() }
    }

    private func restart() throws {
        let done = DispatchSemaphore(value: 0)
        let outcome = Answer<Void>()
        let work = Checkpointer.copyingAll(.restart, timeout: Checkpointer.restartTimeout, then: settings.lockTimeout, length: length) {
            outcome.put($0)
            done.signal()
        }
        try queue.add(maintenance: work)
        done.wait()
        try outcome.take().get()
    }

    /// Work for the writer: copies the rest. After `.restart` the next commit begins the log anew; `.truncate` makes its file empty
    /// as well, so that nothing deleted is left in it.
    static func copyingAll(
        _ mode: Database.CheckpointMode, timeout: Duration, then usual: Duration, length: LogLength,
        answer: @escaping @Sendable (Result<Void, any Error>) -> Void
    ) -> WaitingWrite {
        WaitingWrite(
            perform: { database in
                try database.execute(sql: "PRAGMA busy_timeout = \(timeout.wholeMilliseconds)")
                let result = Result { try database.checkpoint(mode) }
                try database.execute(sql: "PRAGMA busy_timeout = \(usual.wholeMilliseconds)")
                _ = try result.get()
                length.wasCheckpointed()
                return { answer(.success(())) }
            },
            refuse: { answer(.failure($0)) })
    }

    private func keepOn(after error: any Error, failures: inout Int) -> Bool {
        if let fault = Fault(error), fault.isFatal {
            fatal.happened(fault.code, refusing: queue)
            return false
        }
        switch error as? StoreError {
        case .closed?, .broken?: return false
        default: break
        }
        failures += 1
        if failures.isMultiple(of: Checkpointer.failuresUntilWarning) {
            fatal.logger.warning(
                "the write-ahead log cannot be copied",
                metadata: ["bytes": "\(file.logSize)", "code": "\(Fault(error)?.code ?? 0)", "times": "\(failures)"])
        }
        return true
    }
}
