// A small store for the tests of this folder.

import Dispatch
import Foundation
import GRDB
import Logging
import Synchronization
import TestKit
import Testing

@testable import Storage

/// Takes notes; a note refers to another one, checked at the commit.
enum NoteStore {
    static let applicationID: Int32 = 0x544d_3031

    static let migrations = [
        Migration(1, "notes") { db in
            try db.execute(
                sql: """
                    CREATE TABLE notes (
                        id INTEGER PRIMARY KEY,
                        text TEXT NOT NULL,
                        answers INTEGER REFERENCES notes (id) DEFERRABLE INITIALLY DEFERRED
                    ) STRICT;
                    """)
        }
    ]

    static let logger = Running.quiet

    static func open(
        in folder: URL, migrations: [Migration] = NoteStore.migrations, _ change: (inout StoreSettings) -> Void = { _ in }
    ) throws(StoreError) -> Store {
        var settings = StoreSettings()
        settings.onFatal = { code in preconditionFailure("an unexpected fatal fault, code \(code)") }
        change(&settings)
        return try Store.open(file(in: folder), applicationID: applicationID, migrations: migrations, settings: settings, logger: logger)
    }

    static func file(in folder: URL) -> URL {
        folder.appendingPathComponent("notes.db")
    }

    static func insert(_ text: String, answers: Int? = nil) -> @Sendable (Database) throws -> Int64 {
        { db in
            try db.execute(sql: "INSERT INTO notes (text, answers) VALUES (?, ?)", arguments: [text, answers])
            return db.lastInsertedRowID
        }
    }

    static func texts(_ db: Database) throws -> [String] {
        try String.fetchAll(db, sql: "SELECT text FROM notes ORDER BY id")
    }
}

/// How the store commits whose promises `GroupCommitTests`, `GatheredBodyTests` and `DiskFaultTests` hold. Another way through
/// `GroupCommit.commit` is one more value here.
struct CommitUnderTest: Sendable, CustomTestStringConvertible {
    let testDescription: String
    /// Opens the store of notes that is in the folder, or makes it.
    let open: @Sendable (_ folder: URL, _ change: (inout StoreSettings) -> Void) throws -> Store

    static let fileAlone = CommitUnderTest(testDescription: "to the file alone") { try NoteStore.open(in: $0, $1) }

    static let all = [fileAlone]
}

/// Opens a store in a folder of its own and closes it afterwards.
func withNotes<Value>(
    of commit: CommitUnderTest = .fileAlone, _ change: (inout StoreSettings) -> Void = { _ in }, _ body: (Store) async throws -> Value
) async throws -> Value {
    try await withTemporaryFolder { folder in
        let store = try commit.open(folder, change)
        do {
            let value = try await body(store)
            await store.close()
            return value
        } catch {
            await store.close()
            throw error
        }
    }
}

struct Refused: Error {}

/// Results in the order in which they came.
final class Answers<Value: Sendable>: Sendable {
    private let list = Mutex<[Result<Value, any Error>]>([])

    func add(_ result: Result<Value, any Error>) {
        list.withLock { $0.append(result) }
    }

    var all: [Result<Value, any Error>] { list.withLock { $0 } }
}

extension Store {
    /// Holds the writer in a body until `release` is signalled; returns once it is held.
    func holdWriter() -> DispatchSemaphore {
        let release = DispatchSemaphore(value: 0)
        let held = DispatchSemaphore(value: 0)
        enqueue({ _ in
            held.signal()
            release.wait()
        }) { _ in }
        held.wait()
        return release
    }
}
