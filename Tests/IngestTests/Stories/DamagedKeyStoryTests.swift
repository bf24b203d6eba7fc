// One flipped bit in one person's key: ingest serves everybody else, and whoever watches that person's heart goes on hearing it.

import Bus
import Contracts
import Foundation
import GRDB
import ServiceKit
import Storage
import TestKit
import Testing

@testable import Ingest

@Suite("A damaged key")
struct DamagedKeyStoryTests {
    private struct Wearers {
        let ill: AddDevice.Reply
        let well: AddDevice.Reply
    }

    private static func keys(in folder: URL) -> URL { folder.appendingPathComponent("store/ingest-keys.db") }

    private static func wrapped(of person: PersonID, in folder: URL) throws -> [UInt8] {
        try #require(try Store.readCopy(keys(in: folder)) { db in try WrappedKeys().living(db, of: person)?.wrapped })
    }

    /// Two people with an entry each, and then, while ingest is stopped, a flipped bit in the key of one.
    private static func damaged(in folder: URL, copied: Bool) async throws -> Wearers {
        let wearers = try await IngestHarness.run(in: folder) { harness in
            let wearers = Wearers(ill: try await harness.addDevice(), well: try await harness.addDevice())
            for wearer in [wearers.ill, wearers.well] {
                _ = try await harness.post([.pulse(Timestamp.now.milliseconds - 60_000, 60)], token: wearer.token)
            }
            if copied { try await harness.ingest.keys.renewBackups() }
            return wearers
        }
        try flipBit(of: wrapped(of: wearers.ill.person, in: folder), in: keys(in: folder))
        return wearers
    }

    @Test(
        "One flipped bit in one person's key ended ingest again and again: it starts, serves everybody else, and the critical entry is heard"
    )
    func withoutCopy() async throws {
        try await withTemporaryFolder { folder in
            let wearers = try await Self.damaged(in: folder, copied: false)
            let stored = try Self.wrapped(of: wearers.ill.person, in: folder)
            try await IngestHarness.run(in: folder) { harness in
                try await Self.others(harness, wearers)
                try await FastPathTests.hearing(harness) { heard in
                    let critical = Sample.pulse(Timestamp.now.milliseconds, 31)
                    let refused = try await harness.post([critical].upload, token: wearers.ill.token)
                    #expect(refused.status == 503 && refused.problem == "unavailable" && refused.headers["retry-after"] == "1")
                    let early = try await eventually("it is heard") { heard.early.first { $0.header.subject == "\(wearers.ill.person)" } }
                    #expect(early.header.type == SamplesRecorded.provisionalType)
                    #expect(try FastPathTests.samples(early) == [critical])
                }
                let read = try await harness.request("GET", "/ingest/v1/entries?type=heart-rate", token: wearers.ill.token)
                #expect(read.status == 503 && read.problem == "unavailable")
                let failure = await #expect(throws: Failure.self) {
                    try await harness.sos.ask(ReadLatest(person: wearers.ill.person, types: [.heartRate]), deadline: .seconds(1))
                }
                #expect(failure?.code == .unavailable)
                let ready = try await harness.request("GET", "/health/ready", token: nil)
                #expect(ready.status == 200 && ready.text.contains("people's keys"))
            }
            #expect(try Self.wrapped(of: wearers.ill.person, in: folder) == stored, "no other key took its place")
        }
    }

    /// What ingest does for everybody goes on around the damaged key.
    private static func others(_ harness: IngestHarness, _ wearers: Wearers) async throws {
        let now = Timestamp.now.milliseconds
        #expect(try await harness.post([.pulse(now, 61)], token: wearers.well.token).accepted == 1)
        #expect(try await harness.samples(.heartRate, token: wearers.well.token).count == 2)
        try await Scrub(store: harness.ingest.store, vault: harness.ingest.upkeep.steps.vault).pass()
        try await harness.ingest.upkeep.round(now: Timestamp(milliseconds: now + 2 * 86_400_000))
        let dirty = try await harness.ingest.store.read { db in
            try Data.fetchAll(db, sql: "SELECT DISTINCT p.person FROM days JOIN people p ON p.number = days.person WHERE dirty = 1")
        }
        #expect(dirty == [Data(wearers.ill.person.bytes)], "the days of the one wait, those of the other are summed up")
    }

    @Test("A damaged key of which the suite had a copy was of no use to anybody: it is taken from there, and old entries open")
    func withCopy() async throws {
        try await withTemporaryFolder { folder in
            let wearers = try await Self.damaged(in: folder, copied: true)
            let stored = try Self.wrapped(of: wearers.ill.person, in: folder)
            try await IngestHarness.run(in: folder) { harness in
                let entry = Sample.pulse(Timestamp.now.milliseconds, 61)
                #expect(try await harness.post([entry], token: wearers.ill.token).accepted == 1)
                #expect(try await harness.samples(.heartRate, token: wearers.ill.token).count == 2)
                let keeping = Task { [keys = harness.ingest.keys] in try await keys.keepBackups() }
                try await eventually("the file has it again", isTrue: { try Self.wrapped(of: wearers.ill.person, in: folder) != stored })
                keeping.cancel()
                _ = await keeping.result
            }
        }
    }
}
