// Table SOS-S as the machine has it: every state with everything that can happen to it, as docs/sos-rules.md §3.11 prints it.

import Contracts
import Foundation
import Testing

@testable import SOSDispatcher

@Suite("The matrix of the rules")
struct RulesMatrixTests {
    private static let oxygen: [Metric: Bounds] = [.oxygenSaturation: Bounds(low: 90, high: nil)]
    private static let page = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .appendingPathComponent("../../../docs/sos-rules.md")

    /// A person in each state, 100 s after the story's start; falls are watched.
    private static let states: [(name: String, begin: @Sendable () -> SupervisionStory)] = [
        ("OFF", { SupervisionStory(subscribed: false) }),
        ("MONITORING", { monitored() }),
        ("MONITORING (muted)", { story { $0.answer(100, .fine) } }),
        (
            "SUSPENDED",
            {
                var story = monitored(until: 60); story.pass(100); return story
            }
        ),
        (
            "PAUSED",
            {
                var story = monitored(); story.pause(100); return story
            }
        ),
        ("ALERTED", { story { _ in } }),
        ("CONFIRMED", { story(at: 96.9) { $0.pass(100) } }),
        (
            "ASKED AGAIN",
            {
                story {
                    $0.answer(99.5, .fine); $0.heart(99.6, 70); $0.heart(109.7, 125)
                }
            }
        ),
        ("DISPATCHING", { story(at: 96) { $0.pass(100) } }),
        ("DISPATCHED", { story(at: 96) { $0.acknowledge(99.9) } }),
        ("STOOD-DOWN", { story(at: 96) { $0.answer(99.9, .falseAlarm) } }),
        ("MONITORING, DOUBTED", { doubted() }),
        (
            "MONITORING, FALL",
            {
                var story = monitored(); story.event(100, .fall); return story
            }
        ),
    ]

    private static func monitored(until end: Double = 99) -> SupervisionStory {
        var story = SupervisionStory(own: oxygen)
        story.prefer(0, shaking: false, falls: Supervision.FallWatch())
        for second in stride(from: 0, through: end, by: 1) { story.heart(second, 70) }
        return story
    }

    /// With a heart rate of 125 from `time` on.
    private static func story(at time: Double = 99, _ then: (inout SupervisionStory) -> Void) -> SupervisionStory {
        var story = monitored(until: time - 1)
        story.heart(time, 125)
        then(&story)
        return story
    }

    private static func doubted() -> SupervisionStory {
        var story = SupervisionStory(own: oxygen)
        story.prefer(0, shaking: false, falls: Supervision.FallWatch())
        story.upload(40, [.heartRate: 70, .respirationRate: 12, .oxygenSaturation: 97], interval: .seconds(60))
        story.upload(100, [.heartRate: 30], interval: .seconds(60))
        return story
    }

    /// What happens, some seconds after the machine's latest time.
    private static let events: [(name: String, happen: @Sendable (inout SupervisionStory, Double) -> Void)] = [
        ("subscribe", { $0.subscribe($1 + 0.1, own: oxygen) }),
        ("in range", { $0.heart($1 + 0.1, 70) }),
        ("the same breach", { $0.heart($1 + 0.1, 125) }),
        ("the same, severe", { $0.heart($1 + 0.1, 170) }),
        ("another breach", { $0.heart($1 + 0.1, 44) }),
        ("doubted reading", { $0.torn($1 + 0.1) }),
        ("nothing for 4 s", { $0.pass($1 + 4) }),
        ("nothing for 400 s", { $0.pass($1 + 400) }),
        ("fine", { $0.answer($1 + 0.1, .fine) }),
        ("help", { $0.answer($1 + 0.1, .help) }),
        ("help is here", { $0.answer($1 + 0.1, .helpIsHere) }),
        ("acknowledged", { $0.acknowledge($1 + 0.1) }),
        ("fall", { $0.event($1 + 0.1, .fall) }),
        ("help of a device", { $0.event($1 + 0.1, .help) }),
        ("pause", { $0.pause($1 + 0.1) }),
        ("resume", { $0.resume($1 + 0.1) }),
        ("on charge", { $0.charge($1 + 0.1) }),
        ("unsubscribe", { $0.unsubscribe($1 + 0.1) }),
    ]

    private static func name(_ machine: Supervision) -> String {
        let beside = [machine.state.doubt == nil ? nil : "DOUBTED", machine.state.fall == nil ? nil : "FALL"].compactMap(\.self)
        let stage = machine.state.stage.rawValue.replacingOccurrences(of: "asked-again", with: "asked again").uppercased()
        let muted = machine.state.stage == .monitoring && machine.state.mutes != nil ? " (muted)" : ""
        return ([stage + muted] + beside).joined(separator: ", ")
    }

    private static func cell(_ begin: () -> SupervisionStory, _ happen: (inout SupervisionStory, Double) -> Void) -> String {
        var story = begin()
        let before = (name(story.machine), story.actions.count)
        let now =
            Double(max(story.machine.state.now.milliseconds, SupervisionStory.at(100).milliseconds) - SupervisionStory.start.milliseconds)
            / 1000
        happen(&story, now)
        let words = story.actions.dropFirst(before.1).compactMap(\.listed)
        let after = name(story.machine)
        if words.isEmpty, after == before.0 { return "–" }
        return ([after == before.0 ? "the same" : after] + (words.isEmpty ? [] : [words.joined(separator: " ")])).joined(separator: ": ")
    }

    /// The table as Markdown: a row for each event, a column for each state.
    static func table() -> String {
        var lines = ["| | " + states.map(\.name).joined(separator: " | ") + " |", String(repeating: "|---", count: states.count + 1) + "|"]
        for event in events {
            lines.append("| **\(event.name)** | " + states.map { cell($0.begin, event.happen) }.joined(separator: " | ") + " |")
        }
        return lines.joined(separator: "\n")
    }

    @Test("SOS-S: every state with every event has its cell, and the page prints what the machine does")
    func printed() throws {
        let table = Self.table()
        #expect(!table.contains("|  |"))
        let parts = try String(contentsOf: Self.page, encoding: .utf8).components(separatedBy: "matrix -->")
        try #require(parts.count == 3)
        if ProcessInfo.processInfo.environment["HOUSE_WRITES_DOCS"] != nil {
            let page = "\(parts[0])matrix -->\n\(table)\n<!-- /matrix -->\(parts[2])"
            return try page.write(to: Self.page, atomically: true, encoding: .utf8)
        }
        let printed = parts[1].replacingOccurrences(of: "<!-- /", with: "").trimmingCharacters(in: .whitespacesAndNewlines)
        if printed != table {
            Issue.record("docs/sos-rules.md §3.11 has another table than the machine: make docs")
        }
    }

    @Test("The states of the matrix are what their names say")
    func states() {
        for state in Self.states where !state.name.contains("OFF") {
            #expect(Self.name(state.begin().machine) == state.name)
        }
    }
}

extension SupervisionStory {
    fileprivate mutating func event(_ seconds: Double, _ metric: Metric) {
        upload(seconds, [Sample(type: metric, at: Self.at(seconds), value: nil)])
    }

    /// A complete measurement of another source a minute before, then one of a lone low rate.
    fileprivate mutating func torn(_ seconds: Double) {
        let before = [Metric.heartRate: 70.0, .respirationRate: 12, .pulseRate: 70].map {
            Sample(type: $0.key, at: Self.at(seconds), value: $0.value)
        }
        upload(seconds, before, interval: .seconds(60), source: "monitor")
        upload(seconds + 0.1, [Sample(type: .heartRate, at: Self.at(seconds + 0.1), value: 44)], interval: .seconds(60), source: "monitor")
    }
}
