// What subscribers do, on the real dispatcher: joining, leaving, pausing with reminders, bounds, contacts, cards.

import Contracts
import Foundation
import GRDB
import HTTPKit
import ServiceKit
import Storage
import TestKit
import Testing

@testable import SOSDispatcher

@Suite("Subscriptions, whole service", .timeLimit(.minutes(2)))
struct SubscriptionStories {
    private static let watch = ReadAbilities.Ability(metrics: [.heartRate], intervalMs: 1000)
    private static let phone = ReadAbilities.Ability(metrics: [.position], intervalMs: nil)

    private func play(_ body: (Stage, Desk) async throws -> Void) async throws {
        let desk = Desk(.acknowledges(.accepted))
        try await Stage.play(desk) { stage in
            stage.ingest.can([Self.watch, Self.phone])
            try await body(stage, desk)
        }
    }

    private func said(_ dispatcher: Stage.Dispatcher) async throws -> [SubscriptionState] {
        try await dispatcher.parts.store.store.read { db in
            try StreamLog().rows(db, SubscriptionStore.stream, from: 1, limit: 100).compactMap {
                try? JSONDecoder().decode(SubscriptionState.self, from: Data($0.body))
            }
        }
    }

    @Test(
        "SOS-01, SOS-02: nobody is subscribed without a device that can show an emergency, or with ingest silent; what is missing is named")
    func joining() async throws {
        try await play { stage, _ in
            let dispatcher = try await stage.start()
            let (subscriptions, anna) = (dispatcher.parts.subscribers.subscriptions, PersonID.random())
            for (devices, missing) in [([], 2), ([Self.watch], 1), ([Self.phone], 1)] as [([ReadAbilities.Ability], Int)] {
                stage.ingest.can(devices)
                let refused = await #expect(throws: Problem.self) { try await subscriptions.join(anna, .init(), at: .now) }
                #expect(refused?.type == "urn:trackme:problem:ability-missing" && refused?.errors?.count == missing)
            }
            stage.ingest.can(nil)
            let silent = await #expect(throws: Failure.self) { try await subscriptions.join(anna, .init(), at: .now) }
            #expect(silent?.isRetriable == true)
            #expect(await !dispatcher.parts.supervision.isSubscribed(anna))
            #expect(try await said(dispatcher).isEmpty)

            stage.ingest.can([Self.watch, Self.phone])
            try await subscriptions.join(anna, .init(own: [.heartRate: Bounds(low: 50, high: nil)]), at: .now)
            try await subscriptions.join(anna, .init(), at: .now)
            let subscriber = try #require(await dispatcher.parts.supervision.subscriber(of: anna))
            #expect(subscriber.supervision.stage == .monitoring && subscriber.clauses?.version == SubscriptionClauses.version)
            #expect(subscriber.supervision.own == [.heartRate: Bounds(low: 50, high: nil)], "joining again keeps what was given")
            #expect(try await said(dispatcher) == [SubscriptionState(person: anna, subscribed: true)])

            try await subscriptions.leave(anna)
            try await subscriptions.leave(anna)
            #expect(await dispatcher.parts.supervision.subscriber(of: anna) == nil)
            #expect(try await said(dispatcher).map(\.subscribed) == [true, false])
            await dispatcher.stop()
        }
    }

    @Test("SOS-02: consent's wish of a registration obeys the same rule; an operator's enrolment does not need a device")
    func enrolment() async throws {
        try await play { stage, _ in
            let dispatcher = try await stage.start()
            stage.ingest.can([Self.watch])
            let refused = await #expect(throws: Failure.self) {
                try await dispatcher.parts.subscribers.subscriptions.enrolment.requireAbilities(of: .random())
            }
            #expect(refused?.code == .conflict && refused?.reason.contains("GPS") == true)
            stage.ingest.can([])
            let bruno = try await stage.subscriber()
            #expect(await dispatcher.parts.supervision.isSubscribed(bruno))
            await dispatcher.stop()
        }
    }

    @Test("SOS-03: leaving during an emergency ends supervision at once, and the emergency is completed")
    func leavingInAnEmergency() async throws {
        try await play { stage, desk in
            let dispatcher = try await stage.start()
            let anna = PersonID.random()
            try await dispatcher.parts.subscribers.subscriptions.join(anna, .init(), at: .now)
            try await stage.ingest.say(anna, [Sample(type: .heartRate, at: .now, value: 31)])
            try await eventually("the alert") {
                await dispatcher.parts.supervision.subscriber(of: anna)?.supervision.episode != nil
            }
            try await dispatcher.parts.subscribers.subscriptions.leave(anna)
            #expect(await !dispatcher.parts.supervision.isSubscribed(anna))
            try await eventually("the call is made all the same") { !desk.receipts.isEmpty }
            await dispatcher.stop()
        }
    }

    @Test("SOS-04: whoever paused is reminded every 2 h while awake, once, through restarts, and not after resuming")
    func reminders() async throws {
        try await play { stage, _ in
            var dispatcher = try await stage.start()
            let anna = PersonID.random()
            let subscriptions = dispatcher.parts.subscribers.subscriptions
            let refused = await #expect(throws: Failure.self) { try await subscriptions.pause(anna, true) }
            #expect(refused?.code == .notFound)
            try await dispatcher.parts.subscribers.subscriptions.join(anna, .init(), at: .now)
            try await dispatcher.parts.subscribers.subscriptions.pause(anna, true)
            let since = try #require(await dispatcher.parts.supervision.subscriber(of: anna)?.pausedSince)
            func waiting() async throws -> Int {
                try await dispatcher.parts.store.store.read { [messages = dispatcher.parts.messages] db in try messages.waiting(db) }
            }
            // A day, looked at every half hour; the dispatcher is stopped in the middle of it.
            var (told, reminders, asleep) = (0, 0, 0)
            for halfHour in 0...48 as ClosedRange<Int64> {
                let now = since + .seconds(halfHour * 1800)
                if halfHour == 21 {
                    try await dispatcher.parts.subscribers.subscriptions.pause(anna, true)
                    #expect(
                        await dispatcher.parts.supervision.subscriber(of: anna)?.pausedSince == since, "pausing again is the same as once")
                    await dispatcher.stop()
                    dispatcher = try await stage.start()
                }
                for _ in 0..<2 { await dispatcher.parts.reminders.remind(at: now) }
                let isAwake = WakingHours.contain(now, at: nil)
                asleep += isAwake ? 0 : 1
                if isAwake, Int(halfHour / 4) > told { (told, reminders) = (Int(halfHour / 4), reminders + 1) }
                #expect(try await waiting() == 1 + reminders, "after \(halfHour) half hours, the notice of the pause included")
            }
            #expect(
                (6...8).contains(reminders) && (19...21).contains(asleep), "every 2 h of 14 waking ones; what was missed by night is one")
            try await dispatcher.parts.subscribers.subscriptions.pause(anna, false)
            await dispatcher.parts.reminders.remind(at: since + .seconds(100 * 3600))
            await dispatcher.parts.reminders.remind(at: since + .seconds(110 * 3600))
            #expect(try await waiting() == 1 + reminders)
            await dispatcher.stop()
        }
    }

    @Test("SOS-04: awake is from 8 to 22 by the sun at the last known place", arguments: [0.0, 12.5, -75, 179])
    func wakingHours(longitude: Double) {
        let noon = Timestamp(milliseconds: 1_768_003_200_000 + 12 * 3_600_000 - Int64(longitude / 15 * 3_600_000))
        for (hours, isAwake) in [(0.0, true), (-3.9, true), (-4.1, false), (9.9, true), (10.1, false), (12, false)] {
            #expect(WakingHours.contain(noon + .milliseconds(Int64(hours * 3_600_000)), at: longitude) == isAwake, "\(hours)")
        }
    }

    @Test("SOS-07: bounds are fitted from the history that ingest gives, own ones stay; who wants none has none; leaving forgets them")
    func fitting() async throws {
        try await play { stage, _ in
            let now = Timestamp.now
            stage.ingest.remember(
                (0..<2900).map { index in
                    let mean = index.isMultiple(of: 2) ? 81.0 : 69
                    return HistoryMinute(
                        at: now - .seconds(Int64(2900 - index) * 864), least: mean, mean: mean, greatest: mean, count: 60)
                })
            let dispatcher = try await stage.start()
            let (anna, supervision) = (PersonID.random(), dispatcher.parts.supervision)
            try await dispatcher.parts.subscribers.subscriptions.join(anna, .init(), at: .now)
            let fit = try await eventually("the fit") { await supervision.subscriber(of: anna)?.fit }
            #expect(fit.bounds == [.heartRate: Bounds(low: 51, high: 99)] && fit.days >= 29)
            #expect(await supervision.subscriber(of: anna)?.supervision.personal == fit.bounds, "supervision goes by it")
            try await supervision.prefer(SupervisionPreferences(shaking: true, personalised: false), of: anna)
            let set = await supervision.subscriber(of: anna)?.supervision
            #expect(set?.personal == nil && set?.shaking == true)
            #expect(await supervision.subscriber(of: anna)?.fit == nil)
            try await dispatcher.parts.fitting.fit(anna, at: .now)
            #expect(await supervision.subscriber(of: anna)?.fit == nil, "who wants none has none")
            await dispatcher.stop()
        }
    }

    @Test("SOS-08: a preview says what the last 30 days would have raised, and saves nothing")
    func preview() async throws {
        try await play { stage, _ in
            let now = Timestamp.now
            // A value a minute over two days; three of them critical by proposed bounds, one also by the defaults.
            stage.ingest.remember(
                (0..<2880).map { index in
                    let value = index == 500 ? 130.0 : index == 1500 || index == 2500 ? 112 : 75
                    return HistoryMinute(
                        at: now - .seconds(Int64(2880 - index) * 60), least: value, mean: value, greatest: value, count: 1)
                })
            let dispatcher = try await stage.start()
            let (anna, subscribers) = (PersonID.random(), dispatcher.parts.subscribers)
            try await subscribers.subscriptions.join(anna, .init(), at: .now)
            let own: [Metric: Bounds] = [.heartRate: Bounds(low: nil, high: 110)]
            let forecast = try await subscribers.thresholds.forecasts(own: own, of: anna, at: now)
            #expect(forecast.proposed.alerts.map(\.passed.value) == [130, 112, 112])
            #expect(forecast.present.alerts.map(\.passed.value) == [130])
            // Nothing came for a minute after each: the alert went on to the call.
            #expect(forecast.proposed.alerts.allSatisfy { $0.called })
            #expect(forecast.proposed.from == forecast.proposed.period.lowerBound)
            #expect(await dispatcher.parts.supervision.subscriber(of: anna)?.supervision.own == [:])
            await dispatcher.stop()
        }
    }

    @Test("SOS-16, SOS-22: contacts, preferences and the card are kept through a restart, sealed; notes are told only as consented")
    func kept() async throws {
        try await play { stage, _ in
            var dispatcher = try await stage.start()
            let anna = PersonID.random()
            let contacts = dispatcher.parts.subscribers.contacts
            await #expect(throws: Failure.self) { try await contacts.contacts(of: anna) }
            try await dispatcher.parts.subscribers.subscriptions.join(anna, .init(), at: .now)
            let mother = EmergencyContact(
                id: "ctc_1", name: "Canarina Madre", telephone: "+390551234567", email: nil, language: .italian)
            _ = try await contacts.changeContacts(of: anna, "contact-added") { try ContactList.adding(mother, to: $0) }
            let card = EmergencyCard(
                name: "Anna Canarinieri", telephone: "+393331234567", language: "en", birthYear: 1940, sex: "female",
                address: "Vicolo 73", medicalNotes: nil)
            await dispatcher.parts.supervision.know([EmergencyCardState(person: anna, card: card)], [])
            let notes = SupervisionPreferences(medicalNotes: "penicillina-canarina", tellsMedicalNotes: false)
            try await dispatcher.parts.supervision.prefer(notes, of: anna)
            #expect(await dispatcher.parts.supervision.subscriber(of: anna)?.card == card)
            try await dispatcher.parts.supervision.prefer(
                SupervisionPreferences(medicalNotes: "penicillina-canarina", tellsMedicalNotes: true), of: anna)
            #expect(await dispatcher.parts.supervision.subscriber(of: anna)?.card?.medicalNotes == "penicillina-canarina")
            await dispatcher.stop()

            dispatcher = try await stage.start()
            let subscriber = try #require(await dispatcher.parts.supervision.subscriber(of: anna))
            #expect(subscriber.contacts == [mother])
            #expect(subscriber.card?.name == card.name && subscriber.language == .english)
            await dispatcher.parts.supervision.know([EmergencyCardState(person: anna, card: nil)], [])
            #expect(await dispatcher.parts.supervision.subscriber(of: anna)?.card == nil)
            await dispatcher.stop()
            let folder = stage.folder.appendingPathComponent("sos-dispatcher")
            for name in try FileManager.default.subpathsOfDirectory(atPath: folder.path) {
                guard let bytes = FileManager.default.contents(atPath: folder.appendingPathComponent(name).path) else { continue }
                for needle in ["anarin", "1234567", "Vicolo"] {
                    #expect(bytes.range(of: Data(needle.utf8)) == nil, "\(needle) is in \(name)")
                }
            }
        }
    }
}
