// One kind of job in a real file, with a clock that is moved and a peer that answers as it is told.

import Contracts
import Foundation
import GRDB
import Logging
import Sealing
import Storage
import Synchronization
import TestKit
import Testing

@testable import ServiceKit

struct Note: Hashable, Codable, Sendable {
    var text: String
}

/// Whom the jobs are for.
final class PlayedPeer: Sendable {
    private struct State {
        var taken: [String] = []
        var asked: [String] = []
        var failures: [String: any Error] = [:]
        var everybodys: (any Error)?
        var hook: (@Sendable (String) async throws -> Void)?
    }

    private let state = Mutex(State())

    /// What was done, in order.
    var taken: [String] { state.withLock { $0.taken } }
    /// What was tried, in order.
    var asked: [String] { state.withLock { $0.asked } }

    func fail(_ error: (any Error)?, of text: String? = nil) {
        state.withLock { state in
            if let text { state.failures[text] = error } else { state.everybodys = error }
        }
    }

    /// Called within each attempt.
    func during(_ hook: (@Sendable (String) async throws -> Void)?) {
        state.withLock { $0.hook = hook }
    }

    func take(_ text: String) async throws {
        let hook = state.withLock { state in
            state.asked.append(text)
            return state.hook
        }
        try await hook?(text)
        try state.withLock { state in
            if let failure = state.failures[text] ?? state.everybodys { throw failure }
            state.taken.append(text)
        }
    }
}

final class JobHarness: Sendable {
    static let logger = Running.quiet
    static let kind = JobKind(
        "note", concurrency: 4, backoff: Backoff(.seconds(10), upTo: .seconds(300)), silence: Backoff(.seconds(1), upTo: .seconds(8)))

    let store: Store
    let clock: TestClock
    let peer: PlayedPeer
    let queue: JobQueue<Note>
    let runner: JobRunner<Note, String>

    init(
        _ folder: URL, kind: JobKind = JobHarness.kind, key: SymmetricKey, clock: TestClock = TestClock(), peer: PlayedPeer = PlayedPeer(),
        poll: Duration = .seconds(10), random: Double = 0.999, store: Store? = nil,
        effect: @escaping @Sendable (String) throws -> Void = { _ in }, ahead: @escaping @Sendable () -> Duration = { .zero }
    ) throws {
        (self.clock, self.peer) = (clock, peer)
        self.store =
            try store
            ?? Store.open(
                folder.appendingPathComponent("jobs.db"), applicationID: 1,
                migrations: [
                    Migration(1, "jobs") { db in
                        try JobTable.create(in: db)
                        try db.execute(sql: "CREATE TABLE effects (number INTEGER PRIMARY KEY, text TEXT NOT NULL) STRICT")
                    }
                ], logger: Self.logger)
        let (begun, start) = (ContinuousClock.now, clock.now)
        queue = JobQueue(kind, sealed: .under(key) { "note|\($0.id)" }, now: { clock.now + ahead() })
        runner = JobRunner(
            queue, in: self.store, logger: Self.logger, poll: poll, random: { random }, steady: { begun + (clock.now - start) }
        ) { job in
            try await peer.take(job.body.text)
            return { db in
                try db.execute(sql: "INSERT INTO effects (text) VALUES (?)", arguments: [job.body.text])
                try effect(job.body.text)
                return "done \(job.body.text)"
            }
        }
    }

    /// Gives `body` an empty folder and a key.
    static func inFolder(_ body: (URL, SymmetricKey) async throws -> Void) async throws {
        try await withTemporaryFolder { try await body($0, .random()) }
    }

    /// In a folder of its own; its store is closed afterwards.
    static func run(_ body: (JobHarness) async throws -> Void) async throws {
        try await inFolder { folder, key in
            try await withHarness(JobHarness(folder, key: key), body) { await $0.store.close() }
        }
    }

    func add(
        _ texts: String..., of person: PersonID? = nil, key: String? = nil, start: JobQueue<Note>.Start = .now, notAfter: Timestamp? = nil
    ) async throws {
        try await store.write { [queue] db in
            for text in texts {
                try queue.enqueue(db, Note(text: text), id: text, of: person, orderingKey: key, start: start, notAfter: notAfter)
            }
        }
    }

    func effects() async throws -> [String] {
        try await store.read { db in try String.fetchAll(db, sql: "SELECT text FROM effects ORDER BY number") }
    }

    /// Ids of what is not done, dead or not.
    func left() async throws -> [String] {
        try await store.read { db in try String.fetchAll(db, sql: "SELECT id FROM jobs ORDER BY number") }
    }

    func dead() async throws -> [String] {
        try await store.read { db in try JobTable().dead(db, limit: 100).map { "\($0.kind) \($0.error)" } }
    }

    /// When the job is due, from now.
    func pause(of id: String) async throws -> Duration? {
        try await store.read { [clock] db in
            try Int64.fetchOne(db, sql: "SELECT due FROM jobs WHERE id = ?", arguments: [id]).map { due in
                Timestamp(milliseconds: due) - clock.now
            }
        }
    }

    /// Runs the background part while `body` does.
    func running<Value>(_ body: () async throws -> Value) async throws -> Value {
        let task = Task { [runner] in try await runner.run() }
        defer { task.cancel() }
        let value = try await body()
        task.cancel()
        _ = await task.result
        return value
    }
}
