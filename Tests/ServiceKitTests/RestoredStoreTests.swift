// What a service does at its first start on a store that was put back from a copy.

import Bus
import Contracts
import Foundation
import GRDB
import Logging
import ServiceKit
import Storage
import TestKit
import Testing

@Suite("A store that was put back")
struct RestoredStoreTests {
    private static let migrations = [
        Migration(1, "streams") { db in
            try StreamLog.create(in: db)
            try Confirmations.create(in: db)
            try AnswerTable.create(in: db)
            try db.execute(sql: "CREATE TABLE epochs (number INTEGER PRIMARY KEY) STRICT")
        },
        Migration(2, "life") { db in try StoreLife.create(in: db) },
    ]

    /// One start.
    private func start(in folder: URL, copyTo copy: URL? = nil) async throws -> (epoch: String, begun: Int) {
        let runtime = try Runtime.test(.consent, in: folder)
        let opened = try await OpenedStore(on: runtime, applicationID: 1, migrations: Self.migrations) { db in
            try db.execute(sql: "INSERT INTO epochs DEFAULT VALUES")
        }
        let begun = try await opened.store.read { db in try Int.fetchOne(db, sql: "SELECT count(*) FROM epochs") ?? 0 }
        if let copy { try await opened.store.copy(to: copy) }
        await runtime.bus.shutdown()
        await opened.store.close()
        await opened.keys.close()
        return (opened.epoch, begun)
    }

    @Test("its streams get another epoch, once, and what counts besides begins anew with it; a restart changes nothing")
    func epoch() async throws {
        try await withTemporaryFolder { folder in
            for peer in Peer.suite { _ = try KeyFiles(folder: folder.appendingPathComponent("k")).busKeys(of: peer) }
            let (copy, store) = (folder.appendingPathComponent("copy.db"), folder.appendingPathComponent("consent/consent.db"))
            let first = try await start(in: folder, copyTo: copy)
            let second = try await start(in: folder)
            #expect(first.epoch == second.epoch && second.begun == 0)
            for suffix in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: store.path + suffix) }
            try FileManager.default.copyItem(at: copy, to: store)
            let restored = try await start(in: folder)
            #expect(restored.epoch != first.epoch && restored.begun == 1)
            let again = try await start(in: folder)
            #expect(again.epoch == restored.epoch && again.begun == 1)
        }
    }
}
