// What docs/sos-32-hours.md says of the recording, held against what the machine does.

import Contracts
import Foundation
import Testing

@testable import SOSDispatcher

@Suite("Thirty-two hours")
struct RecordingReportTests {
    private static let page = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .appendingPathComponent("../../../docs/sos-32-hours.md")

    /// The recording as a history, a minute a row.
    private static func fitted(_ recording: Recording) -> PersonalFit {
        var history: [Metric: [HistoryMinute]] = [:]
        for (at, what) in recording.happenings {
            guard case .upload(let samples) = what else { continue }
            for sample in samples {
                guard let value = sample.value else { continue }
                history[sample.type, default: []].append(HistoryMinute(at: at, least: value, mean: value, greatest: value, count: 1))
            }
        }
        // The product waits for ten days; this patient was there for two.
        let rules = PersonalRules(leastDays: 1)
        let defaults = Thresholds(own: [:], rules: SupervisionRules())
        let usual = Dictionary(uniqueKeysWithValues: PersonalFit.metrics.map { ($0, defaults.bounds(of: $0)) })
        return PersonalFit(history, defaults: usual, rules: rules, at: Timestamp(milliseconds: 0))
    }

    /// The rows of the n-th table of the page, as lines of the machine's list.
    private static func table(_ number: Int) throws -> [String] {
        let sections = try String(contentsOf: page, encoding: .utf8).components(separatedBy: "\n## ")
        return sections[number].split(separator: "\n").compactMap { line in
            let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
            guard cells.count == 4, let at = Timestamp(rfc3339: cells[0]) else { return nil }
            return "\(at.milliseconds) \(cells[1]) \(cells[2])"
        }
    }

    @Test(
        "SOS-07, SOS-09, SOS-25: 32 recorded hours by default and personalised bounds give the lists that the page explains",
        .enabled(if: Recording.isThere, "skipped: TEST_DATA has no icu-vitals-32h.csv"))
    func lists() throws {
        let recording = Recording(try String(contentsOf: Recording.file, encoding: .utf8))
        var terms = Recording.Terms()
        let byDefault = recording.list(terms)
        terms.personal = Self.fitted(recording).bounds
        let personal = recording.list(terms)
        print("· 32 h: \(Self.summary(byDefault)) by default; \(Self.summary(personal)) by \(terms.personal)")
        #expect(byDefault == (try Self.table(1)))
        #expect(personal == (try Self.table(2)))
    }

    private static func summary(_ list: [String]) -> String {
        let words = list.map { $0.split(separator: " ")[1] }
        return "\(words.count { $0 == "opened" }) alerts, \(words.count { $0 == "signal-lost" }) silences"
    }

    @Test(
        "SOS-09, SOS-25: no disconnected sensor alarms, not for the minute in which it comes off or on; every silence of five minutes more reaches the contacts",
        .enabled(if: Recording.isThere, "skipped: TEST_DATA has no icu-vitals-32h.csv"))
    func disconnected() throws {
        let recording = Recording(try String(contentsOf: Recording.file, encoding: .utf8))
        let list = recording.list(Recording.Terms()).map { $0.split(separator: " ") }
        // The recording has no minute in which a connected sensor shows a value beyond the default bounds.
        #expect(!list.contains { $0[1] == "opened" })
        let lost = list.filter { $0[1] == "signal-lost" }.compactMap { Int64($0[0]) }
        let told = list.filter { $0[1] == "silence-contacts" }.compactMap { Int64($0[0]) }
        #expect(told == lost.map { $0 + 300_000 })
    }
}
