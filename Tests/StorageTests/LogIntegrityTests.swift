// A write-ahead log that was damaged is told from one that a power cut has torn.

import Foundation
import GRDB
import TestKit
import Testing

@testable import Storage

@Suite("Damage of the log")
struct LogIntegrityTests {
    private static let page = 4096

    /// What a store has acknowledged and not moved into its file yet: one commit a note, and one of several pages.
    private static func log(_ folder: URL) throws -> [UInt8] {
        let file = folder.appendingPathComponent("notes.db")
        let queue = try DatabaseQueue(path: file.path)
        try queue.writeWithoutTransaction { db in
            try db.execute(sql: "PRAGMA journal_mode = wal; PRAGMA wal_autocheckpoint = 0; CREATE TABLE notes (text TEXT)")
            for number in 0..<6 { try db.execute(sql: "INSERT INTO notes VALUES (?)", arguments: ["note \(number)"]) }
            try db.execute(sql: "INSERT INTO notes VALUES (?)", arguments: [String(repeating: "long ", count: 4000)])
            for number in 6..<12 { try db.execute(sql: "INSERT INTO notes VALUES (?)", arguments: ["note \(number)"]) }
        }
        return Array(try Data(contentsOf: URL(fileURLWithPath: file.path + "-wal")))
    }

    private static func isDamaged(_ log: [UInt8]) -> Bool {
        if case .damaged = log.withUnsafeBytes({ LogIntegrity.finding(in: $0, page: page) }) { true } else { false }
    }

    @Test("X16: one flipped bit of the log took back what was acknowledged after it, in silence: each of its first bytes and 1,000 others")
    func flips() async throws {
        try await withTemporaryFolder { folder in
            let log = try Self.log(folder)
            #expect(!Self.isDamaged(log))
            // Behind the last commit but one nothing tells a flip from a cut.
            let last = log.count - 2 * (24 + Self.page)
            var random = SystemRandomNumberGenerator()
            let places = Array(0..<200) + (0..<1000).map { _ in Int.random(in: 200..<last, using: &random) }
            for place in places {
                var flipped = log
                flipped[place] ^= 1 << UInt8.random(in: 0..<8, using: &random)
                #expect(Self.isDamaged(flipped), "byte \(place) of \(log.count)")
            }
        }
    }

    @Test("X16: a damaged sector of the log lies over two frames: what was acknowledged after it was taken back in silence")
    func sectors() async throws {
        try await withTemporaryFolder { folder in
            let log = try Self.log(folder)
            // Two commits behind the frame that follows the damage tell it from a cut.
            let last = log.count - 4 * (24 + Self.page)
            for size in [512, 4096, 16_384] {
                for place in stride(from: 0, to: last - size, by: size) {
                    var (zeroed, inverted) = (log, log)
                    for byte in place..<place + size { (zeroed[byte], inverted[byte]) = (0, ~log[byte]) }
                    #expect(zeroed == log || Self.isDamaged(zeroed), "zeros: \(size) bytes at \(place) of \(log.count)")
                    #expect(Self.isDamaged(inverted), "inverted: \(size) bytes at \(place) of \(log.count)")
                }
            }
        }
    }

    @Test(
        "A power cut that left an older log's end of a commit under the first page of a new one was taken for damage, and the store refused"
    )
    func olderEnd() async throws {
        try await withTemporaryFolder { folder in
            let log = try Self.log(folder)
            let length = 24 + Self.page
            let ends = (0..<(log.count - 32) / length).filter { frame in
                log[(32 + frame * length + 4)..<(32 + frame * length + 8)].contains { $0 != 0 }
            }
            let long = try #require(zip(ends, ends.dropFirst()).first { $1 - $0 >= 4 })
            // The commit of several pages is the last one; of it the first page never reached the disk.
            var torn = Array(log[..<(32 + (long.1 + 1) * length)])
            let start = 32 + (long.0 + 1) * length
            for byte in start..<(start + length) { torn[byte] ^= 0x55 }
            torn[start + 7] = 9
            #expect(!Self.isDamaged(torn))
        }
    }

    @Test("A log that a power cut has ended anywhere, torn or with what lay there before, is read as far as it goes")
    func cuts() async throws {
        try await withTemporaryFolder { folder in
            let log = try Self.log(folder)
            for length in stride(from: 0, to: log.count, by: 509) {
                #expect(!Self.isDamaged(Array(log[..<length])), "cut at \(length)")
                #expect(!Self.isDamaged(Array(log[..<length]) + [UInt8](repeating: 0, count: log.count - length)), "zeros from \(length)")
            }
            // The frames of a longer log of before lie behind a newer, shorter one.
            let older = log.map { $0 ^ 0x55 }
            for frame in 1..<(log.count - 32) / (24 + Self.page) {
                let end = 32 + frame * (24 + Self.page)
                #expect(!Self.isDamaged(Array(log[..<end]) + older[end...]))
            }
        }
    }

    @Test("A store whose log is damaged is not opened, and is left as it is; the refusal names what to do")
    func refused() async throws {
        try await withTemporaryFolder { folder in
            let (log, file) = (try Self.log(folder), folder.appendingPathComponent("notes.db"))
            let copy = folder.appendingPathComponent("copy.db")
            try FileManager.default.copyItem(at: file, to: copy)
            var flipped = log
            flipped[5000] ^= 1
            try Data(flipped).write(to: URL(fileURLWithPath: copy.path + "-wal"))
            let error = #expect(throws: StoreError.self) {
                try Store.open(copy, applicationID: 7, migrations: [], logger: NoteStore.logger)
            }
            guard case .damagedLog(let frame, let count)? = error else { throw try #require(error) }
            #expect(frame == 2 && count == (log.count - 32) / (24 + Self.page))
            #expect(error?.mend.contains("backup") == true)
            #expect(Array(try Data(contentsOf: URL(fileURLWithPath: copy.path + "-wal"))) == flipped)
        }
    }
}
