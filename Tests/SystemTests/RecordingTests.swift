// Real recordings go through the suite and come back as they are in their files.

import Contracts
import Foundation
import TestKit
import Testing

@testable import Operator

/// Reads a recording by rules of its own, so that the suite's reader is not its own witness.
struct PlainRecording {
    var columns: [String: Metric]
    var hasPosition = false

    static let icu = PlainRecording(columns: [
        "HR_bpm": .heartRate, "ABPSys_mmHg": .bloodPressureMax, "ABPDias_mmHg": .bloodPressureMin, "PULSE_bpm": .pulseRate,
        "RESP_pm": .respirationRate, "SpO2_%": .oxygenSaturation, "ABPMean_mmHg": named("blood-pressure-mean"),
        "NBPSys_mmHg": named("cuff-blood-pressure-max"), "NBPDias_mmHg": named("cuff-blood-pressure-min"),
        "NBPMean_mmHg": named("cuff-blood-pressure-mean"),
    ])
    static let run = PlainRecording(
        columns: ["heart_rate_bpm": .heartRate, "distance_m": .distance, "speed_mps": named("speed"), "cadence_rpm": named("cadence")],
        hasPosition: true)

    private static func named(_ code: String) -> Metric {
        guard let metric = Metric(code: code) else { preconditionFailure("the registry has no \(code)") }
        return metric
    }

    /// Every reading of the file. A 0 of a metric that cannot be 0 is a sensor that is off.
    func entries(of file: URL, for person: PersonID) throws -> (entries: [Entry], rows: Int, noReadings: Int) {
        let lines = try String(contentsOf: file, encoding: .utf8).split(whereSeparator: \.isNewline)
        let headers = lines[0].split(separator: ",").map(String.init)
        var (entries, noReadings): ([Entry], Int) = ([], 0)
        for line in lines.dropFirst() {
            let cells = line.split(separator: ",", omittingEmptySubsequences: false)
            let row = Dictionary(uniqueKeysWithValues: zip(headers, cells))
            let at = try #require(Timestamp(rfc3339: row["time"] ?? ""))
            for (header, metric) in columns {
                guard let value = row[header].flatMap({ Double($0) }) else { continue }
                guard metric.definition.possible.contains(value) else {
                    noReadings += 1
                    continue
                }
                entries.append(Entry(person, Sample(type: metric, at: at, value: value)))
            }
            if hasPosition, let latitude = row["latitude"].flatMap({ Double($0) }), let longitude = row["longitude"].flatMap({ Double($0) })
            {
                let place = Position(latitude: latitude, longitude: longitude, altitude: row["altitude_m"].flatMap { Double($0) })
                entries.append(Entry(person, Sample(type: .position, at: at, value: nil, position: place)))
            }
        }
        return (entries, lines.count - 1, noReadings)
    }
}

extension SystemTests {
    @Suite("Recordings")
    struct RecordingTests {
        @Test(
            "ING-04, ING-05, ING-08, ING-11, ING-14, SOS-09: 32 h of a monitor at recorded times: all accounted for, read back equal, nothing twice, no emergency",
            .enabled(if: TestData.file("icu-vitals-32h.csv") != nil, "the recordings are not here; name their folder in TEST_DATA"),
            .timeLimit(.minutes(10)))
        func icu() async throws {
            try await replay("icu-vitals-32h.csv", as: .icu)
        }

        @Test(
            "ING-04, ING-05, ING-07, ING-11, ING-14, SOS-09: an hour's run at recorded times: all accounted for, read back equal, nothing twice, no emergency",
            .enabled(if: TestData.file("run-lisbon-2017.csv") != nil, "the recordings are not here; name their folder in TEST_DATA"),
            .timeLimit(.minutes(10)))
        func lisbon() async throws {
            try await replay("run-lisbon-2017.csv", as: .run)
        }

        @Test("R19: each recording is replayed as a person of its own, and again as the same one", .timeLimit(.minutes(5)))
        func people() async throws {
            try await RealSuite.with { suite in
                func replay(_ rows: String, as name: String, _ further: String...) throws -> String {
                    let file = suite.root.appendingPathComponent(name)
                    try Data(("time,HR_bpm\n" + rows).utf8).write(to: file)
                    let arguments = ["replay", file.path, "--url", suite.server, "--data", suite.data.path] + further
                    return try Tool.run(
                        ServiceExecutable.folder.appendingPathComponent("trackme").path, arguments, environment: suite.layout.environment
                    ).output
                }
                func person(_ output: String) throws -> String {
                    String(try #require(output.firstMatch(of: /made device dev_\w+ of person (per_\w+)/)).1)
                }
                let (one, other) = ("2026-01-10T10:00:00Z,60\n", "2026-01-10T10:00:00Z,61\n")
                let first = try person(replay(one, as: "a.csv"))
                let second = try person(replay(other, as: "b.csv"))
                #expect(first != second)
                let again = try replay(one, as: "renamed.csv")
                #expect(again.contains("0 accepted, 1 duplicates") && !again.contains("made device"))
                #expect(try person(replay(other, as: "b.csv", "--person", first)) == first)
            }
        }

        private func replay(_ name: String, as plain: PlainRecording) async throws {
            let file = try #require(TestData.file(name))
            try await RealSuite.with { suite in
                let watch = try await suite.addPerson(supervised: true)
                let token = suite.root.appendingPathComponent("token")
                try Data((watch.token + "\n").utf8).write(to: token)
                try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: token.path)
                let (entries, rows, noReadings) = try plain.entries(of: file, for: watch.person)
                let once = try suite.trackme("replay", file.path, "--url", suite.server, "--token-file", token.path)
                #expect(once.output.contains("\(rows) rows"), "\(once.output)")
                #expect(once.output.contains("\(entries.count) accepted, 0 duplicates, 0 rejected, 0 refused"), "\(once.output)")
                let twice = try suite.trackme("replay", file.path, "--url", suite.server, "--token-file", token.path)
                #expect(twice.output.contains("0 accepted, \(entries.count) duplicates, 0 rejected, 0 refused"), "\(twice.output)")
                let reader = ReadBack(server: suite.server)
                var evidence = Evidence()
                evidence.sent = Set(entries)
                evidence.acknowledged = evidence.sent
                for metric in Array(plain.columns.values) + (plain.hasPosition ? [.position] : []) {
                    evidence.stored += try await reader.entries(of: watch.person, token: watch.token, type: metric)
                }
                evidence.emergencies = try await suite.ask(ListEmergencies(person: nil, limit: 1000)).emergencies
                evidence.audit = try await suite.ask(VerifyAudit())
                try await suite.stop()
                evidence.desk = DeskLine.read(suite.deskLedger)
                evidence.stores = StoppedStores(folders: suite.storeFolders).examine()
                let report = Checker().report(evidence)
                print("figure: replay of \(name): \(rows) rows, \(noReadings) no readings; \(report.figures.line)")
                #expect(report.violations.isEmpty, "\(report.summary)")
                #expect(evidence.emergencies.isEmpty && evidence.desk.isEmpty)
            }
        }
    }
}
