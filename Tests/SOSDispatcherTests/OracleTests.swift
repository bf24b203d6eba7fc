// The machine against a second program that was written from docs/sos-rules.md alone, by somebody who had not seen the machine.

import Contracts
import Foundation
import TestKit
import Testing

@testable import SOSDispatcher

@Suite("Oracle", .serialized)
struct OracleTests {
    /// One set of bounds and figures, for both programs.
    struct Terms: Sendable, CustomTestStringConvertible {
        var arguments: [String]
        var swift: Recording.Terms

        var testDescription: String { arguments.isEmpty ? "defaults" : arguments.joined(separator: " ") }

        init(_ arguments: String, _ change: (inout Recording.Terms) -> Void = { _ in }) {
            self.arguments = arguments.split(separator: " ").map(String.init)
            swift = Recording.Terms()
            change(&swift)
        }

        static let all: [Terms] = [
            Terms(""),
            Terms("--bp-rule or --ack-after-ms 0") {
                $0.rules.pressureRule = .or
                $0.acknowledgedAfter = .zero
            },
            Terms("--own oxygen-saturation=92: --interval 0 --ack-after-ms 2500") {
                $0.own = [.oxygenSaturation: Bounds(low: 92, high: nil)]
                ($0.declaredInterval, $0.acknowledgedAfter) = (.zero, .milliseconds(2500))
            },
            Terms("--own heart-rate=50:90 --own respiration-rate=8:20 --interval 1") {
                $0.own = [.heartRate: Bounds(low: 50, high: 90), .respirationRate: Bounds(low: 8, high: 20)]
                $0.declaredInterval = .seconds(1)
            },
            // A low bound above the pair's half: one value can be critical for two parameters.
            Terms("--own blood-pressure-max=175: --own cuff-blood-pressure-max=100:140 --interval 20") {
                $0.own = [.bloodPressureMax: Bounds(low: 175, high: nil)]
                $0.own[Metric(code: "cuff-blood-pressure-max").unsafelyUnwrapped] = Bounds(low: 100, high: 140)
                $0.declaredInterval = .seconds(20)
            },
            Terms("--own blood-pressure-max=:160 --bp-rule or --ack-after-ms 900000") {
                $0.own = [.bloodPressureMax: Bounds(low: nil, high: 160)]
                $0.rules.pressureRule = .or
                $0.acknowledgedAfter = .seconds(900)
            },
            Terms("--own blood-pressure-min=:90 --signal-lost 5 --sustain 1 --dispatch-at 4.9 --max-age 10 --interval 1") {
                $0.own = [.bloodPressureMin: Bounds(low: nil, high: 90)]
                ($0.rules.signalLost, $0.rules.sustain, $0.rules.dispatchAt) = (.seconds(5), .seconds(1), .milliseconds(4900))
                ($0.rules.maximumAge, $0.declaredInterval) = (.seconds(10), .seconds(1))
            },
            Terms("--personal heart-rate=50:100 --personal blood-pressure-max=:160 --own heart-rate=:110 --silence-calls-ambulance") {
                $0.personal = [.heartRate: Bounds(low: 50, high: 100), .bloodPressureMax: Bounds(low: nil, high: 160)]
                $0.own = [.heartRate: Bounds(low: nil, high: 110)]
                $0.rules.silenceCallsAmbulance = true
            },
            Terms(
                "--personal blood-pressure-min=60:90 --own blood-pressure-max=:175 --silence-contacts 20 --silence-calls-ambulance --interval 1"
            ) {
                $0.personal = [.bloodPressureMin: Bounds(low: 60, high: 90)]
                $0.own = [.bloodPressureMax: Bounds(low: nil, high: 175)]
                ($0.rules.silenceContacts, $0.rules.silenceCallsAmbulance) = (.seconds(20), true)
                $0.declaredInterval = .seconds(1)
            },
        ]
    }

    static let oracle = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .appendingPathComponent("../Interop/oracle/sos_oracle.py")
    static let python = ["/usr/bin/python3", "/usr/local/bin/python3"].first { FileManager.default.isExecutableFile(atPath: $0) }
    static let recordingsOfEachTerms: UInt64 = 60

    @Test(
        "SOS-05, SOS-09, SOS-12, SOS-15, SOS-25: 32 h of recorded vital signs give the oracle's list",
        .enabled(if: python != nil, "skipped: there is no python3"),
        .enabled(if: Recording.isThere, "skipped: TEST_DATA has no icu-vitals-32h.csv"), arguments: Terms.all)
    func recorded(terms: Terms) async throws {
        let recording = Recording(try String(contentsOf: Recording.file, encoding: .utf8))
        let oracle = try #require(try await Self.ask([Recording.file], terms).first)
        #expect(Self.difference(recording.list(terms.swift), oracle) == nil)
        #expect(!oracle.isEmpty)
    }

    @Test(
        "SOS-S, SOS-04, SOS-05, SOS-09, SOS-12, SOS-14, SOS-15, SOS-21, SOS-24, SOS-25: invented lives give the oracle's list",
        .enabled(if: python != nil, "skipped: there is no python3"), arguments: Terms.all.indices)
    func invented(index: Int) async throws {
        let terms = Terms.all[index]
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("sos-oracle-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let seeds = (0..<Self.recordingsOfEachTerms).map { UInt64(index) * 1000 + $0 }
        let texts = seeds.map { InventedRecording.text(seed: $0) }
        let files = seeds.map { folder.appendingPathComponent("\($0).csv") }
        for (file, text) in zip(files, texts) { try text.write(to: file, atomically: false, encoding: .utf8) }
        let lists = try await Self.ask(files, terms)
        try #require(lists.count == files.count)
        var words: Set<Substring> = []
        for ((seed, text), oracle) in zip(zip(seeds, texts), lists) {
            let difference = Self.difference(Recording(text).list(terms.swift), oracle)
            #expect(difference == nil, "seed \(seed): \(difference ?? "")\n\(text)")
            for line in oracle { words.formUnion(line.split(separator: " ").dropFirst().prefix(1)) }
        }
        #expect(words.count >= 16, "some events never happened in any of them: \(words)")
    }

    /// The first line in which two lists differ.
    private static func difference(_ machine: [String], _ oracle: [String]) -> String? {
        let place = (0..<max(machine.count, oracle.count)).first { index in
            index >= machine.count || index >= oracle.count || machine[index] != oracle[index]
        }
        return place.map { index in
            let before = machine.prefix(index).suffix(3).joined(separator: "; ")
            let (ours, theirs) = (machine.dropFirst(index).first ?? "nothing", oracle.dropFirst(index).first ?? "nothing")
            return "after \(before): the machine says \(ours), the oracle \(theirs)"
        }
    }

    /// The oracle's list of each file.
    private static func ask(_ files: [URL], _ terms: Terms) async throws -> [[String]] {
        let arguments = ["-B", oracle.path] + terms.arguments + files.map(\.path)
        // Waiting for another program would hold up the threads that all other tests run on.
        let text = try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<String, any Error>) in
            Thread { continuation.resume(with: Result { try output(of: arguments) }) }.start()
        }
        var lists = files.count == 1 ? [[]] : [] as [[String]]
        for line in text.split(separator: "\n") {
            if line.hasPrefix("# ") { lists.append([]) } else { lists[lists.count - 1].append(String(line)) }
        }
        return lists
    }

    private struct OracleFailed: Error {
        let status: Int32
    }

    private static func output(of arguments: [String]) throws -> String {
        let process = Process()
        process.executableURL = python.map { URL(fileURLWithPath: $0) }
        process.arguments = arguments
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        let text = String(decoding: try output.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw OracleFailed(status: process.terminationStatus) }
        return text
    }
}

/// A life out of a seed: values at and about the bounds, times at and about the deadlines.
enum InventedRecording {
    private static let columns: [(name: String, values: [String])] = [
        ("HR_bpm", ["30", "44", "45", "60", "80", "80", "80", "80", "90", "91", "120", "121", "0"]),
        ("ABPSys_mmHg", ["120", "120", "120", "160", "161", "170", "171", "175", "180", "0"]),
        ("ABPDias_mmHg", ["80", "80", "80", "90", "91", "100", "101", "110", "301"]),
        ("SpO2_%", ["80", "91.9", "92", "97", "98", "99"]),
        ("RESP_pm", ["7", "8", "14", "15", "16", "20", "20.1", "26"]),
        ("NBPSys_mmHg", ["99", "100", "120", "130", "140", "141"]),
    ]
    private static let steps: [Int64] = [
        0, 0, 1, 50, 300, 500, 900, 1000, 1000, 1000, 2000, 2999, 3000, 3500, 3600, 5000, 10_000, 10_000, 20_000, 29_000, 30_000, 31_000,
        60_000,
        60_000, 120_000, 180_000, 200_000,
    ]
    private static let rareSteps: [Int64] = [-300_000, -61_000, -5000, 600_000, 700_000, 3_700_000, 4_000_000]
    private static let ages: [Int64] = [0, 0, 0, 0, 0, 0, 0, -5000, 1, 100, 1500, 5000, 10_000, 10_001, 30_000, 59_999, 60_000, 60_001]
    private static let events = [
        "fine", "fine", "false-alarm", "false-alarm", "help", "help", "help-is-here", "pause", "resume", "resume", "subscribe", "subscribe",
        "unsubscribe", "help-event", "help-event", "fall", "fall",
    ]
    /// Of what devices report: live, as clocks differ, delayed, and too late.
    private static let reportAges: [Int64] = [
        0, 0, 0, -5000, -10_001, -300_000, 1000, 10_000, 10_001, 30_000, 300_000, 900_000, 900_001,
    ]

    static func text(seed: UInt64) -> String {
        var dice = SeededGenerator(seed: seed)
        var others = SeededGenerator(seed: ~seed)
        var lines = ["time,event,age_ms,source," + columns.map(\.name).joined(separator: ",")]
        var now = SupervisionStory.start
        var taken: Set<String> = []
        var reported: [(own: Int64, source: String)] = []
        // Some people are mostly well, some mostly not; some wear one sensor, some all.
        let wellness = Int.random(in: 0..<4, using: &dice)
        let fullness = Int.random(in: 1..<5, using: &dice)
        for _ in 0..<Int.random(in: 20..<140, using: &dice) {
            let rare = Int.random(in: 0..<25, using: &dice) == 0
            now = now + .milliseconds((rare ? rareSteps : steps).randomElement(using: &dice) ?? 0)
            if Int.random(in: 0..<14, using: &dice) == 0 {
                let event = events.randomElement(using: &dice) ?? ""
                guard event == "help-event" || event == "fall" else {
                    lines.append("\(now.rfc3339),\(event),,")
                    continue
                }
                // Some are sent again.
                let isAgain = Int.random(in: 0..<4, using: &dice) == 0
                let new = (now.milliseconds - (reportAges.randomElement(using: &dice) ?? 0), Bool.random(using: &dice) ? "b" : "")
                let (own, source) = isAgain ? reported.randomElement(using: &dice) ?? new : new
                reported.append((own, source))
                lines.append("\(now.rfc3339),\(event),\(now.milliseconds - own),\(source)")
                // Others are answered, and reported by another device as well.
                if Bool.random(using: &others) {
                    lines.append("\((now + .seconds(1)).rfc3339),fine,,")
                    now = now + .seconds(2)
                    let age = [0, 1999, 2000, 10_000, 10_001].randomElement(using: &others) ?? 0
                    lines.append("\(now.rfc3339),\(event),\(age),c")
                }
                continue
            }
            let age = Int.random(in: 0..<3, using: &dice) == 0 ? ages.randomElement(using: &dice) ?? 0 : 0
            let isOther = Int.random(in: 0..<6, using: &dice) == 0
            let source = isOther ? Bool.random(using: &others) ? "b" : "manual" : ""
            let cells = columns.map { column -> String in
                // No metric has two values at one time: ingest drops repetitions.
                let isNew = taken.insert("\(column.name) \(now.milliseconds - age)").inserted
                guard Int.random(in: 0..<5, using: &dice) < fullness, isNew else { return "" }
                let isWell = Int.random(in: 0..<4, using: &dice) < wellness
                return isWell ? column.values[column.values.count / 2] : column.values.randomElement(using: &dice) ?? ""
            }
            lines.append("\(now.rfc3339),,\(age),\(source)," + cells.joined(separator: ","))
        }
        return lines.map { $0 + "\n" }.joined()
    }
}
