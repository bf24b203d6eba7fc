// Sequences on which the machine and docs/sos-rules.md were apart, each by its symptom.

import Contracts
import Testing

@testable import SOSDispatcher

@Suite("Rules that the machine did not keep")
struct RulesReviewTests {
    private static let minute = Duration.seconds(60)

    struct Row: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var own: [Metric: Bounds] = [:]
        var silenceCalls = false
        var happen: @Sendable (inout SupervisionStory) -> Void
        /// Until when time passes.
        var until: Double
        /// The end of the list.
        var expected: [String]
    }

    private static let rows: [Row] = [
        Row(
            testDescription: "SOS-37: of three openings within 60 s the last came late: another one after it was counted in its place",
            happen: { story in
                for (second, value) in [
                    (0.0, 70.0), (5, 130), (6, 70), (25, 70), (45, 130), (46, 70), (90, 70), (110, 130), (111, 70),
                ] {
                    story.heart(second, value)
                }
                story.late(112, 130, measured: 60)
                story.heart(112.5, 70)
            }, until: 115.5,
            expected: ["112.000 opened heart-rate", "112.000 confirmed heart-rate", "115.500 dispatched heart-rate"]),
        Row(
            testDescription: "SOS-37: of three openings within 60 s the earliest came last",
            happen: { story in
                for (second, value) in [(25.0, 70.0), (50, 130), (51, 70), (55, 130), (56, 70)] { story.heart(second, value) }
                story.late(57, 131, measured: 10)
                story.heart(58, 70)
            }, until: 60.5,
            expected: ["57.000 opened heart-rate", "57.000 confirmed heart-rate", "60.500 dispatched heart-rate"]),
        Row(
            testDescription: "SOS-37: three openings that no 60 s hold are none, though each is within 60 s of the one that came last",
            happen: { story in
                for (second, value) in [(0.0, 70.0), (5, 130), (6, 70), (30, 70), (50, 70), (70, 130), (71, 70)] {
                    story.heart(second, value)
                }
                story.late(72, 130, measured: 45)
                story.heart(73, 70)
            }, until: 80, expected: ["72.000 opened heart-rate", "73.000 transient heart-rate"]),
        Row(
            testDescription: "SOS-32, SOS-38: a reading of a breach that is armed already was doubted",
            happen: { story in
                story.upload(0, [.heartRate: 60, .respirationRate: 12, .oxygenSaturation: 97], interval: minute)
                story.heart(10, 40, source: "b")
                story.answer(11, .fine)
                story.heart(59, 34, source: "b")
                story.upload(60, [.heartRate: 11.5], interval: minute)
            }, until: 62.5,
            expected: [
                "10.000 opened heart-rate", "11.000 muted heart-rate", "59.000 opened heart-rate", "59.000 confirmed heart-rate",
                "62.500 dispatched heart-rate",
            ]),
        Row(
            testDescription: "SOS-34: called off while all was silent, it stood down for ever, and the contacts never heard of the silence",
            happen: { story in
                story.heart(0, 130)
                story.answer(1, .fine)
                story.answer(40, .help)
                story.acknowledge(40.1)
                story.answer(60, .fine)
            }, until: 10_000,
            expected: [
                "30.000 signal-lost heart-rate", "40.000 opened help", "40.000 dispatched help", "40.100 acknowledged help",
                "60.000 cancelled help", "60.000 closed help", "330.000 silence-contacts -",
            ]),
        Row(
            testDescription: "SOS-25, SOS-34: a value that was typed in took back the alert that a silence had raised", silenceCalls: true,
            happen: { story in
                story.heart(10, 80)
                story.typed(341, 72)
            }, until: 350,
            expected: [
                "340.000 silence-contacts -", "340.000 opened heart-rate", "343.000 confirmed heart-rate", "343.500 dispatched heart-rate",
            ]),
        Row(
            testDescription: "SOS-34: what is no longer watched is forgotten, and falls silent no more",
            own: [.oxygenSaturation: Bounds(low: 90, high: nil)],
            happen: { story in
                story.upload(1, [.heartRate: 70, .oxygenSaturation: 97])
                story.subscribe(2)
                story.heart(29, 70)
                story.heart(58, 70)
            }, until: 80, expected: []),
        Row(
            testDescription: "SOS-38: a doubt that became worse let the emergency close by values that were in range before it",
            happen: { story in
                story.heart(0, 130, source: "b")
                story.acknowledge(4)
                story.heart(10, 70, source: "b")
                story.upload(40, [.heartRate: 60, .respirationRate: 12, .oxygenSaturation: 97], interval: minute)
                story.upload(100, [.heartRate: 11.5], interval: minute)
                story.heart(131, 70, source: "b")
                story.heart(251, 70, source: "b")
            }, until: 251,
            expected: [
                "4.000 acknowledged heart-rate", "100.000 doubted heart-rate", "120.000 worse heart-rate", "251.000 closed heart-rate",
            ]),
        Row(
            testDescription: "SOS-35: taken by a service, a call of somebody who never had a device went on for ever once help was there",
            happen: { story in
                story.answer(40, .help)
                story.acknowledge(41)
                story.answer(50, .helpIsHere)
            }, until: 100_000,
            expected: [
                "30.000 signal-lost -", "40.000 opened help", "40.000 dispatched help", "41.000 acknowledged help", "3641.000 closed help",
            ]),
        Row(
            testDescription: "SOS-25, SOS-35: taken by a service, it went on for a day where nobody said that help is there",
            happen: { story in
                story.answer(40, .help)
                story.acknowledge(41)
            }, until: 100_000, expected: ["41.000 acknowledged help", "3641.000 closed help"]),
        Row(
            testDescription: "SOS-15: taken by a service, a critical glucose that nobody measured again was no news a week later",
            own: [.glucose: Bounds(low: 70, high: 200)],
            happen: { story in
                story.upload(1, [.glucose: 250])
                story.acknowledge(5)
                story.upload(600_000, [.glucose: 250])
            }, until: 600_004,
            expected: [
                "5.000 acknowledged glucose", "3605.000 closed glucose", "600000.000 opened glucose", "600003.000 confirmed glucose",
                "600003.500 dispatched glucose",
            ]),
        Row(
            testDescription: "SOS-36: a pause ended a fall that nobody had answered, in silence",
            happen: { story in
                story.prefer(0, shaking: false, falls: Supervision.FallWatch())
                story.upload(5, [Sample(type: .fall, at: SupervisionStory.at(5), value: nil)])
                story.pause(10)
            }, until: 26,
            expected: ["5.000 fell fall", "25.000 fall-contacts fall", "25.000 opened fall", "25.000 dispatched fall"]),
        Row(
            testDescription: "SOS-36: whoever has paused answers a fall as ever",
            happen: { story in
                story.prefer(0, shaking: false, falls: Supervision.FallWatch())
                story.upload(5, [Sample(type: .fall, at: SupervisionStory.at(5), value: nil)])
                story.pause(10)
                story.answer(15, .fine)
            }, until: 40, expected: ["5.000 fell fall", "15.000 fall-ended fall"]),
    ]

    @Test("SOS-25, SOS-32, SOS-34, SOS-35, SOS-36, SOS-37, SOS-38: the list ends as the page says", arguments: rows)
    func kept(row: Row) {
        var rules = SupervisionRules()
        rules.silenceCallsAmbulance = row.silenceCalls
        var story = SupervisionStory(rules, own: row.own)
        row.happen(&story)
        story.pass(row.until)
        #expect(row.expected.isEmpty ? story.list.isEmpty : story.list.suffix(row.expected.count) == row.expected[...])
    }
}

extension SupervisionStory {
    fileprivate mutating func late(_ seconds: Double, _ value: Double, measured: Double) {
        upload(seconds, [Sample(type: .heartRate, at: Self.at(measured), value: value)])
    }
}
