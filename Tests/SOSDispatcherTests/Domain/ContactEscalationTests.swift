// Who among the emergency contacts is told what and when, as tables of cases.

import Contracts
import TestKit
import Testing

@testable import SOSDispatcher

@Suite("Telling contacts")
struct ContactEscalationTests {
    fileprivate static let start = Timestamp(milliseconds: 1_000_000)
    fileprivate static let rules = ContactEscalation.Rules(callEvery: .seconds(60), rounds: 2)

    /// One alarm that is played through; a class, so that what is expected of it may change it.
    private final class Play {
        var alarm: ContactCase

        init(_ count: Int = 3, _ kind: ContactCase.Kind = .emergency) {
            alarm = ContactCase(
                id: OccasionID(bits: 1), person: PersonID(bits: 2), kind: kind, emergency: kind == .emergency ? EmergencyID(bits: 1) : nil,
                name: "Anna",
                contacts: (0..<count).map {
                    .init(
                        who: EmergencyContact(id: "ctc_\($0)", name: "N\($0)", telephone: "+39333000\($0)", email: nil, language: .italian))
                }, place: nil, happenedAt: ContactEscalationTests.start, beganAt: ContactEscalationTests.start,
                alertedAt: ContactEscalationTests.start)
        }

        func at(_ seconds: Int) -> Timestamp { ContactEscalationTests.start + .seconds(seconds) }
        func notices(at time: Timestamp) -> [ContactCase.Notice] { ContactEscalation.take(&alarm, ContactEscalationTests.rules, at: time) }
        func take(_ seconds: Int) -> [String] { notices(at: at(seconds)).map { "\($0.to) \($0.word)" } }
        @discardableResult func says(_ answer: ContactCase.Answer, _ position: Int) -> Bool {
            alarm.answered(answer, by: position, at: at(0))
        }
        @discardableResult func informed() -> Bool { alarm.informed(at: at(0)) }
        @discardableResult func ended(_ end: ContactCase.End, after seconds: Int = 0) -> Bool { alarm.ended(end, at: at(seconds)) }
        func takenUpAgain(_ seconds: Int) -> Bool { alarm.takenUpAgain(at: at(seconds), at(seconds)) }
        func isDead(_ seconds: Int) -> Bool { alarm.isDead(at: at(seconds)) }
        func receives(_ matter: ContactReply.Matter, _ contact: String, _ seconds: Int, round: Int = 0) -> Bool {
            let word = ContactReply(
                person: alarm.person, occasion: alarm.id, round: round, contact: contact, matter: matter, at: at(seconds))
            return alarm.heard(word, at: at(seconds))
        }
    }

    @Test("SOS-22: everybody is told at once, and once", arguments: [ContactCase.Kind.emergency, .shaking, .silence])
    func atOnce(kind: ContactCase.Kind) {
        let play = Play(3, kind)
        #expect(play.take(0) == ["0 alert", "1 alert", "2 alert"])
        #expect(play.take(59).isEmpty)
    }

    @Test("while nobody is on the way, one after the other is called again down the list, as often as the rules say and no more")
    func downTheList() {
        let play = Play()
        _ = play.take(0)
        let calls = stride(from: 60, through: 1200, by: 60).flatMap { play.take($0) }
        #expect(calls == ["0 call-1", "1 call-2", "2 call-3", "0 call-4", "1 call-5", "2 call-6"])
        #expect(ContactEscalation.nextCall(play.alarm, Self.rules) == nil)
    }

    @Test("after a pause of the dispatcher's own there is one call, not all that were missed")
    func noBurst() {
        let play = Play()
        _ = play.take(0)
        #expect(play.take(600) == ["0 call-1"])
        #expect(play.take(601).isEmpty)
        #expect(play.take(660) == ["1 call-2"])
    }

    @Test("who cannot is not called again; when nobody can, nobody is")
    func cannot() {
        let play = Play()
        _ = play.take(0)
        #expect(play.says(.cannot, 0))
        #expect(play.take(60) == ["1 call-1"])
        #expect(play.take(120) == ["2 call-2"])
        for position in 1...2 { play.says(.cannot, position) }
        #expect(play.take(180).isEmpty)
    }

    @Test("one on the way ends the calls, is told to each of the others once, and keeps no other word from anybody")
    func onTheWay() {
        let play = Play()
        _ = play.take(0)
        #expect(play.says(.onMyWay, 1))
        #expect(play.take(5) == ["0 on-the-way-2", "2 on-the-way-2"])
        #expect(play.take(300).isEmpty)
        #expect(play.says(.onScene, 1))
        #expect(play.take(301).isEmpty, "the others know already")
        #expect(play.informed())
        #expect(play.take(302) == ["0 informed", "1 informed", "2 informed"])
        #expect(play.says(.onMyWay, 2), "another one may go too")
        #expect(play.take(303) == ["0 on-the-way-3", "1 on-the-way-3"])
        #expect(play.ended(.falseAlarm))
        #expect(play.take(304) == ["0 false-alarm", "1 false-alarm", "2 false-alarm"])
    }

    @Test("seen alone is no help: calls go on; who was on the way and cannot any more is replaced")
    func notHelp() {
        let play = Play(2)
        _ = play.take(0)
        play.says(.seen, 0)
        #expect(play.take(60) == ["0 call-1"])
        play.says(.onMyWay, 0)
        #expect(play.take(120) == ["1 on-the-way-1"])
        play.says(.cannot, 0)
        #expect(play.take(121) == ["1 call-2"])
    }

    @Test("SOS-22: a false alarm is told to whoever was alarmed, a normal end to nobody; after either nothing more is said")
    func ends() {
        let (wrong, over, untold) = (Play(), Play(), Play())
        _ = (wrong.take(0), over.take(0))
        #expect(wrong.ended(.falseAlarm) && over.ended(.over))
        #expect(!wrong.ended(.over), "the first end stands")
        #expect(wrong.take(1).count == 3 && over.take(1).isEmpty)
        #expect(wrong.take(600).isEmpty && over.take(600).isEmpty)
        #expect(!over.informed())
        untold.ended(.falseAlarm)
        #expect(untold.take(1).isEmpty, "nobody was alarmed")
    }

    @Test("help that is asked for again after it was called off alarms everybody anew, with messages of their own")
    func again() {
        let play = Play(1)
        #expect(!play.takenUpAgain(0), "it runs")
        _ = play.take(0)
        play.ended(.falseAlarm)
        _ = play.take(1)
        #expect(play.takenUpAgain(9))
        #expect(play.take(9) == ["0 alert"])
        #expect(play.alarm.round == 1)
    }

    @Test("SOS-28: what happened at the other dispatcher counts as if it had happened here, once, and only in its own round of the alarm")
    func otherDispatcher() {
        let play = Play()
        _ = play.take(0)
        #expect(play.receives(.called(1), "ctc_0", 60))
        #expect(play.take(60).isEmpty && play.take(119).isEmpty)
        #expect(play.take(120) == ["1 call-2"])
        #expect(!play.receives(.called(1), "ctc_0", 60), "heard again")
        #expect(!play.receives(.answered(.onMyWay), "ctc_9", 121), "nobody of this list")
        #expect(play.receives(.answered(.seen), "ctc_1", 121))
        #expect(!play.receives(.answered(.cannot), "ctc_1", 120), "said before")
        #expect(play.receives(.answered(.onScene), "ctc_1", 130))
        #expect(play.take(131) == ["0 on-the-way-2", "2 on-the-way-2"])
        #expect(ContactEscalation.nextCall(play.alarm, Self.rules) == nil)
        play.ended(.falseAlarm)
        #expect(play.takenUpAgain(200))
        #expect(!play.receives(.answered(.onScene), "ctc_1", 190))
        #expect(play.receives(.answered(.onScene), "ctc_1", 201, round: 1))
    }

    @Test("SOS-28: the second dispatcher calls a little later than the first, and so not at all while the first does")
    func secondIsLater() {
        var rules = Self.rules
        rules.lead = ContactEscalation.lead
        let play = Play()
        _ = play.take(0)
        #expect(ContactEscalation.nextCall(play.alarm, rules)?.at == play.at(62))
        for number in 1...6 {
            #expect(play.receives(.called(number), "ctc_\((number - 1) % 3)", number * 60))
            let next = ContactEscalation.nextCall(play.alarm, rules)
            #expect(number == 6 ? next == nil : next?.at == play.at(number * 60 + 62))
        }
    }

    @Test("links open until a day after the end, and no longer than a week whatever happens")
    func life() {
        let play = Play()
        #expect(!play.isDead(6 * 86_400) && play.isDead(7 * 86_400))
        play.ended(.over, after: 60)
        #expect(!play.isDead(86_400) && play.isDead(86_460))
    }

    @Test(
        "whatever is said in whatever order, nobody gets the same message twice and everybody was alarmed",
        arguments: 0..<200 as Range<UInt64>)
    func anyOrder(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let play = Play(Int.random(in: 1...5, using: &random))
        var told: [ContactCase.Notice] = []
        for second in 0..<120 {
            let at = Self.start + .seconds(second * 10)
            switch Int.random(in: 0...30, using: &random) {
            case 0: play.informed()
            case 1: play.ended(.falseAlarm)
            case 2: play.ended(.over)
            case 3...12:
                let answer = ContactCase.Answer.allCases.randomElement(using: &random) ?? .seen
                play.says(answer, Int.random(in: 0..<play.alarm.contacts.count, using: &random))
            default: break
            }
            told += play.notices(at: at)
        }
        #expect(Set(told).count == told.count)
        let alerts = told.count { $0.matter == .alert }
        #expect(alerts == 0 || alerts == play.alarm.contacts.count)
        for notice in told where notice.matter == .falseAlarm { #expect(told.contains(.init(to: notice.to, matter: .alert))) }
    }
}
