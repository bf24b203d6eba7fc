// Old files brought to the newest tables: nothing that was on its way is lost.

import Bus
import Contracts
import Foundation
import GRDB
import Sealing
import ServiceKit
import Storage
import TestKit
import Testing

@testable import SOSDispatcher

@Suite("Migrations of the dispatcher")
struct MigrationTests {
    @Test("Messages of the single integrator of before go on as those of the one of the settings, with their attempts and ends")
    func oldRows() async throws {
        try await withTemporaryFolder { folder in
            let runtime = try Harness(folder).runtime(.sosDispatcher, under: [:])
            let person = PersonID(bits: 7)
            let old = try runtime.openStore(applicationID: Migrations.applicationID, migrations: Array(Migrations.all.prefix(2)))
            let keys = try runtime.openPersonKeys()
            let key = try await keys.makeKey(for: person)
            for (sequence, ended) in [(0, "acknowledged"), (1, nil)] as [(Int, String?)] {
                let id = MessageID(emergency: EmergencyID(bits: 3), sequence: sequence)
                let sealed = try Seal.seal([UInt8(sequence)], key: key, context: SealedBatchStore.context(of: id))
                try await old.write { db in
                    try db.execute(
                        sql: """
                            INSERT INTO dispatch_outbox
                            (emergency, sequence, person, kind, sealed, created_at, attempts, last_attempt_at, ended)
                            VALUES (?, ?, ?, ?, ?, 1, 4, 9, ?)
                            """,
                        arguments: [
                            id.emergency.data, sequence, person.data, sequence == 0 ? "alert" : "cancel", Data(sealed), ended,
                        ])
                }
            }
            await old.close()
            let new = try runtime.openStore(applicationID: Migrations.applicationID, migrations: Migrations.all)
            let pair = PairTables(role: .first, keys: keys, own: .random())
            let streams = StreamEffects(relays: [:], dispatches: DispatchStreams(runtime, new))
            let memory = try SOSStore(new, keys: keys, pair: pair, streams: streams, logger: Running.quiet).load()
            let file = try #require(memory.outboxes[EmergencyID(bits: 3)]?.outbox)
            let line = try #require(file.lines[Integrator.configuredID])
            #expect(line.messages.map(\.end) == [.acknowledged, nil] && line.messages.map(\.attempts) == [4, 4])
            #expect(line.current?.body == [1] && file.isTaken && file.unassigned.isEmpty)
            await new.close()
            await keys.close()
            await runtime.bus.shutdown()
        }
    }
}
