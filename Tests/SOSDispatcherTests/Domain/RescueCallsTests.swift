// Calls for help and falls, in every state (SOS-35, SOS-36).

import Contracts
import Foundation
import Testing

@testable import SOSDispatcher

@Suite("Calls for help and falls")
struct RescueCallsTests {
    // MARK: Manual SOS

    @Test(
        "R10, SOS-35: help without an alert was 409: it calls at once, monitored, paused, charging and silent; by a device's event too",
        arguments: ["monitoring", "paused", "charging", "silent", "device"])
    func manual(state: String) {
        var story = SupervisionStory()
        story.heart(0, 70)
        switch state {
        case "paused": story.pause(1)
        case "charging": story.charge(1)
        case "silent": story.pass(100)
        default: break
        }
        if state == "device" {
            story.upload(200, [Sample(type: .help, at: SupervisionStory.at(190), value: nil)])
        } else {
            story.answer(200, .help)
        }
        #expect(story.list.suffix(2) == ["200.000 opened help", "200.000 dispatched help"])
        #expect(story.machine.state.stage == .dispatching)
    }

    @Test("SOS-35: within 10 s it is one call; later a new alert under the same reference; older than 900 s contacts alone")
    func repeated() {
        var story = SupervisionStory()
        story.answer(1, .help)
        story.answer(11, .help)
        story.answer(12, .help)
        #expect(story.list.map { $0.split(separator: " ")[0] } == ["1.000", "1.000", "12.000"])
        #expect(Set(story.actions.compactMap { $0.episode?.trigger }).count == 1)
        var old = SupervisionStory()
        old.upload(1000, [Sample(type: .help, at: SupervisionStory.at(99), value: nil)])
        #expect(old.list.last == "1000.000 help-contacts -" && !old.machine.emergencyRuns)
    }

    @Test("SOS-35: values in range never close a manual emergency; help is here, said again, lets them")
    func manualStays() {
        var story = SupervisionStory()
        story.answer(1, .help)
        story.acknowledge(2)
        for second in 3...300 { story.heart(Double(second), 70) }
        #expect(story.machine.state.stage == .dispatched)
        story.answer(301, .helpIsHere)
        story.heart(302, 70)
        #expect(story.list.last == "302.000 closed help")
    }

    @Test("SOS-35: \"help is here\" that was asked back before another call for help was confirmed by its repetition after it")
    func helpIsHereBeforeHelp() {
        var story = SupervisionStory()
        story.answer(1, .help)
        #expect(story.answer(5, .helpIsHere).asksBack)
        story.answer(20, .help)
        #expect(story.answer(25, .helpIsHere).asksBack)
        #expect(story.machine.state.stage == .dispatching)
        #expect(!story.answer(26, .helpIsHere).asksBack)
    }

    @Test("SOS-14, SOS-21: an answer that has done its work says nothing more, until somebody calls for help after it")
    func awaited() throws {
        var story = SupervisionStory()
        story.heart(0, 30)
        let trigger = try #require(story.machine.state.episode?.trigger)
        func awaited() -> Set<AnswerPrompt.Answer> {
            Set(AnswerPrompt.Answer.allCases.filter { story.machine.awaits($0, about: trigger) })
        }
        #expect(awaited() == [.fine, .falseAlarm, .help])
        story.answer(1, .help)
        #expect(awaited() == Set(AnswerPrompt.Answer.allCases))
        story.acknowledge(2)
        story.answer(3, .helpIsHere)
        #expect(awaited() == [.fine, .falseAlarm, .help])
        story.answer(4, .fine)
        #expect(awaited() == [.help])
        story.answer(5, .help)
        #expect(awaited() == Set(AnswerPrompt.Answer.allCases), "called for anew, it is to be answered anew")
        #expect(!story.machine.awaits(.fine, about: Trigger(.help, at: SupervisionStory.at(5), kind: .manual)))
    }

    // MARK: What is sent again

    /// Reports of one metric in the order of receipt, and when those that count are heard; all in seconds.
    struct Reports: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var received: [(at: Double, own: Double, source: String)]
        var counted: [Double]
        /// Where falls are asked about that may be others, by a clock that is behind.
        var asked: [Double]

        init(
            _ name: String, _ received: [(at: Double, own: Double, source: String)], counted: [Double], asked: [Double]? = nil
        ) {
            (testDescription, self.received, self.counted, self.asked) = (name, received, counted, asked ?? counted)
        }

        private static let eight = (1...8).map { Double($0) * 30 }
        static let all = [
            Reports("of the phone, after a watch that is ahead", [(10, 310, "watch"), (60, 60, "phone")], counted: [10, 60]),
            Reports("of the watch, once its clock is right", [(10, 310, "watch"), (60, 60, "watch")], counted: [10, 60]),
            Reports("of the watch, still ahead", [(10, 310, "watch"), (60, 360, "watch")], counted: [10, 60]),
            Reports("of the phone, a little behind", [(10, 310, "watch"), (60, 50, "phone")], counted: [10, 60]),
            Reports("of the phone, ahead by less", [(10, 310, "watch"), (60, 180, "phone")], counted: [10, 60]),
            Reports("of the phone at the same moment, live, after an answer", [(10, 10, "watch"), (15, 5, "phone")], counted: [10, 15]),
            Reports(
                "of the phone at the same moment, not live", [(10, 10, "watch"), (15, 4.999, "phone")], counted: [10], asked: [10, 15]),
            Reports("of the phone, which had no connection", [(10, 310, "watch"), (400, 60, "phone")], counted: [10, 400]),
            Reports("a late one by the same device", [(10, 10, "watch"), (60, 9, "watch")], counted: [10], asked: [10, 60]),
            Reports("a late copy by another device", [(10, 10, "watch"), (60, 10, "phone")], counted: [10]),
            Reports("from before, by another device", [(10, 310, "watch"), (60, 5, "phone")], counted: [10], asked: [10, 60]),
            Reports(
                "from before the one before", [(10, 10, "watch"), (60, 57, "phone"), (90, 56, "watch")], counted: [10, 60],
                asked: [10, 60, 90]),
            Reports(
                "delivered again after two others, as if live",
                [(10, 310, "watch"), (40, 40, "phone"), (70, 70, "watch"), (100, 310, "watch"), (305, 310, "watch")],
                counted: [10, 40, 70]),
            Reports(
                "each of eight delivered again",
                [0.0, 270].flatMap { later in eight.map { ($0 + later, $0 + 600, "watch") } }, counted: eight),
        ]
    }

    private static func story(_ metric: Metric, _ reports: Reports) -> SupervisionStory {
        var story = SupervisionStory()
        story.prefer(0, shaking: false, falls: Supervision.FallWatch())
        for report in reports.received {
            story.upload(
                report.at, [Sample(type: metric, at: SupervisionStory.at(report.own), value: nil)], source: report.source)
            story.answer(report.at + 3, .fine)
        }
        return story
    }

    private static func times(_ word: String, in list: [String]) -> [Double] {
        list.filter { $0.contains(" \(word) ") }.compactMap { $0.split(separator: " ").first.flatMap { Double($0) } }
    }

    @Test(
        "SOS-35: a press of the phone was ignored for five minutes after a watch whose clock is ahead; one sent again is no other",
        arguments: Reports.all)
    func presses(reports: Reports) {
        #expect(Self.times("dispatched", in: Self.story(.help, reports).list) == reports.counted)
    }

    @Test(
        "SOS-36: a fall after a watch whose clock is ahead, or by one that is behind, was ignored; one sent again is no other",
        arguments: Reports.all)
    func falls(reports: Reports) {
        #expect(Self.times("fell", in: Self.story(.fall, reports).list) == reports.asked)
    }

    @Test("SOS-36: an impact was ignored for five minutes after a fall by a clock that is ahead; an impact sent again is no other")
    func impactAfterAFall() {
        var story = SupervisionStory()
        story.prefer(0, shaking: false, falls: Supervision.FallWatch())
        func move(_ second: Double, of impact: Double) {
            let entries = [(impact, 4.0), (impact + 6, 1)].map {
                Sample(type: .acceleration, at: SupervisionStory.at($0.0), value: $0.1)
            }
            story.upload(second, entries, source: "watch")
            story.answer(second + 3, .fine)
        }
        story.upload(10, [Sample(type: .fall, at: SupervisionStory.at(310), value: nil)], source: "phone")
        story.answer(12, .fine)
        move(66, of: 60)
        move(80, of: 60)
        move(90, of: 58)
        #expect(Self.times("fell", in: story.list) == [10, 66])
    }

    @Test("SOS-35: a press by a clock that is behind, after a call that was called off, told nobody: the contacts are told, once each")
    func pressByASlowClock() {
        var story = SupervisionStory()
        func press(_ second: Double, own: Double) {
            story.upload(second, [Sample(type: .help, at: SupervisionStory.at(own), value: nil)], source: "watch")
        }
        press(10, own: 10)
        press(30, own: -5)
        #expect(Self.times("help-contacts", in: story.list).isEmpty, "it is being called for")
        story.answer(40, .falseAlarm)
        press(60, own: -20)
        press(62, own: -20)
        press(63, own: 10)
        press(70, own: 0)
        #expect(Self.times("help-contacts", in: story.list) == [60, 70])
        #expect(Self.times("dispatched", in: story.list) == [10])
    }

    @Test("SOS-35: an answer counts as ever: what a device measured before it is no other call, a press after it is one")
    func pressAfterAnswer() {
        var story = SupervisionStory()
        story.answer(20, .help)
        story.upload(35, [Sample(type: .help, at: SupervisionStory.at(15), value: nil)], source: "watch")
        story.upload(50, [Sample(type: .help, at: SupervisionStory.at(350), value: nil)], source: "watch")
        story.answer(70, .help)
        story.answer(70, .help)
        #expect(Self.times("dispatched", in: story.list) == [20, 50, 70])
    }

    @Test("SOS-24, SOS-35: whichever dispatcher hears of an answer later takes the same press for another call", arguments: [20.0, 25])
    func answerHeardLate(heard: Double) {
        var story = SupervisionStory()
        story.pass(heard)
        story.answer(20, .help)
        story.upload(40, [Sample(type: .help, at: SupervisionStory.at(22), value: nil)], source: "watch")
        #expect(Self.times("dispatched", in: story.list) == [heard, 40])
    }

    @Test(
        "SOS-24: heard late, help after \"I am fine\" was taken for the help before it: the two dispatchers stayed apart",
        arguments: [20.0, 25])
    func answersHeardLate(heard: Double) {
        var story = SupervisionStory()
        story.pass(heard)
        story.answer(20, .help)
        story.answer(20.001, .fine)
        story.answer(20.002, .help)
        #expect(Self.times("dispatched", in: story.list).count == 2)
    }

    @Test("SOS-35, SOS-36: in a state as the release before stored it, a clock that was ahead silences nobody; what it knew is no other")
    func formerReports() throws {
        let ahead = SupervisionStory.at(310).milliseconds
        let now = SupervisionStory.at(20).milliseconds
        let former = """
            {"stage":"monitoring","subscribed":true,"own":[],"sources":{},"falls":{"callsAmbulance":true},"lastFall":\(ahead),
            "help":{"at":\(ahead)},"wallOffset":0,"now":\(now)}
            """
        let state = try JSONDecoder().decode(Supervision.State.self, from: Data(former.utf8))
        #expect(try JSONDecoder().decode(Supervision.State.self, from: JSONEncoder().encode(state)) == state)
        for (metric, word, counted) in [(Metric.help, "dispatched", [80.0]), (.fall, "fell", [60, 80])] {
            var story = SupervisionStory()
            story.machine = Supervision(rules: SupervisionRules(), state: state)
            for (second, own) in [(40.0, 310.0), (60, 15), (80, 80), (110, 310)] {
                story.upload(second, [Sample(type: metric, at: SupervisionStory.at(own), value: nil)], source: "watch")
                story.answer(second + 3, .fine)
            }
            #expect(Self.times(word, in: story.list) == counted, "\(metric)")
        }
    }

    @Test("SOS-24, SOS-35, SOS-36: on the other dispatcher's time line a late copy of what counted is no other one either")
    func reportsElsewhere() {
        for (metric, word, counted) in [(Metric.help, "dispatched", [10.0, 1100, 1140]), (.fall, "fell", [10, 1060, 1100, 1140])] {
            var story = Self.story(metric, Reports("", [(10, 310, "watch")], counted: []))
            story.machine = Supervision(rules: SupervisionRules(), state: story.machine.state.shifted(by: .seconds(1000)))
            for (second, own) in [(1060.0, 5.0), (1100, 100), (1140, 110)] {
                let entry = Sample(type: metric, at: SupervisionStory.at(own), value: nil)
                story.upload(second, received: second - 1000, [entry], source: "phone")
                story.answer(second + 3, .fine)
            }
            #expect(Self.times(word, in: story.list) == counted, "\(metric)")
        }
    }

    // MARK: Falls

    @Test(
        "SOS-36: a fall asks for 20 s, then contacts and ambulance; contacts alone where the person wants that; not while sport pauses it")
    func fall() {
        var story = SupervisionStory()
        story.heart(0, 70)
        story.upload(1, [Sample(type: .fall, at: SupervisionStory.at(1), value: nil)])
        #expect(story.actions.isEmpty, "not switched on")
        story.prefer(2, shaking: false, falls: Supervision.FallWatch())
        story.upload(5, [Sample(type: .fall, at: SupervisionStory.at(5), value: nil)])
        story.pass(26)
        #expect(story.list == ["5.000 fell fall", "25.000 fall-contacts fall", "25.000 opened fall", "25.000 dispatched fall"])
        story = SupervisionStory()
        story.prefer(0, shaking: false, falls: Supervision.FallWatch(callsAmbulance: false))
        story.upload(5, [Sample(type: .fall, at: SupervisionStory.at(5), value: nil)])
        story.pass(26)
        #expect(story.list == ["5.000 fell fall", "25.000 fall-contacts fall"])
        story = SupervisionStory()
        story.prefer(0, shaking: false, falls: Supervision.FallWatch(pausedUntil: SupervisionStory.at(100)))
        story.upload(5, [Sample(type: .fall, at: SupervisionStory.at(5), value: nil)])
        #expect(story.actions.isEmpty)
    }

    @Test("SOS-36: an answer ends a fall; a breach goes its own, faster way; during a call a fall is an update")
    func fallBeside() {
        var story = SupervisionStory()
        story.prefer(0, shaking: false, falls: Supervision.FallWatch())
        story.upload(5, [Sample(type: .fall, at: SupervisionStory.at(5), value: nil)])
        story.heart(6, 30)
        story.pass(26)
        #expect(story.list.suffix(3) == ["9.500 dispatched heart-rate", "25.000 fall-contacts fall", "25.000 worse fall"])
        story = SupervisionStory()
        story.prefer(0, shaking: false, falls: Supervision.FallWatch())
        story.upload(5, [Sample(type: .fall, at: SupervisionStory.at(5), value: nil)])
        story.answer(10, .fine)
        story.pass(27)
        #expect(story.list == ["5.000 fell fall", "10.000 fall-ended fall"])
    }

    @Test("SOS-36: an app that changed another wish, and said nothing of falls, ended a fall that was asked about in silence")
    func fallOutlivesPreferences() {
        var story = SupervisionStory()
        story.prefer(0, shaking: false, falls: Supervision.FallWatch())
        story.upload(5, [Sample(type: .fall, at: SupervisionStory.at(5), value: nil)])
        story.prefer(6, shaking: true, falls: nil)
        story.upload(7, [Sample(type: .fall, at: SupervisionStory.at(7), value: nil)])
        story.pass(26)
        #expect(story.list == ["5.000 fell fall", "25.000 fall-contacts fall", "25.000 opened fall", "25.000 dispatched fall"])
        // One that is judged is ended by movement all the same.
        story = SupervisionStory()
        story.prefer(0, shaking: false, falls: Supervision.FallWatch())
        for (second, value) in [(10.0, 4.0), (16, 1)] { story.upload(second, [.acceleration: value]) }
        story.prefer(17, shaking: false, falls: nil)
        story.upload(18, [.acceleration: 2])
        story.pass(31)
        #expect(story.list.filter { $0.contains("fall") } == ["16.000 fell fall", "18.000 fall-ended fall"])
    }

    @Test("SOS-36: an impact and 20 s without movement are a fall, movement is none")
    func judged() {
        func walk(_ after: [(Double, Double)]) -> [String] {
            var story = SupervisionStory()
            story.prefer(0, shaking: false, falls: Supervision.FallWatch())
            for (second, value) in [(10, 4.0)] + after { story.upload(second, [.acceleration: value]) }
            story.pass(29.999)
            story.pass(31)
            return story.list.filter { $0.contains("fall") }
        }
        #expect(walk([(12, 2), (16, 1), (20, 1.01)]).first == "16.000 fell fall")
        #expect(walk([(12, 2), (16, 1), (20, 1.01)]).last == "30.000 dispatched fall")
        #expect(walk([(16, 1.5), (20, 1)]).isEmpty)
        #expect(walk([(16, 1), (20, 1.5)]) == ["16.000 fell fall", "20.000 fall-ended fall"])
    }
}
