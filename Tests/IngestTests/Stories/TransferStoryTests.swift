// Exports and imports through the running service: complete, sealed, limited, and equal after a round trip.

import Contracts
import Foundation
import GRDB
import HTTPKit
import Sealing
import ServiceKit
import Storage
import TestKit
import Testing

@testable import Ingest

@Suite struct TransferStoryTests {
    /// A person's hours: vital signs, blood pressures in pairs and alone, a track, places with pulses.
    private static func samples(_ count: Int, seed: UInt64) -> [Sample] {
        var generator = SeededGenerator(seed: seed)
        var samples: [Sample] = []
        for place in 0..<Int64(count) {
            let at = Timestamp(milliseconds: 1_750_000_000_000 + place * 1000)
            let position = Position(
                latitude: 45 + Double(place) / 100_000, longitude: 9.2, altitude: place % 2 == 0 ? 121.5 : nil,
                accuracy: place % 3 == 0 ? 4.25 : nil)
            samples.append(
                Sample(
                    type: .heartRate, at: at, value: Double(Int.random(in: 480...1200, using: &generator)) / 8,
                    position: place % 5 == 0 ? position : nil))
            samples.append(Sample(type: .position, at: at, value: nil, position: position))
            if place % 4 == 0 { samples.append(Sample(type: .bloodPressureMax, at: at, value: 120.5)) }
            if place % 6 == 0 { samples.append(Sample(type: .bloodPressureMin, at: at, value: 81)) }
        }
        return samples
    }

    private static let run: JSONValue = [
        "kind": "run", "name": "Sunday", "start": "2025-06-15T15:06:40.000Z", "end": "2025-06-15T15:16:40.000Z",
    ]

    private static func upload(_ samples: [Sample], _ harness: IngestHarness, _ token: String) async throws {
        for start in stride(from: 0, to: samples.count, by: 9000) {
            _ = try await harness.post(Array(samples[start..<min(samples.count, start + 9000)]), token: token)
        }
    }

    private static func all(_ harness: IngestHarness, _ token: String) async throws -> [Sample] {
        var all: [Sample] = []
        for metric in Metric.all { all += try await harness.samples(metric, token: token) }
        return all
    }

    @Test(
        "MYD-13, ACC-32, NFR-14: export, import into a new account, export again: equal, in every format",
        arguments: ExchangeFormat.allCases)
    func roundTrip(format: ExchangeFormat) async throws {
        try await IngestHarness.runWithDevice(environment: ["TRACKME_MYD_EXPORTS_PER_DAY": "10"]) { harness, device in
            let samples = Self.samples(900, seed: 5)
            try await Self.upload(samples, harness, device.token)
            #expect(try await harness.send("POST", "/ingest/v1/activities", Self.run, token: device.token).status == 201)
            let body: JSONValue = ["format": .string(format.rawValue)]
            let first = try await harness.export(body, token: device.token)
            let firstFiles = try await harness.files(of: first, token: device.token)
            #expect(first.state == "done" && first.fault == nil && first.expiresAt != nil)
            var exports: [(IngestHarness.ExportView, [Data])] = []
            var files = zip(first.files, firstFiles).map { ($0, $1) }
            for _ in 0..<2 {
                let account = try await harness.account()
                for (file, bytes) in files {
                    let taken = try await harness.takeIn(bytes, file.mediaType, token: account.token)
                    #expect(taken.state == "done" && taken.accepted == file.entries && taken.rejectedCount == 0)
                    let again = try await harness.takeIn(bytes, file.mediaType, token: account.token)
                    #expect(again.accepted == 0 && again.duplicates == file.entries, "ING-04: sent again it adds nothing")
                }
                let expected = samples.filter { format.holds($0.type) }
                #expect(Set(try await Self.all(harness, account.token)) == Set(expected))
                let export = try await harness.export(body, token: account.token)
                let exported = try await harness.files(of: export, token: account.token)
                exports.append((export, exported))
                files = zip(export.files, exported).map { ($0, $1) }
            }
            if format != .fhir {
                #expect(exports[0].0.files == exports[1].0.files && exports[0].1 == exports[1].1, "byte for byte, hashes included")
            }
            // Only where it came from is another thing, a device then, a file now; and whose it is: FHIR names each account's Patient
            // and Observations by a pseudonym of that account.
            func withoutSource(_ data: Data) -> String {
                String(decoding: data, as: UTF8.self).replacing("\(device.device)", with: "import")
                    .replacing(/[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}/, with: "uuid")
            }
            #expect(exports[0].1.map(withoutSource) == exports[1].1.map(withoutSource))
            #expect(firstFiles.map(withoutSource) == exports[0].1.map(withoutSource))
        }
    }

    @Test("MYD-13: a large export has several files, each of which is whole; types and period narrow it")
    func severalFiles() async throws {
        try await IngestHarness.runWithDevice(environment: ["TRACKME_MYD_EXPORT_FILE_MIB": "1", "TRACKME_MYD_EXPORTS_PER_DAY": "10"]) {
            harness, device in
            let samples = Self.samples(4000, seed: 6)
            try await Self.upload(samples, harness, device.token)
            let export = try await harness.export(["format": "fhir"], token: device.token)
            let files = try await harness.files(of: export, token: device.token)
            #expect(files.count > 2 && export.files.map(\.name).first == "entries-0001.fhir.json")
            #expect(export.files.reduce(0) { $0 + $1.entries } == samples.count)
            for file in files { #expect(try JSONSerialization.jsonObject(with: file) is [String: Any]) }
            let account = try await harness.account()
            for file in files { _ = try await harness.takeIn(file, "application/fhir+json", token: account.token) }
            #expect(Set(try await Self.all(harness, account.token)) == Set(samples))
            let narrow = try await harness.export(
                ["format": "csv", "types": ["heart-rate"], "from": "2025-06-15T15:06:41.000Z", "to": "2025-06-15T15:06:43.000Z"],
                token: device.token)
            #expect(narrow.files.map(\.entries) == [2])
        }
    }

    @Test("MYD-13, MYD-02: two exports a day; a running one is not begun twice; nobody else's are seen; what is asked wrongly is named")
    func limits() async throws {
        try await IngestHarness.runWithAccount { harness, account in
            let first = try await harness.export(["format": "json"], token: account.token)
            #expect(first.files.map(\.entries) == [0], "an empty account has an export too")
            _ = try await harness.export(["format": "csv"], token: account.token)
            let third = try await harness.send("POST", "/ingest/v1/exports", ["format": "json"], token: account.token)
            #expect(third.status == 429 && third.problem == "too-many-exports" && Int(third.headers["retry-after"] ?? "") ?? 0 > 86_000)
            #expect(try await harness.request("DELETE", "/ingest/v1/exports/\(first.id)", token: account.token).status == 204)
            #expect(
                try await harness.send("POST", "/ingest/v1/exports", ["format": "json"], token: account.token).status == 429,
                "removing one gives none back")
            let gone: IngestHarness.ExportView = try await harness.request("GET", "/ingest/v1/exports/\(first.id)", token: account.token)
                .decoded()
            #expect(gone.state == "removed" && gone.files.isEmpty)
            let other = try await harness.account()
            #expect(try await harness.request("GET", "/ingest/v1/exports/\(first.id)", token: other.token).status == 404)
            let wrong: [(JSONValue, String)] = [
                (["format": "pdf"], "/format"), (["format": "csv", "types": ["mood"]], "/types/0"),
                (["format": "csv", "from": "2026-01-02T00:00:00Z", "to": "2026-01-01T00:00:00Z"], "/to"), (["form": "csv"], ""),
            ]
            for (body, pointer) in wrong {
                let response = try await harness.send("POST", "/ingest/v1/exports", body, token: other.token)
                #expect(response.status == 422)
                let pointers = try response.decoded(as: Problem.self).errors?.map(\.pointer) ?? []
                #expect(pointer.isEmpty ? !pointers.isEmpty : pointers.contains { $0.hasPrefix(pointer) }, "\(body.text): \(pointers)")
            }
            #expect(try await harness.request("GET", "/ingest/v1/exports/\(first.id)/files/../../x", token: account.token).status == 404)
        }
    }

    @Test("MYD-13: after the clock went back whoever had had a day's exports waited for the step and the day")
    func clockWentBack() async throws {
        try await IngestHarness.runWithAccount { harness, account in
            _ = try await harness.export(["format": "json"], token: account.token)
            _ = try await harness.export(["format": "csv"], token: account.token)
            let exports = harness.ingest.ownData.exports
            let reader = try await harness.ingest.deviceModule.people.reader(of: account.person)
            func isBegun(at now: Timestamp) async throws -> Bool {
                guard case .begun = try await exports.begin(TransferRequest(format: .ndjson), of: reader, now: now) else { return false }
                return true
            }
            #expect(try await !isBegun(at: .now))
            #expect(try await isBegun(at: Timestamp.now - .seconds(3600)))
        }
    }

    @Test("MYD-13: an export that a restart interrupted is written again, sealed on disk, gone after its time")
    func restart() async throws {
        try await withTemporaryFolder { folder in
            let canary = 77.123
            let (token, person) = try await IngestHarness.run(in: folder) { harness in
                let device = try await harness.addDevice()
                try await Self.upload(
                    Self.samples(300, seed: 9) + [.of("weight", Timestamp(milliseconds: 1_750_000_000_000), canary)], harness, device.token)
                // As it is after a crash: the row is there, a part of the file is too.
                let reader = try await harness.ingest.deviceModule.people.reader(of: device.person)
                let transfers = harness.ingest.ownData.transfers
                let job = JobID.random()
                let half = try transfers.files.write(job, file: 0, key: transfers.vault.key(of: device.person))
                try half.add(Array("half".utf8))
                try half.close()
                let request = try transfers.seal(TransferRequest(format: .csv), "request", of: job, device.person)
                try await harness.ingest.store.write { db in
                    try transfers.table.add(db, job, of: reader.number, .export, request: request, at: .now)
                }
                return (device.token, device.person)
            }
            try await IngestHarness.run(in: folder) { harness in
                let export = try await eventually("the export is written after the restart") {
                    let list: IngestHarness.List<IngestHarness.ExportView> = try await harness.request(
                        "GET", "/ingest/v1/exports", token: token
                    )
                    .decoded()
                    return list.items.first { $0.state == "done" }
                }
                let files = try await harness.files(of: export, token: token)
                #expect(String(decoding: files[0], as: UTF8.self).contains("weight,2025-06-15T15:06:40.000Z,77.123,kg"))
                let folder = folder.appendingPathComponent("store/transfers/\(export.id)")
                let onDisk = try Data(contentsOf: folder.appendingPathComponent("0"))
                #expect(onDisk.range(of: Data("77.123".utf8)) == nil && onDisk.range(of: Data("heart-rate".utf8)) == nil)
                // A block that somebody changes is never given out.
                var broken = onDisk
                broken[broken.count - 1] ^= 1
                try broken.write(to: folder.appendingPathComponent("0"))
                let job = try #require(JobID(export.id))
                let reader = try harness.ingest.ownData.transfers.files.read(
                    job, file: 0, key: harness.ingest.keys.key(of: person) ?? .random())
                #expect(throws: SealedFiles.Fault.damaged) { while try reader.next() != nil {} }
                try await harness.ingest.ownData.service.expire(now: .now + .seconds(23 * 3600))
                #expect(FileManager.default.fileExists(atPath: folder.path))
                try await harness.ingest.ownData.service.expire(now: .now + .seconds(25 * 3600))
                #expect(!FileManager.default.fileExists(atPath: folder.path))
                let gone: IngestHarness.ExportView = try await harness.request("GET", "/ingest/v1/exports/\(export.id)", token: token)
                    .decoded()
                #expect(gone.state == "removed")
            }
        }
    }

    @Test("MYD-13: an import goes on after a restart where it was, and counts nothing twice")
    func interruptedImport() async throws {
        try await withTemporaryFolder { folder in
            let samples = Self.samples(5000, seed: 10)
            let lines = Data(samples.lines.utf8) + Data("{\"type\":\"mood\",\"at\":1}\n".utf8)
            let account = try await IngestHarness.run(in: folder) { harness in
                let account = try await harness.account()
                let (ownData, reader) = (harness.ingest.ownData, try await harness.ingest.deviceModule.people.reader(of: account.person))
                let job = JobID.random()
                let file = try ownData.transfers.files.write(job, file: 0, key: ownData.transfers.vault.key(of: account.person))
                try file.add(lines)
                try file.close()
                // The service stops after the first piece.
                let source = try await harness.ingest.deviceModule.people.ownSource(of: account.person, .imported)
                var scanned = ScannedUpload()
                scanned.samples = Array(samples.prefix(ImportLimits.piece))
                scanned.indexes = scanned.samples.indices.map(Int32.init)
                var result = ImportResult()
                (result.done, result.accepted, result.rejectedCount) = (ImportLimits.piece, ImportLimits.piece, 1)
                result.rejected = [.init(index: samples.count, line: samples.count + 1, name: "unknown-metric", detail: "x")]
                let sealed = try ownData.transfers.seal(result, "result", of: job, account.person)
                let request = try ownData.transfers.seal(TransferRequest(format: .ndjson), "request", of: job, account.person)
                let table = ownData.transfers.table
                _ = try await ownData.imports.uploads.take(
                    ReceivedUpload(scanned: scanned), UploadOrigin(device: source, receivedAt: .now, trace: "", idempotencyKey: nil),
                    alongside: UploadEffect(run: { db, _, _ in
                        try table.add(db, job, of: reader.number, .imported, request: request, at: .now)
                        try table.note(db, job, result: sealed)
                    }))
                return account
            }
            try await IngestHarness.run(in: folder) { harness in
                try await eventually("tokens can be checked", isTrue: { harness.ingest.deviceModule.tokens.isReady })
                let done: IngestHarness.ImportView = try await eventually("the import is over") {
                    let list: IngestHarness.List<IngestHarness.ImportView> = try await harness.request(
                        "GET", "/ingest/v1/imports", token: account.token
                    ).decoded()
                    return list.items.first { $0.state == "done" }
                }
                #expect(done.accepted == samples.count && done.duplicates == 0 && done.rejectedCount == 1)
                #expect(done.rejected.map(\.line) == [samples.count + 1])
                #expect(Set(try await Self.all(harness, account.token)) == Set(samples))
                let left = try FileManager.default.contentsOfDirectory(atPath: folder.appendingPathComponent("store/transfers").path)
                #expect(left.isEmpty, "the file is not kept")
            }
        }
    }

    @Test(
        "ING-04, ING-08, MYD-13: what is wrong in a file is named by its line and the rest is taken; another value stays out; a wrong file is told"
    )
    func refusals() async throws {
        try await IngestHarness.runWithAccount { harness, account in
            let csv = "type,at,value\nheart-rate,2026-01-10T00:31:00Z,72\nheart-rate,2026-01-10T00:32:00Z,0\nmood,2026-01-10T00:33:00Z,1\n"
            let taken = try await harness.takeIn(Data(csv.utf8), "text/csv", token: account.token)
            #expect(taken.accepted == 1 && taken.rejectedCount == 2 && taken.rejected.map(\.line) == [3, 4])
            #expect(taken.rejected.map(\.type) == ["urn:trackme:problem:impossible-value", "urn:trackme:problem:unknown-metric"])
            let other = try await harness.takeIn(
                Data("{\"type\":\"heart-rate\",\"at\":\"2026-01-10T00:31:00Z\",\"value\":73}\n".utf8), "application/x-ndjson",
                token: account.token)
            #expect(other.accepted == 0 && other.rejected.map(\.type) == ["urn:trackme:problem:conflicting-value"])
            let wrong = try await harness.takeIn(Data("<!DOCTYPE gpx><gpx/>".utf8), "application/gpx+xml", token: account.token)
            #expect(wrong.state == "failed" && wrong.fault?.contains("DOCTYPE") == true)
            let type = try await harness.request(
                "POST", "/ingest/v1/imports", token: account.token, body: Data("x".utf8), headers: ["Content-Type": "text/plain"])
            #expect(type.status == 415)
            try await harness.state(of: account, active: false)
            let barred = try await harness.request(
                "POST", "/ingest/v1/imports", token: account.token, body: Data(csv.utf8), headers: ["Content-Type": "text/csv"])
            #expect(barred.status == 403)
        }
    }

    @Test(
        "MYD-13: real recordings survive the round trip through FHIR and GPX",
        .enabled(
            if: TestData.has(["icu-vitals-32h.csv", "run-lisbon-2017.csv"]), "the recordings are not here; name their folder in TEST_DATA"))
    func realRecordings() async throws {
        let vitals = try #require(TestData.file("icu-vitals-32h.csv"))
        let run = try #require(TestData.file("run-lisbon-2017.csv"))
        let columns: [(file: URL, [(Int, Metric)])] = [
            (vitals, [(1, .heartRate), (2, .bloodPressureMax), (3, .bloodPressureMin), (6, .respirationRate), (7, .oxygenSaturation)]),
            (run, [(1, .heartRate)]),
        ]
        var samples: [Sample] = []
        for (file, targets) in columns {
            for line in try String(contentsOf: file, encoding: .utf8).split(whereSeparator: \.isNewline).dropFirst() {
                let cells = line.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
                guard let at = Timestamp(rfc3339: cells[0]) else { continue }
                for (column, metric) in targets {
                    guard let value = Double(cells[column]), metric.definition.possible.contains(value) else { continue }
                    samples.append(Sample(type: metric, at: at, value: value))
                }
                guard file == run, let latitude = Double(cells[2]), let longitude = Double(cells[3]) else { continue }
                samples.append(
                    Sample(
                        type: .position, at: at, value: nil,
                        position: Position(latitude: latitude, longitude: longitude, altitude: Double(cells[4]))))
            }
        }
        let expected = samples
        #expect(expected.count > 10_000)
        try await IngestHarness.runWithDevice { harness, device in
            try await Self.upload(expected, harness, device.token)
            let account = try await harness.account()
            for format in [ExchangeFormat.fhir, .gpx] {
                let export = try await harness.export(["format": .string(format.rawValue)], token: device.token)
                for (file, bytes) in zip(export.files, try await harness.files(of: export, token: device.token)) {
                    let taken = try await harness.takeIn(bytes, file.mediaType, token: account.token)
                    #expect(taken.rejectedCount == 0 && taken.accepted + taken.duplicates == file.entries)
                }
            }
            #expect(Set(try await Self.all(harness, account.token)) == Set(expected))
        }
    }
}
