// Subscribers' states come back from the store as they were, whatever is in them and whichever version wrote them.

import Contracts
import Foundation
import TestKit
import Testing

@testable import SOSDispatcher

@Suite("Compact form")
struct CompactFormTests {
    private static func time(_ seconds: Int64) -> Timestamp { Timestamp(milliseconds: 1_763_518_320_000 + seconds * 1000) }

    /// Somebody in an emergency of whom everything is known.
    static var everything: Watched {
        var watched = Watched()
        watched.heard = Watched.Heard(epoch: "3f1c9a", sequence: 9_007_199_254_740_993)
        watched.answered = Watched.Answered(
            emergency: EmergencyID(bits: 12), count: 2, last: .help, lastAt: time(7), said: [.fine, .falseAlarm],
            askedBack: Watched.Answered.AskedBack(answer: .fine, at: time(8), help: time(4)))
        watched.answeredBefore = [
            Watched.Answered(emergency: EmergencyID(bits: 13), count: 1, last: .fine, lastAt: time(6), said: [.fine], askedBack: nil)
        ]
        var subscriber = Subscriber()
        subscriber.card = EmergencyCard(
            name: "Zoë \u{1F691} \"Rossi\"", telephone: "+39055123456", language: "it", birthYear: 1948, sex: "female",
            address: "via Roma 1\nFirenze", medicalNotes: nil)
        subscriber.contacts = [
            EmergencyContact(id: "ctc_1", name: "Ada", telephone: "+39055123457", email: nil, language: .italian),
            EmergencyContact(id: "ctc_2", name: "", telephone: "+39055123458", email: "b@example.org", language: .english),
        ]
        subscriber.clauses = AcceptedClauses(version: "2026-11", at: time(-9))
        var fit = PersonalFit([:], defaults: [:], rules: PersonalRules(), at: time(-7))
        (fit.bounds, fit.days) = ([.heartRate: Bounds(low: 51, high: 118.5)], 12)
        subscriber.fit = fit
        subscriber.preferences = SupervisionPreferences(
            shaking: true, personalised: true, falls: true, fallsCallAmbulance: false, fallsPausedUntil: time(500), medicalNotes: "asthma",
            tellsMedicalNotes: true)
        subscriber.pausedSince = time(-5)
        subscriber.placeTold = .doubtful
        subscriber.places.note(Position(latitude: -45.5, longitude: 9, altitude: 0.1 + 0.2, accuracy: 12), at: time(1))
        subscriber.places.note(Position(latitude: 45.46, longitude: 9.19), at: time(2))
        for second in 0..<15 { subscriber.course.note(60.25 + Double(second), of: .heartRate, at: time(Int64(second))) }
        subscriber.supervision.stage = .dispatched
        subscriber.supervision.subscribed = true
        subscriber.supervision.own = [.oxygenSaturation: Bounds(low: 90, high: nil)]
        let low = Breach(.metric(.heartRate), .below)
        let course = BreachCourse(
            answers: 2, lowest: 20.5, isSevere: true, told: .init(lowest: 30, isSevere: false), askedInSilence: true, contactsKnow: true)
        var signal = SourceSignal(at: time(3), declared: 0)
        signal.heard(at: time(3603), declared: 0, SupervisionRules())
        signal.heard(at: time(9603), declared: 0, SupervisionRules())
        subscriber.supervision.sources["dev_1"] = Supervision.Source(
            latest: [.heartRate: LatestValue(value: -0.0, at: time(3), measured: time(2), received: time(3), isRefused: true)],
            signals: [.heartRate: signal], runs: [low: Run(since: time(1), calmSince: time(0), length: 3, openings: [time(0), time(1)])],
            unchanged: [.heartRate: UnchangedRun(value: 71.000_1, since: time(-600), count: 121)],
            together: [.heartRate, .bloodPressureMax], tornSeen: false)
        subscriber.supervision.seizure = Supervision.Seizure(at: time(1), until: time(601), isCalledOff: true)
        var trigger = Trigger(PassedBound(metric: .heartRate, side: .above, limit: 120, value: 171.5), at: time(4), kind: .silence)
        (trigger.answeredBefore, trigger.emergency) = (2, EmergencyID(bits: 14))
        subscriber.supervision.answered = [trigger]
        var episode = Episode(
            trigger: trigger, t0: time(5), receivedAt: time(6),
            open: [Breach(.bloodPressure, .above): course, Breach(.silence, .below): course, low: course], dueAt: time(9))
        (episode.normalSince, episode.settledAt, episode.askedBackAt) = (time(7), time(8), time(9))
        (episode.isKept, episode.helpIsHere, episode.isJudged, episode.firstTriedAt) = (true, false, true, time(1))
        subscriber.supervision.episode = episode
        watched.calledOff = Watched.CalledOff(
            emergency: EmergencyID(bits: 14), episode: episode, wasAsked: true, at: time(10), nextSequence: 2)
        (subscriber.supervision.doubt, subscriber.supervision.fall, subscriber.supervision.late) = (episode, episode, episode)
        subscriber.supervision.mutes = [low: Supervision.Mute(course: course, until: time(300), isLapsed: true)]
        subscriber.supervision.falls = Supervision.FallWatch(callsAmbulance: false, pausedUntil: time(500))
        subscriber.supervision.impact = Supervision.Impact(measured: time(1), at: time(2), source: "dev_1")
        (subscriber.supervision.joiningDue, subscriber.supervision.joiningLost) = (time(9), false)
        (subscriber.supervision.joins, subscriber.joinedAt) = (2, time(-6))
        subscriber.supervision.silences = [.bloodPressure: Supervision.Silence(since: time(8), isSaid: true)]
        subscriber.supervision.sounded = [.bloodPressure: time(8)]
        subscriber.supervision.contactsDue = time(10)
        subscriber.supervision.contactsTold = true
        subscriber.supervision.lastHeard = Supervision.LastHeard(
            metric: .heartRate, value: 171.5, at: time(4), heardAt: time(5), receivedAt: time(6), sentAt: time(7))
        subscriber.supervision.reports = [
            .help: Supervision.Reports(measured: time(3), known: [Supervision.Reports.Known(source: "dev_1", at: time(4))]),
            .fall: Supervision.Reports(measured: time(2)),
        ]
        subscriber.supervision.wallOffset = -17
        subscriber.supervision.clockSkew = -45_000
        subscriber.supervision.help = Supervision.Help(at: time(4), countedAt: time(5))
        subscriber.supervision.charging = true
        subscriber.supervision.monitoringPaused = false
        subscriber.supervision.now = time(11)
        watched.subscriber = subscriber
        return watched
    }

    @Test("SOS-28: a state in which everything is set, or nothing, comes back as it was, in less than half of JSON's bytes")
    func states() throws {
        for watched in [Self.everything, Watched()] {
            let bytes = try CompactForm.encode(watched)
            #expect(try CompactForm.decode(Watched.self, from: bytes) == watched)
            #expect(try bytes.count * 2 < JSONEncoder().encode(watched).count)
        }
    }

    @Test("No optional part of a state is left out here: a new one is to be set in this test")
    func nothingForgotten() {
        func unset(_ value: Any, _ path: String) -> [String] {
            let mirror = Mirror(reflecting: value)
            if mirror.displayStyle == .optional, mirror.children.isEmpty { return [path] }
            guard mirror.displayStyle == .optional || mirror.displayStyle == .struct, !(value is Timestamp) else { return [] }
            return mirror.children.flatMap { unset($0.value, path + "." + ($0.label ?? "")) }
        }
        #expect(unset(Self.everything, "").filter { !$0.hasSuffix("card.some.medicalNotes") } == [])
    }

    private enum Choice: Codable, Hashable {
        case empty
        case full(Int, named: String?)
    }

    private struct Nothing: Codable, Hashable {}

    private struct Various: Codable, Hashable {
        var choices: [Choice] = [.empty, .full(-1, named: nil), .full(.max, named: "")]
        var gaps: [Int?] = [nil, 3, nil]
        var nested: [[[UInt8]]] = [[], [[]], [[1, 255], [0]]]
        var byText = ["a": 1.5, "": .infinity, "end": -.greatestFiniteMagnitude]
        var byNumber: [Int: Nothing] = [-7: Nothing(), .min: Nothing()]
        var floats: [Float] = [0.1, -.pi]
        var doubles: [Double] = [0, -0.0, 1, -1, 1e300, .leastNonzeroMagnitude, 9_007_199_254_740_994, -9.223372036854775807e18]
        var whole: [Int64] = [.min, .max, 0, -1, 63, 64, -64, -65]
        var small = [Int8.min, .max]
        var texts = ["heart-rate", "heart-rate", "twice", "twice", "è\u{0}"]
        var big: UInt64 = UInt64(Int64.max)
        var nothing: Nothing? = Nothing()
        var absent: Nothing?
    }

    @Test("Whatever can be coded comes back alike: nested, empty, left out, at the ends of its range")
    func various() throws {
        let value = Various()
        let back = try CompactForm.decode(Various.self, from: CompactForm.encode(value))
        #expect(back == value)
        #expect(zip(back.doubles, value.doubles).allSatisfy { $0.bitPattern == $1.bitPattern })
        #expect(throws: EncodingError.self) { try CompactForm.encode([UInt64.max]) }
        #expect(throws: DecodingError.self) { try CompactForm.decode([Int8].self, from: CompactForm.encode([128])) }
    }

    @Test("Members that a later version adds or drops are no hindrance, and words that it adds neither")
    func versions() throws {
        struct Older: Codable { var kept: Int, dropped: [String: Int] }
        struct Newer: Codable, Equatable { var kept: Int, added: String? }
        let bytes = try CompactForm.encode(Older(kept: 7, dropped: ["x": 1]))
        #expect(try CompactForm.decode(Newer.self, from: bytes) == Newer(kept: 7, added: nil))
        // Members "at": 1 (word 1), then a new word "k": -1, from a writer that knew two words.
        let early: [UInt8] = [1, 2, 8, 3, 4, 2, 1, 1, 0x6B, 4, 1, 0]
        #expect(try CompactForm.decode([String: Int].self, from: early) == ["at": 1, "k": -1])
        // "k" again, by the number that it got: the third.
        #expect(try CompactForm.decode([String].self, from: [1, 2, 7, 6, 1, 1, 0x6B, 6, 4, 0]) == ["k", "k"])
        #expect(CompactForm.words.prefix(2) == ["answered", "at"] && Set(CompactForm.words).count == CompactForm.words.count)
        // What is stored counts on the place of each: only ever add at the end.
        #expect(CompactForm.words.firstIndex(of: "t0") == 49 && CompactForm.words.firstIndex(of: "glucose") == 90)
        #expect(throws: DecodingError.self) {
            try CompactForm.decode([Int].self, from: [1, UInt8(CompactForm.words.count + 1), 7, 0])
        }
    }

    @Test("Bytes that are cut off, changed or random are refused or read as something, and never stop the process", arguments: 0..<20)
    func damage(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let whole = try CompactForm.encode(Self.everything)
        for count in 0..<whole.count where count % 20 == Int(seed) {
            #expect(throws: DecodingError.self) { try CompactForm.decode(Watched.self, from: Array(whole.prefix(count))) }
        }
        for _ in 0..<200 {
            var bytes = whole
            for _ in 0..<Int.random(in: 1...4, using: &generator) {
                bytes[Int.random(in: 1..<bytes.count, using: &generator)] = UInt8.random(in: 0...255, using: &generator)
            }
            _ = try? CompactForm.decode(Watched.self, from: bytes)
            let random = [CompactForm.version, 0] + (0..<40).map { _ in UInt8.random(in: 0...9, using: &generator) }
            _ = try? CompactForm.decode([String: [Int]].self, from: random)
        }
        #expect(throws: DecodingError.self) {
            try CompactForm.decode([Int].self, from: [1, 0] + [UInt8](repeating: CompactForm.Mark.list.rawValue, count: 100_000))
        }
        #expect(throws: DecodingError.self) { try CompactForm.decode(Watched.self, from: Array("{}".utf8)) }
    }
}
