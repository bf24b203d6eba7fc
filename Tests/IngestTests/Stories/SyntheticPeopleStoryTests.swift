// What the dispatchers' test emergencies leave in ingest, and for how long.

import Bus
import Contracts
import Foundation
import GRDB
import ServiceKit
import Storage
import TestKit
import Testing

@testable import Ingest

@Suite("Synthetic people")
struct SyntheticPeopleStoryTests {
    private func count(_ table: String, in harness: IngestHarness) async throws -> Int {
        try await harness.ingest.store.read { db in try Int.fetchOne(db, sql: "SELECT count(*) FROM \(table)") ?? 0 }
    }

    @Test("entries of test emergencies are forgotten after an hour, in the stream's log too; nobody else's ever are")
    func forgotten() async throws {
        try await IngestHarness.runWithDevice { harness, watch in
            let account = try await harness.account()
            let canary = try await harness.trackme.ask(AddDevice(person: nil, name: "canary", intervalMs: nil), deadline: .seconds(5))
            let now = Timestamp.now
            _ = try await harness.post([.pulse(now.milliseconds, 71)], token: watch.token)
            // A person with an account is nobody's invention, whoever asks.
            _ = try await harness.sos.ask(
                RecordEntries(person: account.person, samples: [.pulse(now.milliseconds, 72)]), deadline: .seconds(5))
            for flight in 0..<3 {
                _ = try await harness.sos.ask(
                    RecordEntries(person: canary.person, samples: [.pulse(now.milliseconds + Int64(flight), 80)]),
                    deadline: .seconds(5))
            }
            #expect(try await count("chunks", in: harness) == 5)

            try await harness.ingest.upkeep.round(now: now + .seconds(3590))
            #expect(try await count("chunks", in: harness) == 5, "an hour is not over")

            let later = now + .seconds(3600) + .milliseconds(2)
            try await harness.ingest.upkeep.round(now: later)
            #expect(try await count("chunks", in: harness) == 3, "the latest flight is younger")
            try await harness.ingest.upkeep.round(now: now + .seconds(7200))
            #expect(try await count("chunks", in: harness) == 2)

            let epoch = try await harness.ingest.store.read { try StreamLog().epoch($0) }
            let stream = StreamFamily.samplesStream(of: canary.person)
            let held = try await harness.ingest.store.read { db in try StreamLog().head(db, stream) }
            let replay = try await harness.sos.replay(ReplayStream(stream: stream, epoch: epoch, from: 1, through: held))
            let about = replay.facts.filter { $0.header.subject == "\(canary.person)" }
            #expect(about.isEmpty && replay.facts.count { $0.header.type == StreamHeader.erased } == 3)
            #expect(try await harness.samples(.heartRate, token: watch.token).map(\.value) == [71])
            #expect(try await harness.samples(.heartRate, token: account.token).map(\.value) == [72])

            try await harness.ingest.upkeep.round(now: now + .seconds(100_000))
            let days = try await harness.ingest.store.read { db in
                try Int.fetchOne(
                    db, sql: "SELECT count(*) FROM days JOIN people ON number = days.person WHERE people.person = ?",
                    arguments: [Data(canary.person.bytes)])
            }
            #expect(days == 0, "nor is anything summed up")
            #expect(try await count("days", in: harness) == 2)
            // It flies on.
            _ = try await harness.sos.ask(
                RecordEntries(person: canary.person, samples: [.pulse(Timestamp.now.milliseconds, 81)]), deadline: .seconds(5))
            #expect(try await count("chunks", in: harness) == 3)
        }
    }

    @Test("a dispatcher names its synthetic subscriber itself, so that both dispatchers know it for nobody; an operator names who is known")
    func named() async throws {
        try await IngestHarness.runWithDevice { harness, _ in
            let request = AddDevice(person: .random(), name: "canary", intervalMs: nil)
            await #expect(throws: Failure.self) { try await harness.trackme.ask(request, deadline: .seconds(5)) }
            for _ in 0..<2 {
                let added = try await harness.sos.ask(request, deadline: .seconds(5))
                #expect(added.person == request.person)
            }
            let person = try #require(request.person)
            _ = try await harness.sos.ask(
                RecordEntries(person: person, samples: [.pulse(Timestamp.now.milliseconds, 80)]), deadline: .seconds(5))
            try await harness.ingest.upkeep.round(now: Timestamp.now + .seconds(3700))
            #expect(try await count("chunks", in: harness) == 0, "its entries are forgotten")
        }
    }
}
