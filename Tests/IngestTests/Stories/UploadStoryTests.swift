// Uploads through the whole service: taken once, kept for good, refused with reasons.

import Bus
import Contracts
import Foundation
import GRDB
import ServiceKit
import Storage
import TestKit
import Testing

@testable import Ingest

@Suite struct UploadStoryTests {
    private static let mixed: [Sample] = [
        .pulse(1_768_005_060_000, 72), .pulse(1_768_005_061_000, 72.5),
        Sample(type: .bodyTemperature, at: Timestamp(milliseconds: 1_768_005_060_000), value: 36.6),
        Sample(
            type: .position, at: Timestamp(milliseconds: 1_768_005_060_500), value: nil,
            position: Position(latitude: 45.5, longitude: 9.25, altitude: 120, accuracy: 4.5)),
        Sample(
            type: .heartRate, at: Timestamp(milliseconds: 1_768_005_062_000), value: 100.60000000000002,
            position: Position(latitude: -1.5, longitude: 0)),
    ]

    @Test("ING-11, ING-12, ING-14: what was accepted is read back, sending again adds nothing, a restart forgets nothing")
    func roundTrip() async throws {
        try await withTemporaryFolder { folder in
            let token = try await IngestHarness.run(in: folder) { harness in
                let device = try await harness.addDevice()
                let first = try await harness.post(Self.mixed, token: device.token)
                #expect(first.accepted == 5 && first.duplicates.isEmpty && first.rejected.isEmpty)
                let second = try await harness.post(Self.mixed + [.pulse(5, 60)], token: device.token)
                #expect(second.accepted == 1 && second.duplicates == [0, 1, 2, 3, 4] && second.rejected.isEmpty)
                return device.token
            }
            try await IngestHarness.run(in: folder) { harness in
                for metric in [Metric.heartRate, .bodyTemperature, .position] {
                    let expected = (Self.mixed + [.pulse(5, 60)]).filter { $0.type == metric }.sorted { $0.at < $1.at }
                    #expect(try await harness.samples(metric, token: token) == expected)
                    #expect(try await harness.samples(metric, token: token, limit: 1) == expected)
                }
                let again = try await harness.post(Self.mixed, token: token)
                #expect(again.accepted == 0 && again.duplicates == [0, 1, 2, 3, 4])
                let latest: IngestHarness.List<IngestHarness.Entry> = try await harness.request("GET", "/ingest/v1/latest", token: token)
                    .decoded()
                #expect(latest.items.compactMap(\.sample) == [Self.mixed[4], Self.mixed[2], Self.mixed[3]])
            }
        }
    }

    @Test("INV-10, ING-04: another value for the same metric and time is a conflict; the stored one stays")
    func conflict() async throws {
        try await IngestHarness.runWithDevice { harness, device in
            _ = try await harness.post([.pulse(1000, 60), .pulse(2000, 61)], token: device.token)
            let answer = try await harness.post(
                [.pulse(1000, 60), .pulse(2000, 99.28125), .pulse(3000, 62), .pulse(3000, 63)], token: device.token)
            #expect(answer.accepted == 1 && answer.duplicates == [0])
            #expect(answer.rejected.map(\.index) == [1, 3])
            #expect(answer.rejected.allSatisfy { $0.type == "urn:trackme:problem:conflicting-value" && !$0.detail.contains("99.28125") })
            #expect(try await harness.samples(.heartRate, token: device.token).map(\.value) == [60, 61, 62])
            let alone = try await harness.post(Sample.pulse(1000, 77).json, token: device.token)
            #expect(alone.status == 409 && alone.problem == "conflicting-value")
        }
    }

    @Test(
        "However uploads overlap and repeat, each metric and time is stored once, with the first value",
        arguments: 1...6 as ClosedRange<UInt64>)
    func overlapping(_ seed: UInt64) async throws {
        try await IngestHarness.run { harness in
            var generator = SeededGenerator(seed: seed)
            let person = try await harness.addDevice()
            let other = try await harness.addDevice(of: person.person)
            var stored: [Int64: Double] = [:]
            for round in 0..<25 {
                let spread: Int64 = round % 3 == 0 ? 4_000_000 : 60_000
                let samples = (0..<Int.random(in: 1...40, using: &generator)).map { _ in
                    Sample.pulse(
                        Int64.random(in: 1...spread, using: &generator) / 500 * 500 + 1, Double(Int.random(in: 60...62, using: &generator)))
                }
                let answer = try await harness.post(samples, token: round % 2 == 0 ? person.token : other.token)
                var expected = (accepted: 0, duplicates: [Int](), conflicts: [Int]())
                for (index, sample) in samples.enumerated() {
                    switch stored[sample.at.milliseconds] {
                    case nil:
                        stored[sample.at.milliseconds] = sample.value
                        expected.accepted += 1
                    case sample.value: expected.duplicates.append(index)
                    default: expected.conflicts.append(index)
                    }
                }
                #expect(answer.accepted == expected.accepted)
                #expect(answer.duplicates == expected.duplicates)
                #expect(answer.rejected.map(\.index) == expected.conflicts)
            }
            let expected = stored.sorted { $0.key < $1.key }.map { Sample.pulse($0.key, $0.value) }
            // Each device reads what it measured; together that is everything.
            var all: [Sample] = []
            for token in [person.token, other.token] { all += try await harness.samples(.heartRate, token: token, limit: 7) }
            #expect(all.sorted { $0.at < $1.at } == expected)
        }
    }

    @Test("A batch keeps its good entries; the bad ones are named by place, quarantined and not repeated (ING-08)")
    func badEntries() async throws {
        try await IngestHarness.runWithDevice { harness, device in
            let response = try await harness.post(
                """
                [{"type":"heart-rate","at":1000,"value":60},{"type":"heart-rate","at":2000,"value":999.28125},{"type":"mood","at":1,"value":1},
                 {"type":"heart-rate","at":"2999-01-01T00:00:00Z","value":60},{"type":"heart-rate","at":3000,"value":"60"}]
                """, token: device.token)
            let answer: IngestHarness.Answer = try response.decoded()
            #expect(response.status == 200 && answer.accepted == 1)
            #expect(
                answer.rejected.map { "\($0.index) \($0.type.replacing(Problem.prefix, with: ""))" } == [
                    "1 impossible-value", "2 unknown-metric", "3 future-time", "4 malformed-entry",
                ])
            #expect(answer.rejected[1].detail.contains("mood"), "ING-05: an unknown type is named")
            #expect(!response.text.contains("999.28125"))
            let quarantined = try await harness.ingest.store.read { db in
                try QuarantineStore().count(db, of: DeviceStore().personNumber(db, device.person) ?? 0)
            }
            #expect(quarantined == 4)
        }
    }

    @Test(
        "Every bad upload gets its status and its problem",
        arguments: [
            ("{\"type\":", 400, "malformed-json"), ("", 400, "malformed-json"), ("[1,]", 400, "malformed-json"),
            ("\"x\"", 422, "not-entries"),
            ("{\"type\":\"heart-rate\",\"at\":1,\"value\":\"60\"}", 422, "malformed-entry"), ("{}", 422, "malformed-entry"),
            ("{\"type\":\"mood\",\"at\":1,\"value\":60}", 422, "unknown-metric"),
            ("{\"type\":\"heart-rate\",\"at\":1,\"value\":0}", 422, "impossible-value"),
            ("{\"type\":\"heart-rate\",\"at\":1,\"value\":60,\"unit\":\"Hz\"}", 422, "wrong-unit"),
            ("{\"type\":\"heart-rate\",\"at\":0,\"value\":60}", 422, "impossible-time"),
            ("{\"type\":\"heart-rate\",\"at\":\"2999-01-01T00:00:00Z\",\"value\":60}", 422, "future-time"),
            ("{\"type\":\"position\",\"at\":1,\"latitude\":91,\"longitude\":0}", 422, "impossible-position"),
            ("[" + Array(repeating: "{}", count: 10_001).joined(separator: ",") + "]", 413, "too-many-entries"),
            ("[" + String(repeating: " ", count: 1 << 20) + "]", 413, "body-too-large"),
        ])
    func badUploads(_ text: String, _ status: Int, _ problem: String) async throws {
        try await IngestHarness.runWithDevice { harness, device in
            let response = try await harness.post(text, token: device.token)
            #expect(response.status == status && response.problem == problem, "\(response.text.prefix(300))")
            #expect(response.headers["content-type"] == "application/problem+json")
            #expect(try await harness.samples(.heartRate, token: device.token).isEmpty)
        }
    }

    @Test("Bad gzip, other types, no token, a wrong one and a revoked one are refused (ING-10, ING-20)")
    func badRequests() async throws {
        try await IngestHarness.runWithDevice { harness, device in
            let entry = Sample.pulse(1000, 60).json
            let gzip = try await harness.post(entry, token: device.token, headers: ["Content-Encoding": "gzip"])
            #expect(gzip.status == 400 && gzip.problem == "bad-encoding")
            #expect(try await harness.post(entry, token: device.token, type: "text/csv").status == 415)
            #expect(DeviceToken(text: device.token).shard == VirtualShard(of: device.person))
            var elsewhere = DeviceToken(text: device.token)
            elsewhere.shard = VirtualShard(of: PersonID(bits: device.person.bits ^ 1))
            for token in [nil, "tmd_nobody", "x", elsewhere.text, DeviceToken.random(of: device.person).text] {
                let response = try await harness.post(entry, token: token)
                #expect(response.status == 401 && response.problem == "unauthorised")
            }
            _ = try await harness.trackme.ask(RevokeDevice(device: device.device), deadline: .seconds(5))
            #expect(try await harness.post(entry, token: device.token).status == 401)
            let other = try await harness.addDevice(of: device.person)
            #expect(try await harness.samples(.heartRate, token: other.token).isEmpty)
        }
    }

    @Test("A key is answered as the first time; with another body it is refused")
    func idempotency() async throws {
        try await IngestHarness.runWithDevice { harness, device in
            let entries = [Sample.pulse(1000, 60), .pulse(2000, 61)]
            let key = ["Idempotency-Key": "first"]
            let first = try await harness.post(entries.upload, token: device.token, headers: key)
            let again = try await harness.post(entries.upload, token: device.token, headers: key)
            #expect(first.status == 200 && again.status == 200 && again.body == first.body, "not as duplicates: the first answer")
            #expect(again.headers["idempotency-replayed"] == "true")
            let other = try await harness.post([Sample.pulse(3000, 60)].upload, token: device.token, headers: key)
            #expect(other.status == 422 && other.problem == "idempotency-conflict")
            let second = try await harness.addDevice(of: device.person)
            #expect(try await harness.post([Sample.pulse(4000, 60)].upload, token: second.token, headers: key).status == 200)
            let refused = ["Idempotency-Key": "refused"]
            for _ in 0..<2 {
                let response = try await harness.post(
                    "{\"type\":\"heart-rate\",\"at\":1,\"value\":0}", token: device.token, headers: refused)
                #expect(response.status == 422 && response.problem == "impossible-value")
            }
            #expect(try await harness.samples(.heartRate, token: device.token).count == 2)
            #expect(try await harness.samples(.heartRate, token: second.token).count == 1)
        }
    }

    @Test("ING-14: a retry that says anew when it was written, or no more, is the same upload; one that says anything else anew is not")
    func retriedAnew() async throws {
        try await IngestHarness.runWithDevice { harness, device in
            func send(_ before: String, _ value: Double, _ after: String = "") async throws -> HarnessAnswer {
                let entries = [Sample.pulse(1_768_000_000_000, value)].upload
                return try await harness.post(
                    "{\(before)\"entries\":\(entries)\(after)}", token: device.token, headers: ["Idempotency-Key": "first"])
            }
            let first = try await send("\"sentAt\":1768000000000,", 60)
            #expect(first.status == 200)
            for (before, after) in [
                ("\"s\\u0065ntAt\" : \"2026-01-09T23:06:41.500Z\" , ", ""), ("", ""), ("", ",\"sentAt\":1768000000001"),
                ("\"sentAt\":null,\"sentAt\":null,", " , \"sentAt\" : 1768000000002"),
            ] {
                let again = try await send(before, 60, after)
                #expect(again.status == 200 && again.body == first.body, "\(before)\(after)")
                #expect(again.headers["idempotency-replayed"] == "true")
            }
            #expect(try await send("\"sentAt\":1768000000000,", 61).problem == "idempotency-conflict")
        }
    }

    @Test("ING-14: a backlog of lines is taken piece by piece and answered once; again, nothing is added")
    func lines() async throws {
        try await IngestHarness.runWithDevice { harness, device in
            let samples = (0..<25_000).map { Sample.pulse(1_768_000_000_000 + Int64($0) * 1000, Double(60 + $0 % 30)) }
            let text =
                samples.prefix(12_000).map { $0 }.lines + "\nnot json\n" + samples.dropFirst(12_000).map { $0 }.lines
                + "{\"type\":\"mood\",\"at\":1,\"value\":1}"
            let answer: IngestHarness.Answer = try await harness.post(text, token: device.token, type: "application/x-ndjson").decoded()
            #expect(answer.accepted == 25_000 && answer.duplicateCount == 0 && answer.rejectedCount == 2)
            #expect(answer.rejected.map(\.index) == [12_000, 25_001])
            #expect(try await harness.samples(.heartRate, token: device.token) == samples)
            let again: IngestHarness.Answer = try await harness.post(text, token: device.token, type: "application/x-ndjson").decoded()
            #expect(
                again.accepted == 0 && again.duplicateCount == 25_000 && again.duplicates == Array(0..<1000) && again.rejectedCount == 2)
            let stream = try await harness.request(
                "GET", "/ingest/v1/entries?type=heart-rate", token: device.token, headers: ["Accept": "application/x-ndjson"])
            let read = try stream.body.split(separator: 0x0A).compactMap {
                try JSONDecoder().decode(IngestHarness.Entry.self, from: $0).sample
            }
            #expect(read == samples)
        }
    }

    @Test("A device that comes too often is told when to come again")
    func tooOften() async throws {
        try await IngestHarness.runWithDevice(environment: ["TRACKME_ING_REQUESTS_PER_S": "2"]) { harness, device in
            var refused: HarnessAnswer?
            for index in 0..<20 where refused == nil {
                let response = try await harness.post(Sample.pulse(Int64(index) + 1, 60).json, token: device.token)
                if response.status == 429 { refused = response }
            }
            #expect(refused?.problem == "too-many-requests" && refused?.headers["retry-after"] != nil)
        }
    }

    @Test("A device that sends its backlog without a pause is still heard as to how its person is now, and with its button")
    func backlogBesideAlarm() async throws {
        try await IngestHarness.runWithDevice(environment: ["TRACKME_ING_REQUESTS_PER_S": "2"]) { harness, device in
            // All at once: whether any was refused.
            @Sendable func flood(from start: Int64) async throws -> Bool {
                try await withThrowingTaskGroup(of: Int.self) { group in
                    for index in 0..<60 {
                        group.addTask { try await harness.post(Sample.pulse(start + Int64(index), 60).json, token: device.token).status }
                    }
                    return try await group.reduce(into: []) { $0.append($1) }.contains(429)
                }
            }
            #expect(try await flood(from: 1))
            let now = Timestamp.now.milliseconds
            #expect(try await harness.post(Sample.pulse(now, 150).json, token: device.token).status == 200)
            #expect(try await harness.post([Sample(type: .help, at: .now, value: 1)].upload, token: device.token).status == 200)
            // Of which the server may not have all at once: that way of reading refused it.
            let parted = try RawConnection(port: harness.port)
            let late = Sample.pulse(now + 1, 151).json
            await parted.send(
                "POST /ingest/v1/entries HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer \(device.token)\r\n"
                    + "Content-Type: application/json\r\nContent-Length: \(late.utf8.count)\r\n\r\n")
            await parted.send(late)
            #expect(RawAnswer(await parted.receive())?.status == 200)
            #expect(try await flood(from: now + 2), "not without bound")
        }
    }

    @Test(
        "ING-14, SOS-15: a critical line of an upload that stays open was judged at its end: whole lines are taken as soon as nothing more comes"
    )
    func openLines() async throws {
        try await IngestHarness.runWithDevice { harness, device in
            let connection = try RawConnection(port: harness.port)
            await connection.send(
                "POST /ingest/v1/entries HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer \(device.token)\r\n"
                    + "Content-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\n\r\n")
            func send(_ text: String) async { await connection.send("\(String(text.utf8.count, radix: 16))\r\n\(text)\r\n") }
            let (first, second) = (Sample.pulse(1_768_000_000_000, 151), Sample.pulse(1_768_000_001_000, 152))
            await send("\(first.json)\n\(second.json.prefix(20))")
            try await eventually("the first is stored") { try await harness.samples(.heartRate, token: device.token) == [first] }
            await send("\(second.json.dropFirst(20))\n")
            try await eventually("the second is stored") { try await harness.samples(.heartRate, token: device.token) == [first, second] }
            await connection.send("0\r\n\r\n")
            let answer = try #require(RawAnswer(await connection.receive()))
            #expect(answer.status == 200 && answer.json["accepted"] as? Int == 2)
        }
    }

    @Test("X20: `/health/ready` was silent about a full disk: it is 503 and names it")
    func unready() async throws {
        try await IngestHarness.runWithDevice { harness, device in
            try await eventually("it is ready") { try await harness.request("GET", "/health/ready", token: nil).status == 200 }
            try await harness.ingest.store.write { db in
                let pages = try Int.fetchOne(db, sql: "PRAGMA page_count") ?? 0
                try db.execute(sql: "PRAGMA max_page_count = \(pages)")
            }
            let samples = (0..<10_000).map { Sample.pulse(Int64($0) * 1000, Double.random(in: 60...90)) }
            var status = 200
            for _ in 0..<20 where status == 200 { status = try await harness.post(samples.upload, token: device.token).status }
            #expect(status == 507)
            let ready = try await harness.request("GET", "/health/ready", token: nil)
            #expect(ready.status == 503 && ready.text.contains("room on the disk"), "\(ready.text)")
        }
    }

    @Test("A full disk is said so, nothing acknowledged is lost, and what was there can be read")
    func full() async throws {
        try await IngestHarness.runWithDevice { harness, device in
            _ = try await harness.post([.pulse(1000, 60)], token: device.token)
            try await harness.ingest.store.write { db in
                let pages = try Int.fetchOne(db, sql: "PRAGMA page_count") ?? 0
                try db.execute(sql: "PRAGMA max_page_count = \(pages)")
            }
            var refused: HarnessAnswer?
            var accepted = 1
            for index in 1..<200 where refused == nil {
                let samples = (0..<1000).map { Sample.pulse(Int64(index * 1000 + $0) * 1000, Double.random(in: 60...90)) }
                let response = try await harness.post(samples.upload, token: device.token)
                if response.status == 200 { accepted += 1000 } else { refused = response }
            }
            #expect(refused?.status == 507 && refused?.problem == "insufficient-storage" && refused?.headers["retry-after"] != nil)
            #expect(try await harness.samples(.heartRate, token: device.token).count == accepted)
        }
    }

    private static let recordingNames = ["run-lisbon-2017.csv", "run-highlands-2013.csv", "icu-vitals-32h.csv"]

    @Test(
        "Entries of real recordings are read back as they were, a second time nothing is added",
        .enabled(if: TestData.has(recordingNames), "the recordings are not here; name their folder in TEST_DATA"), arguments: recordingNames
    )
    func recordings(_ name: String) async throws {
        let series = try Recording.samples(name)
        try await IngestHarness.runWithDevice { harness, device in
            let all = series.flatMap { $0 }.sorted { $0.at < $1.at }
            var stored: [String: Sample] = [:]
            for _ in 0..<2 {
                for start in stride(from: 0, to: all.count, by: 777) {
                    let part = Array(all[start..<min(all.count, start + 777)])
                    let known = stored.count
                    let conflicts = part.indices.filter { place in
                        let key = "\(part[place].type) \(part[place].at.milliseconds)"
                        defer { stored[key] = stored[key] ?? part[place] }
                        return stored[key].map { $0 != part[place] } ?? false
                    }
                    let answer = try await harness.post(part, token: device.token)
                    #expect(answer.accepted == stored.count - known && answer.rejected.map(\.index) == conflicts)
                }
            }
            for samples in series {
                let expected = stored.values.filter { $0.type == samples[0].type }.sorted { $0.at < $1.at }
                #expect(try await harness.samples(samples[0].type, token: device.token) == expected)
            }
        }
    }
}
