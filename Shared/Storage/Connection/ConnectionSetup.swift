// How every connection is set up, and the proof that SQLite took it.

import Contracts
import GRDB

/// The settings that the suite's promises depend on. They are set on each connection and read back: libraries and distributions
/// change them silently, and each of these has lost somebody's data.
struct ConnectionSetup: Sendable {
    let settings: StoreSettings

    /// Kept by each connection, in the order in which they are set.
    private var pragmas: [(name: String, value: Int)] {
        [
            ("busy_timeout", Int(settings.lockTimeout.wholeMilliseconds)),
            ("foreign_keys", 1),
            // A schema that somebody has tampered with must not call functions.
            ("trusted_schema", 0),
            ("cell_size_check", 1),
            // Deleted personal data is overwritten, not only forgotten.
            ("secure_delete", 1),
            // An I/O error under a memory map is a signal instead of a result code.
            ("mmap_size", 0),
            // Sorting must not spill personal data into temporary files.
            ("temp_store", 2),
            ("cache_size", -32_768),
            // The store checkpoints itself, beside its writer instead of within a commit.
            ("wal_autocheckpoint", 0),
            // The log's file is reused up to its limit: overwriting in place flushes faster than growing.
            ("journal_size_limit", settings.logLimit),
        ]
    }

    func configuration(label: String) -> Configuration {
        var configuration = Configuration()
        configuration.label = label
        configuration.maximumReaderCount = settings.readers
        // A reader that was idle keeps its prepared statements.
        configuration.persistentReadOnlyConnections = true
        configuration.busyMode = .timeout(Double(settings.lockTimeout.wholeMilliseconds) / 1000)
        configuration.prepareDatabase { [self] database in
            try set(database)
            try check(database)
        }
        return configuration
    }

    private func set(_ database: Database) throws {
        for (name, value) in pragmas {
            try database.execute(sql: "PRAGMA \(name) = \(value)")
        }
    }

    private func check(_ database: Database) throws {
        for (name, value) in pragmas {
            try require(name, "\(value)", in: database)
        }
    }

    /// For a connection that writes, after its pool is open: GRDB turns `synchronous` to NORMAL when it turns on the log.
    func setSynchronous(_ database: Database) throws {
        // A connection that was open before the log was turned on notices it when it reads.
        _ = try Int.fetchOne(database, sql: "SELECT count(*) FROM sqlite_schema")
        try database.execute(sql: "PRAGMA synchronous = \(settings.synchronous.rawValue)")
        try check(database)
        try require("synchronous", "\(settings.synchronous.rawValue)", in: database)
        try require("journal_mode", "wal", in: database)
    }

    private func require(_ name: String, _ wanted: String, in database: Database) throws {
        let value = try DatabaseValue.fetchOne(database, sql: "PRAGMA \(name)") ?? .null
        let text =
            switch value.storage {
            case .int64(let number): String(number)
            case .string(let word): word
            default: "nothing"
            }
        guard text == wanted else {
            throw StoreError.settingRefused(name: name, wanted: wanted, found: text)
        }
    }
}
