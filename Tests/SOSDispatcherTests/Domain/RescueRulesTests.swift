// What trials of the running system found, each by its symptom (SOS-31 to SOS-38): red on the rules of before.

import Foundation
import Testing

@testable import Contracts
@testable import SOSDispatcher

@Suite("Rules of rescue")
struct RescueRulesTests {
    private static let low = Breach(.metric(.heartRate), .below)
    private static let high = Breach(.metric(.heartRate), .above)

    /// An elderly person with a steady 125, called for and acknowledged.
    private static func acknowledged() -> SupervisionStory {
        var story = SupervisionStory()
        for second in 0...12 { story.heart(Double(second), 125) }
        story.acknowledge(12)
        return story
    }

    // MARK: Breaches, worse, mutes

    @Test("R1, SOS-31, SOS-32: 125 acknowledged, then 20 for 8 s told nobody: it is an update of worse, once, with news to the contacts")
    func worseAfterTheCall() {
        var story = Self.acknowledged()
        for second in 20...28 { story.heart(Double(second), 20) }
        let worse = story.actions.compactMap(\.worse)
        #expect(worse.map(\.breaches) == [[Self.low]] && worse.map(\.isNewsToContacts) == [true])
        #expect(story.list.last == "20.000 worse heart-rate")
    }

    @Test("SOS-33: asked again about the entry that was called for, the call went out under the id that had been taken: nobody was called")
    func askedAgainAboutTheSameEntry() throws {
        func triggers(answeredAt time: Double) throws -> [Trigger] {
            var story = SupervisionStory()
            story.heart(0, 70)
            story.heart(1.2, 30)
            story.pass(min(time, 6))
            if time > 6 { story.acknowledge(6) }
            story.answer(time, .fine)
            // What is known outlives a restart.
            let stored = try CompactForm.encode(story.machine.state)
            story.machine = Supervision(rules: SupervisionRules(), state: try CompactForm.decode(Supervision.State.self, from: stored))
            story.pass(400)
            return story.actions.filter { $0.kind == .opened || $0.kind == .askedAgain }.compactMap(\.episode?.trigger)
        }
        // The other dispatcher may hear of the answer before its own call is due: both go on under one name.
        let (uncalled, called) = (try triggers(answeredAt: 2), try triggers(answeredAt: 7))
        #expect(called.map(\.answeredBefore) == [nil, 1] && called == uncalled && called[0].isOfSameEntry(as: called[1]))
        let names = called.map { EmergencyName.text(person: PersonID(bits: 1), trigger: $0) }
        #expect(Set(names).count == 2)
    }

    @Test("SOS-32: in a call that nobody has taken, worse takes the place of the alert; taken, it is an update")
    func messages() {
        var story = SupervisionStory()
        story.heart(0, 125)
        story.heart(5, 20)
        #expect(story.actions.last?.message(since: SupervisionStory.at(0), now: SupervisionStory.at(5)) == .alert)
        story = Self.acknowledged()
        story.heart(20, 20)
        #expect(story.actions.last?.message(since: SupervisionStory.at(0), now: SupervisionStory.at(20)) == .update)
    }

    @Test("SOS-32: passing the severe bound, and falling a quarter below what was told, are worse; contacts hear once by breach")
    func severe() {
        var story = Self.acknowledged()
        story.heart(20, 161)
        story.heart(21, 190)
        #expect(story.list.suffix(1) == ["20.000 worse heart-rate"])
        story = SupervisionStory()
        story.heart(0, 34)
        story.heart(5, 26)
        #expect(story.actions.compactMap(\.worse).isEmpty, "less than a quarter")
        story.heart(6, 25.5)
        story.heart(7, 19)
        #expect(story.actions.compactMap(\.worse).map(\.isNewsToContacts) == [true, false])
    }

    @Test("R2, SOS-32, SOS-33: I am fine, then 20 for 11 s called nobody: it calls, before the call and after it", arguments: [2.0, 10])
    func worseAfterFine(answered: Double) {
        var story = SupervisionStory()
        story.heart(0, 40)
        story.answer(answered, .fine)
        for second in 11...22 { story.heart(Double(second), 20) }
        story.pass(23)
        #expect(story.list.suffix(3).map { $0.split(separator: " ")[1] } == ["opened", "confirmed", "dispatched"])
        #expect(story.list.last == "14.500 dispatched heart-rate")
    }

    @Test("SOS-33: 40, I am fine, then 5 raises an alert")
    func quarterBelow() {
        var story = SupervisionStory()
        story.heart(0, 40)
        story.answer(2, .fine)
        story.heart(2.5, 5)
        #expect(story.list.last == "2.500 opened heart-rate")
    }

    @Test("SOS-33: a mute ends after 300, 600, 900 and again 900 s, and asks with 60 s to answer; unanswered it calls")
    func mutesEnd() {
        var story = SupervisionStory()
        var now = 0.0
        for second in 0...3000 {
            now = Double(second)
            story.heart(now, 125)
            let asks = story.list.last?.hasSuffix("asked-again heart-rate") == true || second == 2
            if asks, story.machine.emergencyRuns { story.answer(now, .fine) }
        }
        let asked = story.list.filter { $0.contains("asked-again") }
        #expect(asked.map { $0.split(separator: ".")[0] } == ["302", "902", "1802", "2702"])
        for second in 3001...4000 { story.heart(Double(second), 125) }
        #expect(story.list.suffix(2) == ["3602.000 asked-again heart-rate", "3662.000 dispatched heart-rate"])
    }

    @Test("SOS-33: a severe low breach is muted for 60 s; silent after it, the person is asked once more, with 20 s")
    func lowMute() {
        var story = SupervisionStory()
        story.heart(0, 30)
        story.answer(2, .fine)
        story.pass(500)
        #expect(
            story.list.filter { !$0.contains("si") } == [
                "0.000 opened heart-rate", "2.000 muted heart-rate", "62.000 asked-again heart-rate", "82.000 dispatched heart-rate",
            ])
        story = SupervisionStory()
        story.heart(0, 30)
        story.answer(2, .fine)
        story.answer(70, .fine)
        story.pass(1000)
        #expect(story.list.count { $0.contains("asked-again") } == 1, "once")
    }

    @Test("SOS-33: a breach that asked again, and was in range later in the same upload, ended the question instead of joining it")
    func joinsWithinAnUpload() {
        var story = SupervisionStory(own: [.oxygenSaturation: Bounds(low: 90, high: nil)])
        story.upload(0, [.heartRate: 130, .oxygenSaturation: 85])
        story.answer(1, .fine)
        story.upload(2, [.heartRate: 70, .oxygenSaturation: 95])
        story.heart(12, 130)
        for second in [13.0, 22] { story.heart(second, 70) }
        let oxygen = [(22.5, 85.0), (23, 95)].map { Sample(type: .oxygenSaturation, at: SupervisionStory.at($0.0), value: $0.1) }
        story.upload(23, oxygen + [Sample(type: .heartRate, at: SupervisionStory.at(23), value: 70)])
        let asked = ["0.000 opened heart-rate", "1.000 muted heart-rate", "12.000 asked-again heart-rate"]
        #expect(story.list == asked && story.machine.state.stage == .askedAgain)
        story.upload(24, [.heartRate: 70, .oxygenSaturation: 95])
        story.heart(33.999, 70)
        #expect(story.list == asked, "in range since 24 s")
        story.heart(34, 70)
        #expect(story.list == asked + ["34.000 transient heart-rate"])
    }

    @Test("SOS-32: muted, in range for 10 s and critical again is asked again; a shorter dip is not")
    func calm() {
        var story = SupervisionStory()
        story.heart(0, 125)
        story.answer(2, .fine)
        story.heart(3, 100)
        story.heart(12.9, 125)
        #expect(story.list.last == "2.000 muted heart-rate")
        story.heart(13, 100)
        story.heart(23, 125)
        #expect(story.list.last == "23.000 asked-again heart-rate")
    }

    @Test("SOS-33: a mute survives silence and a stand-down")
    func muteSurvives() {
        var story = SupervisionStory()
        story.heart(0, 125)
        story.answer(5, .falseAlarm)
        story.pass(100)
        story.heart(110, 126)
        story.pass(120)
        #expect(story.list.last == "110.000 signal-returned heart-rate" && story.machine.state.mutes?[Self.high] != nil)
    }

    // MARK: Silence by parameter

    @Test(
        "R3, SOS-34: the heart rate stopped while the temperature went on, and nobody was warned: the person is after 30 s, contacts 300 s later"
    )
    func heartStops() {
        var story = SupervisionStory()
        story.upload(0, [.heartRate: 70, .bodyTemperature: 36.5])
        for second in stride(from: 10.0, through: 400, by: 10) { story.upload(second, [.bodyTemperature: 36.5]) }
        #expect(story.list == ["30.000 signal-lost heart-rate", "330.000 silence-contacts -"])
        #expect(story.machine.state.standing == .signalLost)
    }

    @Test("SOS-34: a watch that measures every ten minutes and does not say so is warned of once, not 127 times a day")
    func learnt() {
        var story = SupervisionStory()
        for number in 0..<144 { story.heart(Double(number) * 600, 70) }
        #expect(story.list.count { $0.contains("signal-lost") } == 1)
        var signal = SourceSignal(at: SupervisionStory.at(0), declared: 0)
        for second in 1...100 {
            signal.heard(
                at: SupervisionStory.at(Double(second) + (second > 96 ? 100 * Double(second - 96) : 0)), declared: 0, SupervisionRules())
        }
        #expect(signal.interval == 1000, "95th percentile of the gaps")
    }

    @Test("SOS-34: a watch that declares a second and measures pressure once a minute is not warned of each minute")
    func slowerThanDeclared() {
        var story = SupervisionStory()
        for second in 0...3600 {
            var values = [Sample(type: .heartRate, at: SupervisionStory.at(Double(second)), value: 70)]
            if second % 60 == 0 {
                values += [Metric.bloodPressureMax, .bloodPressureMin].map { Sample(type: $0, at: values[0].at, value: 90) }
            }
            story.upload(Double(second), values, interval: .seconds(1))
        }
        #expect(story.list.count { $0.contains("signal-lost") } <= 3)
    }

    @Test("SOS-34: a cuff, glucose and weight are measured on demand: their absence is no silence")
    func onDemand() {
        var story = SupervisionStory(own: [.glucose: Bounds(low: 60, high: nil)])
        story.upload(0, [.heartRate: 70, .glucose: 90], interval: .seconds(60))
        for minute in 1...100 { story.upload(Double(minute) * 60, [.heartRate: 70], interval: .seconds(60)) }
        #expect(story.list.isEmpty)
        let signals = story.machine.state.signals(by: story.machine.rules)
        #expect(
            signals.map { "\($0.parameter) \($0.standing.rawValue)" } == [
                "blood-pressure never-seen", "glucose on-demand", "heart-rate watched",
            ])
    }

    @Test("SOS-34: a warning of one signal sounds every six hours at most")
    func sounds() {
        var story = SupervisionStory()
        for number in 0..<4 { story.upload(Double(number) * 7300, [.heartRate: 70], interval: .seconds(1)) }
        // Of the fourth, three gaps have taught that it may take 21,900 s.
        story.pass(50_000)
        #expect(story.actions.filter { $0.listed == "signal-lost" }.map(\.sounds) == [true, false, false, true])
    }

    // MARK: Sustained

    @Test("R9, SOS-37: 35 s of heart rate 20 in one batch were transient: they call, although the last value is in range")
    func batch() {
        var story = SupervisionStory()
        story.batch(100, Array(repeating: 20, count: 35) + [70])
        story.pass(110)
        #expect(story.list.suffix(3) == ["100.000 opened heart-rate", "100.000 confirmed heart-rate", "103.500 dispatched heart-rate"])
    }

    @Test(
        "R8, SOS-37: two devices of one person, 30 and 70 alternating, were 12 transients: they call, neither takes back what the other says"
    )
    func twoSources() {
        var story = SupervisionStory()
        for second in 0...12 {
            story.heart(Double(second), 30, source: "watch")
            story.heart(Double(second) + 0.5, 70, source: "strap")
        }
        #expect(story.list == ["0.000 opened heart-rate", "3.000 confirmed heart-rate", "3.500 dispatched heart-rate"])
    }

    @Test("SOS-37: one source silent after one critical reading, another in range: the call waits 20 s for it, and no longer")
    func loneReading() {
        var story = SupervisionStory()
        story.heart(0, 70, source: "strap")
        story.heart(1, 30, source: "watch")
        for second in 2...30 { story.heart(Double(second), 70, source: "strap") }
        #expect(story.list == ["1.000 opened heart-rate", "21.000 confirmed heart-rate", "21.000 dispatched heart-rate"])
        story = SupervisionStory()
        story.heart(0, 70, source: "strap")
        story.heart(1, 30, source: "watch")
        story.heart(10, 72, source: "watch")
        #expect(story.list.last == "10.000 transient heart-rate")
    }

    @Test("SOS-37: three openings of one breach within 60 s are sustained")
    func openings() {
        var story = SupervisionStory()
        for second in [0.0, 10, 20] {
            story.heart(second, 20)
            story.heart(second + 1, 70)
        }
        story.pass(30)
        #expect(story.list.suffix(3) == ["20.000 opened heart-rate", "20.000 confirmed heart-rate", "23.500 dispatched heart-rate"])
    }

    @Test("SOS-37: the newest reading critical but 60 to 600 s old prompts and tells the contacts; nobody is called")
    func late() {
        var story = SupervisionStory()
        story.upload(700, [Sample(type: .heartRate, at: SupervisionStory.at(300), value: 20)])
        story.upload(701, [Sample(type: .heartRate, at: SupervisionStory.at(50), value: 20)])
        story.pass(720)
        #expect(story.list.filter { $0.contains("heart") } == ["700.000 late-critical heart-rate"])
        #expect(story.machine.state.late != nil)
        story.answer(730, .fine)
        #expect(story.machine.state.late == nil)
    }

    // MARK: Thresholds out of the registry

    @Test("R15, ING-06, SOS-05, NFR-16: a metric planted in the registry with default bounds is supervised without any code of its own")
    func planted() {
        let cadence = Metric(code: "cadence").unsafelyUnwrapped
        let definition = MetricDefinition(
            number: cadence.number, code: "cadence", shape: .scalar, loinc: nil, vitalSign: nil, unit: "/min", possible: 0...400,
            precision: 0, vital: false, watchedByDefault: true, bounds: Bounds(low: 10, high: nil), severe: nil, isOnDemand: false,
            english: "Planted", italian: "Piantato")
        var story = SupervisionStory(SupervisionRules(registry: [definition]))
        story.upload(1, [cadence: 9])
        story.pass(5)
        #expect(story.list.last == "4.500 dispatched cadence")
        story.upload(6, [.heartRate: 20])
        #expect(story.actions.compactMap(\.worse).isEmpty, "nothing else is in this registry")
    }

    @Test("R14, SOS-05, SOS-32: a cuff's 220/130 had no bound of its own: each pressure has a severe bound that is its own default")
    func pressure() {
        var story = SupervisionStory()
        story.upload(1, [.bloodPressureMax: 220])
        #expect(story.list == ["1.000 opened blood-pressure-max"])
        story = SupervisionStory()
        story.upload(1, [.bloodPressureMin: 130])
        #expect(story.list == ["1.000 opened blood-pressure-min"])
    }

    // MARK: Looking back

    @Test("R17, SOS-29: a timeline is in the order of causes: nothing is transient before it was alerted, nor before it began")
    func timeline() {
        func step(_ event: String, _ milliseconds: Int64) -> ReadTimeline.Step {
            ReadTimeline.Step(at: SupervisionStory.start + .milliseconds(milliseconds), actor: "dispatcher", event: event, detail: "")
        }
        let steps = [
            step("transient", 5), step("alerted", 5), step("closed", 9), step("cancelled", 9), step("accepted", 4), step("alerted", 1),
        ]
        #expect(EmergencyHistory.ordered(steps).map(\.event) == ["alerted", "accepted", "alerted", "transient", "cancelled", "closed"])
    }

    // MARK: Stored before

    @Test("A state as the release before stored it goes on: its emergency, its mute with an end, its silence")
    func formerState() throws {
        let former = """
            {"stage":"monitoring","subscribed":true,"own":[],"latest":["heart-rate",{"value":125,"at":5000,"holdsUntil":605000}],
            "episode":{"trigger":{"breach":{"metric":"heart-rate","side":"above","limit":120,"value":125},"at":1000},"t0":1000,
            "receivedAt":1000,"parameters":["heart-rate"]},"silenceDue":35000,"now":5000}
            """
        let state = try JSONDecoder().decode(Supervision.State.self, from: Data(former.utf8))
        #expect(state.episode == nil && state.mutes?[Self.high]?.until == Timestamp(milliseconds: 305_000))
        #expect(state.joiningDue == Timestamp(milliseconds: 35_000) && state.sources[""]?.latest[.heartRate]?.value == 125)
        #expect(try JSONDecoder().decode(Supervision.State.self, from: JSONEncoder().encode(state)) == state)
    }
}
