// A day and a half of a real patient through the pure machine, with recorded time as its clock.

import Contracts
import Foundation
import Testing

@testable import SOSDispatcher

@Suite("Recording")
struct RecordingTests {
    struct Case: Codable, Sendable, CustomTestStringConvertible {
        var name: String
        var bounds: [String: Bounds]
        var personal: [String: Bounds]?
        var bpRule: String
        var ackMs: Int64

        var testDescription: String { name }

        static let all: [Case] = {
            let data = FileManager.default.contents(atPath: RecordingTests.golden.appendingPathComponent("recording-cases.json").path)
            return data.flatMap { try? JSONDecoder().decode([Case].self, from: $0) } ?? []
        }()
    }

    static let golden = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("../Golden")

    @Test(
        "SOS-S, SOS-05, SOS-07: 32 h of recorded vital signs give the list that the independent oracle once gave",
        .enabled(if: Recording.isThere, "skipped: TEST_DATA has no icu-vitals-32h.csv"), arguments: Case.all)
    func list(example: Case) throws {
        var terms = Recording.Terms()
        terms.rules.pressureRule = try #require(SupervisionRules.PressureRule(rawValue: example.bpRule))
        terms.own = try OwnBounds.checked(example.bounds)
        terms.personal = try OwnBounds.checked(example.personal ?? [:])
        terms.acknowledgedAfter = .milliseconds(example.ackMs)
        let recording = Recording(try String(contentsOf: Recording.file, encoding: .utf8))
        let expected = try String(contentsOf: Self.golden.appendingPathComponent("recording-\(example.name).txt"), encoding: .utf8)
        #expect(recording.list(terms) == expected.split(separator: "\n").map(String.init))
    }
}
