// Addresses that fail at once, and services that reject: the next one is called at once, and what is called off ends one day.

import Contracts
import Foundation
import HTTPKit
import Outbound
import Sealing
import ServiceKit
import TestKit
import Testing

@testable import SOSDispatcher

@Suite("Hard failures and rejections, whole service", .timeLimit(.minutes(2)))
struct HardFailureStories {
    private static let milan = Position(latitude: 45.4642, longitude: 9.19, accuracy: 10)
    private static let rome = Position(latitude: 41.9028, longitude: 12.4964, accuracy: 10)
    /// From `t0`, with every address and service that was in the way (SOS-39).
    private static let bound = Duration.milliseconds(4500)

    private static func area(_ km: Double) -> ServiceArea {
        ServiceArea(circle: .init(centre: .init(latitude: milan.latitude, longitude: milan.longitude), radiusKm: km))
    }

    private static func register(
        _ stage: Stage, _ name: String, _ km: Double, _ url: String, second: String? = nil, number: String? = nil, _ desks: Desk...
    ) async throws {
        let settings = IntegratorSettings(name: name, area: area(km), url: url, secondURL: second, number: number)
        let secret = try WebhookSecret(try await stage.question(AddIntegrator(settings: settings, replaces: false)).webhookSecret)
        for desk in desks { desk.share(secret) }
    }

    /// What the first address of the service that is responsible does.
    enum First: String, CaseIterable, Sendable {
        case refusesConnections, failsTLS, hasNoName, answers500, hangs
        /// The service's own word: its second address is no other one, the next service is.
        case rejects

        /// Whether a message gets there at all.
        var isReached: Bool { [.answers500, .hangs, .rejects].contains(self) }

        func url(_ desk: Desk) -> String {
            switch self {
            case .refusesConnections: "http://127.0.0.1:9/"
            // A server that speaks no TLS.
            case .failsTLS: desk.address.replacing("http:", with: "https:")
            case .hasNoName: "http://nobody.invalid/"
            case .answers500, .hangs, .rejects: desk.address
            }
        }

        var manner: Desk.Manner {
            switch self {
            case .answers500: .fails(500)
            case .hangs: .slow(1000)
            case .rejects: .acknowledges(.rejected)
            default: .silent
            }
        }
    }

    /// How much later than `t0` + 3.5 s somebody is heard whose service takes the call at once: what this machine needs at this moment.
    private static func overhead(_ desk: Desk) async throws -> Duration {
        let receipt = try await eventually("the call that nothing stands in the way of") { desk.receipts.first }
        let began = try #require(receipt.message.flatMap { Timestamp(rfc3339: $0.firstBreachAt) })
        return max(.zero, receipt.at - began - .milliseconds(3500))
    }

    @Test(
        "R5, SOS-39: a second address was never reached before 5.0 s: now it, or after a rejection the next service, acknowledges by t0 + 4.5 s whatever the first does, and every address and the text are tried by then",
        arguments: First.allCases)
    func secondAddress(first: First) async throws {
        let (failing, second, control) = (Desk(first.manner), Desk(.acknowledges(.accepted)), Desk(.acknowledges(.accepted)))
        try await Stage.play(control, and: failing, second) { stage in
            let notifier = try await stage.notifier()
            // A text that is on its way when somebody has spoken is given up, and its way is long where the notifier was never asked before.
            let speaks = first == .rejects ? failing : second
            speaks.answers { !notifier.messages(.sosDispatch).isEmpty }
            let dispatcher = try await stage.start()
            try await Self.register(
                stage, "milan", 30, first.url(failing), second: second.address, number: "+39021234567", failing, second)
            let (person, other) = (PersonID.random(), PersonID.random())
            for person in [person, other] { try await stage.subscribe(person) }
            let t0 = Timestamp.now
            try await stage.ingest.say(other, [Sample(type: .heartRate, at: t0, value: 31, position: Self.rome)], receivedAt: t0)
            try await stage.ingest.say(person, [Sample(type: .heartRate, at: t0, value: 31, position: Self.milan)], receivedAt: t0)
            try await eventually("the acknowledgement") {
                try await stage.question(ListEmergencies(person: person, limit: 1)).emergencies.first?.acknowledgedAt != nil
            }
            let overhead = try await Self.overhead(control)
            let entry = try #require(try await stage.question(ListEmergencies(person: person, limit: 1)).emergencies.first)
            let after = try #require(entry.acknowledgedAt) - entry.t0
            #expect(after < Self.bound + overhead * 2, "\(first): \(after), this machine's overhead \(overhead)")
            let mine = [failing, second, control].map { desk in desk.receipts.filter { $0.message?.emergencyId == "\(entry.emergency)" } }
            #expect(first == .rejects ? !mine[2].isEmpty : mine[1].count == 1 && mine[2].isEmpty, "who has taken it")
            // Every address that can be reached.
            let tried = zip([first.isReached, first != .rejects], mine).compactMap { $0 ? $1.first?.at : nil }
            #expect(tried.count == (first.isReached ? 1 : 0) + (first == .rejects ? 0 : 1))
            for at in tried { #expect(at - entry.t0 < Self.bound + overhead * 2, "\(first): \(at - entry.t0)") }
            #expect(!notifier.messages(.sosDispatch).isEmpty, "the text was handed over")
            await dispatcher.stop()
            await notifier.close()
            if case .hangs = first { failing.become(.silent) }
        }
    }

    @Test(
        "R5, SOS-39: one dead address and the next service waited 30 s: now a refused connection, a failed handshake, a 500, a rejection pass the call on at once",
        arguments: [First.refusesConnections, .failsTLS, .answers500, nil])
    func nextService(first: First?) async throws {
        let (failing, next) = (Desk(first?.manner ?? .acknowledges(.rejected)), Desk(.acknowledges(.accepted)))
        let control = Desk(.acknowledges(.accepted))
        try await Stage.playStarted(control, and: failing, next) { stage, _ in
            try await Self.register(stage, "milan", 30, first?.url(failing) ?? failing.address, failing)
            try await Self.register(stage, "north", 300, next.address, next)
            let (person, other) = (PersonID.random(), PersonID.random())
            for person in [person, other] { try await stage.subscribe(person) }
            let t0 = Timestamp.now
            try await stage.ingest.say(other, [Sample(type: .heartRate, at: t0, value: 31, position: Self.rome)], receivedAt: t0)
            try await stage.ingest.say(person, [Sample(type: .heartRate, at: t0, value: 31, position: Self.milan)], receivedAt: t0)
            let emergency = try await eventually("the acknowledgement") {
                try await stage.question(ListEmergencies(person: person, limit: 1)).emergencies.first { $0.acknowledgedAt != nil }
            }
            let overhead = try await Self.overhead(control)
            let after = try #require(emergency.acknowledgedAt) - emergency.t0
            #expect(after < Self.bound + overhead * 2, "\(after), this machine's overhead \(overhead)")
            #expect(try await stage.timeline(emergency.emergency).contains(first == nil ? "passed-on" : "called-in-addition"))
        }
    }

    private static func post(_ result: Acknowledgement.Result, to emergency: EmergencyID, _ token: String, _ port: Int) async throws -> Int
    {
        let path = "/sos/v1/dispatches/\(emergency)-0/acknowledgements"
        var request = OutboundRequest.post(
            "http://127.0.0.1:\(port)\(path)", try Desk.body("\(emergency)-0", result), contentType: "application/json")
        request.headers.append(("authorization", "Bearer \(token)"))
        return try await HTTPSender.anywhere().send(request).status
    }

    @Test(
        "SOS-39: a service that was released is called anew under another name when the one that had the call rejects it; both dispatchers agree"
    )
    func releasedAndCalledAnew() async throws {
        let (silent, taker) = (Desk(.silent), Desk(.silent))
        try await Stage.play(taker, and: silent) { stage in
            let first = try await stage.start(["TRACKME_SOS_NEXT_INTEGRATOR_S": "4"])
            let second = try await stage.start(["TRACKME_SOS_NEXT_INTEGRATOR_S": "3600"], role: .second, lead: .seconds(1))
            try await Self.register(stage, "milan", 30, silent.address, silent)
            try await eventually("the second knows both") { await second.parts.dispatcher.registry.integrator("milan") != nil }
            let person = try await stage.subscriber()
            try await eventually("both supervise") { await second.parts.supervision.isSubscribed(person) }
            try await stage.ingest.say(person, [Sample(type: .heartRate, at: .now, value: 31, position: Self.milan)])
            let emergency = try await stage.askForHelp(person)
            try await eventually("the next one is called as well") { !taker.receipts.isEmpty }
            taker.become(.acknowledges(.accepted))
            try await eventually("the first is released") { silent.receipts.contains { $0.id == "\(emergency)-1000000" } }
            taker.become(.silent)
            let port = await first.parts.server.boundPort
            #expect(try await Self.post(.rejected, to: emergency, first.parts.token, port) == 200)
            let again = try await eventually("the call anew") {
                silent.receipts.first { $0.message?.msgType == .alert && $0.id != "\(emergency)-0" }
            }
            let message = try #require(again.message)
            #expect(again.id == "\(emergency)-500001" && message.seq == 1 && message.references == ["\(emergency)-0"])
            #expect(!taker.receipts.contains { $0.id == again.id }, "who has rejected is not asked under the new name")
            let id = SOSDispatcher.MessageID(emergency: emergency, sequence: 500_001)
            try await eventually("the second knows it") {
                await second.parts.dispatcher.works[emergency]?.file.lines["milan"]?.message(id)?.body == again.body
            }
            silent.become(.acknowledges(.accepted))
            for place in [first, second] {
                try await eventually("both know who has it") { try await place.parts.store.emergency(emergency)?.state == .dispatched }
            }
        }
    }

    @Test("SOS-39: when all have rejected, each is asked again, and whoever thinks better of it has the call")
    func rejectedByAll() async throws {
        let (one, other) = (Desk(.acknowledges(.rejected)), Desk(.acknowledges(.rejected)))
        try await Stage.play(other, and: one) { stage in
            try await stage.start(["TRACKME_SOS_NEXT_INTEGRATOR_S": "1"])
            try await Self.register(stage, "milan", 30, one.address, one)
            let person = try await stage.subscriber()
            try await stage.ingest.say(person, [Sample(type: .heartRate, at: .now, value: 31, position: Self.milan)])
            let emergency = try await stage.askForHelp(person)
            try await eventually("both are asked again and again") { one.receipts.count >= 3 && other.receipts.count >= 3 }
            for desk in [one, other] {
                let pauses = zip(desk.receipts.dropFirst(), desk.receipts).map { $0.at - $1.at }
                #expect(pauses.allSatisfy { $0 >= .milliseconds(900) }, "not at once: \(pauses)")
            }
            other.become(.acknowledges(.accepted))
            try await eventually("it is taken") { try await stage.state(emergency) == "dispatched" }
            let steps = try await stage.timeline(emergency)
            #expect(steps.contains("refused-by-all") && steps.contains("asked-again"))
        }
    }

    @Test(
        "R12, SOS-40: releases to dead desks made 18 audit rows a second for ever: now they back off, and end when the integrator is removed"
    )
    func releasesEnd() async throws {
        let (dead, taker) = (Desk(.silent), Desk(.silent))
        try await Stage.play(taker, and: dead) { stage in
            let dispatcher = try await stage.start(["TRACKME_SOS_NEXT_INTEGRATOR_S": "1"])
            try await Self.register(stage, "milan", 30, dead.address, dead)
            let person = try await stage.subscriber()
            try await stage.ingest.say(person, [Sample(type: .heartRate, at: .now, value: 31, position: Self.milan)])
            let emergency = try await stage.askForHelp(person)
            try await eventually("the next one is called as well") { !taker.receipts.isEmpty }
            taker.become(.acknowledges(.accepted))
            try await eventually("seven releases") { dead.receipts.count { $0.id == "\(emergency)-1000000" } >= 7 }
            let releases = dead.receipts.filter { $0.id == "\(emergency)-1000000" }.map(\.at)
            let pauses = zip(releases.dropFirst(), releases).map { $0 - $1 }
            #expect(pauses[5] > pauses[0] * 4, "the pauses grow: \(pauses)")
            let noted = try await stage.question(ReadTimeline(emergency: emergency)).steps.filter {
                $0.event == "dispatch-attempted" && $0.detail.hasPrefix("cancel")
            }
            #expect(noted.count == DispatchOutbox.notedAttempts, "each of the first attempts has a row, no later one")
            _ = try await stage.question(RemoveIntegrator(name: "milan"))
            // Long ago, as a clock would have it that nobody waits for.
            let release = SOSDispatcher.MessageID(emergency: emergency, sequence: 0).release
            await dispatcher.parts.dispatcher.age(release, with: "milan", by: DispatchOutbox.removedAfter)
            try await eventually("it is given up") { try await stage.timeline(emergency).contains("given-up") }
            #expect(await dispatcher.parts.dispatcher.works[emergency]?.file.lines["milan"]?.current == nil)
            #expect(try await stage.timeline(emergency).count { $0 == "given-up" } == 1)
        }
    }

    @Test("SOS-40: a cancellation that nobody answers ends 24 h after it was made, with an entry of the audit; an alert never ends")
    func endsAfterADay() async throws {
        let desk = Desk(.silent)
        try await Stage.playStarted(desk) { stage, dispatcher in
            let parts = dispatcher.parts
            let (person, emergency) = try await stage.caller()
            let alert = SOSDispatcher.MessageID(emergency: emergency, sequence: 0)
            await parts.dispatcher.age(alert, with: Integrator.configuredID, by: DispatchOutbox.givenUpAfter * 2)
            let attempts = desk.receipts.count
            try await eventually("the alert is repeated two days later") { desk.receipts.count > attempts + 5 }
            #expect(try await !stage.timeline(emergency).contains("given-up"))
            _ = try await stage.question(AnswerPrompt(person: person, answer: .falseAlarm))
            let cancel = SOSDispatcher.MessageID(emergency: emergency, sequence: 1)
            try await eventually("the cancellation") { desk.receipts.contains { $0.id == "\(cancel)" } }
            await parts.dispatcher.age(cancel, with: Integrator.configuredID, by: DispatchOutbox.givenUpAfter - .seconds(60))
            await parts.dispatcher.giveUp(in: emergency)
            #expect(await parts.dispatcher.works[emergency]?.file.lines[Integrator.configuredID]?.current?.id == cancel, "a minute is left")
            await parts.dispatcher.age(cancel, with: Integrator.configuredID, by: .seconds(61))
            try await eventually("it is given up") { try await stage.timeline(emergency).contains("given-up") }
            #expect(await parts.dispatcher.works[emergency]?.file.lines[Integrator.configuredID]?.current == nil)
        }
    }
}

extension Dispatcher {
    /// As if a message had been made so much earlier.
    fileprivate func age(_ id: SOSDispatcher.MessageID, with integrator: String, by duration: Duration) {
        guard var file = works[id.emergency]?.file, let outbox = file.lines[integrator] else { return }
        var lines = file.lines
        lines[integrator] = DispatchOutbox(
            outbox.messages.map { message in
                var aged = message
                if message.id == id { aged.createdAt = message.createdAt - duration }
                return aged
            })
        file = DispatchMachine(file.decided, lines: lines)
        works[id.emergency]?.file = file
    }
}
