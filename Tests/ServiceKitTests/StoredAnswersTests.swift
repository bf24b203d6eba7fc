// First answers are forgotten in the end, and nobody waits for that.

import Contracts
import Foundation
import GRDB
import Logging
import Sealing
import ServiceKit
import Storage
import TestKit
import Testing

@Suite("Forgetting first answers")
struct StoredAnswersTests {
    private static let old = Timestamp.now - AnswerTable.lifetime - .seconds(60)

    @Test("S11: keys expired in one statement, and in consent never: 500 at a time, as answers on the bus, in every store that has them")
    func expire() async throws {
        try await withTemporaryFolder { folder in
            for keepsKeys in [true, false] {
                let store = try Store.open(
                    folder.appendingPathComponent("\(keepsKeys).db"), applicationID: 1,
                    migrations: [
                        Migration(1, "answers") { db in
                            try AnswerTable.create(in: db)
                            if keepsKeys { try IdempotencyKeys.create(in: db) }
                        }
                    ], logger: Logger(label: "test"))
                try await store.write { db in
                    for number in 0..<1200 {
                        try AnswerTable().remember(db, to: .trackme, id: "\(number)", answer: [], at: Self.old)
                        guard keepsKeys else { continue }
                        let key = Array("\(number)".utf8)
                        try IdempotencyKeys().remember(db, scope: [1], key: key, bodyHash: [], status: 200, answer: [], at: Self.old)
                    }
                    try AnswerTable().remember(db, to: .ingest, id: "new", answer: [1], at: .now)
                }
                let before = store.commits
                let running = Task { try await StoredAnswers(store, sealedUnder: .random()).expire() }
                try await eventually("only what is new is left") {
                    try await store.read { db in
                        try Int.fetchOne(db, sql: "SELECT count(*) FROM bus_answers") == 1
                            && (!keepsKeys || Int.fetchOne(db, sql: "SELECT count(*) FROM idempotency_keys") == 0)
                    }
                }
                #expect(store.commits - before >= (keepsKeys ? 6 : 3))
                running.cancel()
                _ = try? await running.value
                await store.close()
            }
        }
    }
}
