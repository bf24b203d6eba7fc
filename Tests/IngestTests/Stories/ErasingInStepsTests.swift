// What an erasure does to the writer that all uploads wait for.

import Contracts
import Foundation
import GRDB
import Logging
import Sealing
import ServiceKit
import Storage
import TestKit
import Testing

@testable import Ingest

@Suite("Erasing in steps")
struct ErasingInStepsTests {
    /// With as many idempotency keys as a device leaves in twenty minutes.
    private static func device(_ db: Database, of person: PersonID) throws -> DeviceID {
        let device = DeviceID.random()
        let number = try DeviceStore().addPerson(db, person, enrolled: false, at: .now)
        try DeviceStore().add(
            db, NewDevice(device: device, tokenLookup: device.bytes, name: [], kind: .manual, origin: .manual), of: number, at: .now)
        for key in 0..<1200 {
            try IdempotencyKeys().remember(
                db, scope: device.bytes, key: Array("\(key)".utf8), bodyHash: [], status: 200, answer: [], at: .now)
        }
        return device
    }

    @Test("S8: an erasure deleted a day's idempotency keys of a person in one statement: 500 rows at a time, and of nobody else")
    func keys() async throws {
        try await GrantedHarness.run { harness in
            let outbox = MessageOutbox(in: harness.store, sealedUnder: .random(), logger: harness.runtime.logger) { _ in }
            let steps = PersonErasureStore(
                vault: harness.vault, outbox: outbox, files: SealedFiles(in: harness.runtime.settings.storeFolder, named: "transfers"))
            let (person, other) = (PersonID.random(), PersonID.random())
            let devices = try await harness.store.write { db in try [person, other].map { try Self.device(db, of: $0) } }
            var removed: [Int] = []
            while removed.last != 0 {
                removed.append(try await harness.store.write { db in try steps.erase(db, person, scope: .data) })
            }
            #expect(removed == [500, 500, 200, 0])
            let left = try await harness.store.read { db in
                try devices.map {
                    try Int.fetchOne(db, sql: "SELECT count(*) FROM idempotency_keys WHERE scope = ?", arguments: [Data($0.bytes)])
                }
            }
            #expect(left == [0, 1200])
        }
    }
}
