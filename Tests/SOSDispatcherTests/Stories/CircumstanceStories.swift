// Charging, silence and shaking through the real dispatcher, and what those hear of it who show and send it.

import Contracts
import Foundation
import ServiceKit
import Synchronization
import TestKit
import Testing

@testable import SOSDispatcher

/// Keeps every event.
private final class Listener: SupervisionEventConsumer {
    private let known = Mutex<[SupervisionEvent]>([])

    func heard(_ events: [SupervisionEvent]) async {
        known.withLock { $0 += events }
    }

    var kinds: [SupervisionEvent.Kind] { known.withLock { $0.map(\.kind) } }
    var all: [SupervisionEvent] { known.withLock { $0 } }
}

@Suite("Circumstances, whole service")
struct CircumstanceStories {
    @Test("SOS-27, SOS-28: on charge is shown as such, also after a restart; a phone that measures nothing vital goes on charge unnoticed")
    func charging() async throws {
        try await Stage.playStarted { stage, before in
            let listener = Listener()
            before.parts.supervision.events.add(listener)
            let (person, watch, phone) = (PersonID.random(), DeviceID.random(), DeviceID.random())
            try await stage.subscribe(person)
            try await stage.ingest.say(
                DeviceState(device: phone, person: person, active: true, intervalMs: nil, charging: true, vital: false))
            try await stage.ingest.say(DeviceState(device: watch, person: person, active: true, intervalMs: 1000))
            try await stage.ingest.say(person, [Sample(type: .heartRate, at: .now, value: 70)])
            #expect(try await stage.standing(person) == "monitoring")
            try await stage.ingest.say(DeviceState(device: watch, person: person, active: true, intervalMs: 1000, charging: true))
            try await eventually("charging is shown", isTrue: { try await stage.standing(person) == "charging" })
            try await eventually("and told", isTrue: { listener.kinds == [.subscribed, .charging] })
            await before.stop()
            try await stage.start()
            #expect(try await stage.standing(person) == "charging")
            try await stage.ingest.say(DeviceState(device: watch, person: person, active: true, intervalMs: 1000))
            try await stage.ingest.say(person, [Sample(type: .heartRate, at: .now, value: 71)])
            try await eventually("it is worn again", isTrue: { try await stage.standing(person) == "monitoring" })
        }
    }

    @Test("SOS-25: the person is told of a silence, then the contacts; by option the ambulance, under an id of its own")
    func silence() async throws {
        try await Stage.play { stage in
            let settings = [
                "TRACKME_SOS_SIGNAL_LOST_S": "5", "TRACKME_SOS_SILENCE_CONTACTS_S": "5", "TRACKME_SOS_SILENCE_CALLS_AMBULANCE": "true",
            ]
            let dispatcher = try await stage.start(settings)
            let listener = Listener()
            dispatcher.parts.supervision.events.add(listener)
            let person = try await stage.subscriber()
            let heard = Timestamp.now
            try await stage.ingest.say(person, [Sample(type: .heartRate, at: heard, value: 70)])
            try await eventually("the call", within: .seconds(60), isTrue: { listener.kinds.contains(.dispatched) })
            #expect(listener.kinds == [.subscribed, .signalLost, .silenceContacts, .opened, .confirmed, .dispatched])
            #expect(listener.all[1].since == heard && listener.all[2].since == heard)
            let emergency = try #require(listener.all.last?.emergency)
            let known = try await stage.question(ListEmergencies(person: person, limit: 10)).emergencies.map(\.emergency)
            #expect(known == [emergency])
            #expect(try await stage.timeline(emergency).prefix(3) == ["alerted", "confirmed", "dispatched"])
        }
    }

    @Test("SOS-34, SOS-25: a device that delivers nothing after joining was warned of twice, by each dispatcher under a name of its own")
    func oneWarningOfTwo() async throws {
        try await Stage.play { stage in
            let settings = ["TRACKME_SOS_SIGNAL_LOST_S": "5", "TRACKME_SOS_SILENCE_CONTACTS_S": "5"]
            let dispatchers = try await [stage.start(settings), stage.start(settings, role: .second)]
            let listeners = dispatchers.map { _ in Listener() }
            for (dispatcher, listener) in zip(dispatchers, listeners) { dispatcher.parts.supervision.events.add(listener) }
            @Sendable func names(_ kind: SupervisionEvent.Kind) -> [[String]] {
                listeners.map { $0.all.filter { $0.kind == kind }.map(\.name) }
            }
            let person = PersonID.random()
            try await stage.subscribe(person)
            try await eventually(
                "both would tell the contacts", within: .seconds(60),
                isTrue: { names(.silenceContacts).allSatisfy { $0.count == 1 } })
            #expect(names(.signalLost)[0].count == 1 && names(.signalLost)[0] == names(.signalLost)[1])
            #expect(names(.silenceContacts)[0] == names(.silenceContacts)[1])

            // Whoever resumes and is silent again is told again, by whichever dispatcher it was resumed at.
            let second = dispatchers[1].parts.supervision
            for isPaused in [true, false] {
                try await second.pause(person, isPaused, interval: nil) { _ in nil }
                try await eventually(
                    "the first has heard of it",
                    isTrue: { await (dispatchers[0].parts.supervision.status(of: person).standing == "paused") == isPaused })
            }
            try await eventually(
                "both warn again", within: .seconds(60), isTrue: { names(.signalLost).allSatisfy { $0.count == 2 } })
            #expect(Set(names(.signalLost)[0]).count == 2 && names(.signalLost)[0] == names(.signalLost)[1])
            for dispatcher in dispatchers.reversed() { await dispatcher.stop() }
        }
    }

    @Test("SOS-27: a watch laid on its charger was told twice, by each dispatcher under a name of its own; it is once each time")
    func oneNoticeOfCharging() async throws {
        try await Stage.play { stage in
            let dispatchers = try await [stage.start(), stage.start(role: .second)]
            let listeners = dispatchers.map { _ in Listener() }
            for (dispatcher, listener) in zip(dispatchers, listeners) { dispatcher.parts.supervision.events.add(listener) }
            @Sendable func names() -> [[String]] { listeners.map { $0.all.filter { $0.kind == .charging }.map(\.name) } }
            let (person, watch) = (PersonID.random(), DeviceID.random())
            try await stage.subscribe(person)
            for round in 1...2 {
                try await stage.ingest.say(DeviceState(device: watch, person: person, active: true, intervalMs: 1000))
                try await stage.ingest.say(person, [Sample(type: .heartRate, at: .now, value: 70)])
                for dispatcher in dispatchers {
                    try await eventually(
                        "it is worn", isTrue: { await dispatcher.parts.supervision.status(of: person).standing == "monitoring" })
                }
                try await stage.ingest.say(DeviceState(device: watch, person: person, active: true, intervalMs: 1000, charging: true))
                try await eventually("both notice it", isTrue: { names().allSatisfy { $0.count == round } })
            }
            #expect(Set(names()[0]).count == 2 && names()[0] == names()[1])
            for dispatcher in dispatchers.reversed() { await dispatcher.stop() }
        }
    }

    @Test("SOS-25: while ingest itself is silent the person is warned, but no contact hears of a silence that is not the person's")
    func ingestSilent() async throws {
        try await Stage.play { stage in
            let settings = ["TRACKME_SOS_SIGNAL_LOST_S": "5", "TRACKME_SOS_SILENCE_CONTACTS_S": "5"]
            let dispatcher = try await stage.start(settings)
            let listener = Listener()
            let supervision = dispatcher.parts.supervision
            supervision.events.add(listener)
            let person = try await stage.subscriber()
            await stage.ingest.close()
            let due = try await eventually("the contacts' turn", within: .seconds(60)) {
                await supervision.people[person]?.subscriber.supervision.contactsDue
            }
            try await eventually(
                "it is put off", within: .seconds(60),
                isTrue: {
                    await (supervision.people[person]?.subscriber.supervision.contactsDue).map { $0 > due } ?? false
                })
            #expect(listener.kinds == [.subscribed, .signalLost])
        }
    }

    @Test("SOS-23: shaking is told to whoever alerts the contacts, for subscribers who switched it on")
    func shaking() async throws {
        try await Stage.playStarted { stage, dispatcher in
            let listener = Listener()
            dispatcher.parts.supervision.events.add(listener)
            let person = try await stage.subscriber()
            try await dispatcher.parts.supervision.prefer(SupervisionPreferences(shaking: true), of: person)
            let felt = Timestamp.now
            try await stage.ingest.say(person, [Sample(type: .shaking, at: felt, value: 9)])
            try await eventually("the alarm", isTrue: { listener.kinds == [.subscribed, .shakingAlarm] })
            #expect(listener.all.last?.since == felt && listener.all.last?.emergency == nil)
        }
    }

    @Test("SOS-07: personalised bounds are in force through a restart, and the emergency they make is told with its id in order")
    func personalised() async throws {
        try await Stage.playStarted { stage, before in
            let person = try await stage.subscriber()
            // Whoever joins is fitted at once: here to nothing, which must not come after what is set now.
            try await eventually("the first fit", isTrue: { await before.parts.supervision.subscriber(of: person)?.fit != nil })
            var fit = PersonalFit([:], defaults: [:], rules: PersonalRules(), at: .now)
            fit.bounds = [.heartRate: Bounds(low: nil, high: 90)]
            await before.parts.supervision.fitted(fit, of: person)
            await before.stop()
            let dispatcher = try await stage.start()
            let listener = Listener()
            dispatcher.parts.supervision.events.add(listener)
            try await stage.ingest.say(person, [Sample(type: .heartRate, at: .now, value: 95)])
            try await eventually("the call", within: .seconds(60), isTrue: { listener.kinds == [.opened, .confirmed, .dispatched] })
            #expect(Set(listener.all.map(\.emergency)).count == 1 && listener.all.allSatisfy { $0.emergency != nil })
        }
    }

    @Test("SOS-28: an emergency that runs when a process begins is told to those who may have missed it")
    func goesOn() async throws {
        try await Stage.playStarted { stage, before in
            let emergency = try await stage.callForHelp(.random())
            await before.stop()
            let dispatcher = try await stage.start()
            let known = await dispatcher.parts.supervision.running()
            #expect(known.map(\.kind) == [.goesOn] && known.map(\.emergency) == [emergency])
        }
    }
}
