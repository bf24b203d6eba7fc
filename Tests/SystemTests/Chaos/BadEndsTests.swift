// The other end and the way to it: rows F14, F16, F19 and F30 of the fault matrix.

import Contracts
import Foundation
import ServiceKit
import TestKit
import Testing

@testable import Operator

extension SystemTests {
    @Suite("Integrators and networks that misbehave")
    struct BadEndsTests {
        @Test(
            "F14: SOS-19, INV-15: refusals, lies, silence and rubbish end no repetition, and the first honest answer does",
            .timeLimit(.minutes(10)))
        func integrators() async throws {
            try await RealSuite.with { suite in
                let load = try await suite.load(by: 8, acknowledged: 20)
                let gone = Timestamp.now
                try await suite.desk.stop()
                var tried = 0
                let modes = FaultSizes.isFull ? ["refuse", "lie", "silent", "flaky"] : ["refuse", "lie"]
                await load.wearers[0].fallIll()
                for mode in modes {
                    let before = DeskLine.read(suite.deskLedger).count
                    let other = try suite.anotherDesk(mode: mode)
                    other.start()
                    try await other.untilReady()
                    if mode == "flaky" { await load.wearers[1].fallIll() }
                    // Each is tried more than once.
                    try await eventually("the desk that would \(mode) was tried twice", within: .seconds(40)) {
                        DeskLine.read(suite.deskLedger).count >= before + 2
                    }
                    tried += DeskLine.read(suite.deskLedger).count - before
                    try await other.stop(with: SIGKILL)
                }
                if !FaultSizes.isFull { await load.wearers[1].fallIll() }
                await load.wearers[2].fallIll()
                let rude = try RudeDesk(port: suite.desk.port)
                try await eventually("every kind of rubbish was answered", within: .seconds(60)) { rude.count >= RudeDesk.answers.count }
                rude.end()
                #expect(
                    try await suite.ask(ListEmergencies(person: load.wearers[2].person, limit: 1)).emergencies.first?.acknowledgedAt == nil)
                suite.desk.start()
                try await suite.desk.untilReady()
                let report = try await suite.judge(load, outages: [gone ... .now])
                print(
                    "figure: F14: \(modes) and \(RudeDesk.answers.count) kinds of rubbish, \(tried + rude.count) tries: \(report.figures.line)"
                )
                #expect(report.violations.isEmpty, "\(report.summary)")
            }
        }

        @Test(
            "F16: SOS-18, SOS-19, NFR-07: both internet channels dead: the text comes with the first attempt, and its code acknowledges",
            .timeLimit(.minutes(10)))
        func textsAlone() async throws {
            let gateway = try TextPeer()
            defer { gateway.end() }
            let (number, dead) = ("+39021234567", try FreePorts.find(2))
            let dispatcher = [
                "TRACKME_SOS_WEBHOOK_URL": "http://127.0.0.1:\(dead[0])\(DeskService.path)",
                "TRACKME_SOS_SECOND_URL": "http://127.0.0.1:\(dead[1])\(DeskService.path)", "TRACKME_SOS_NUMBER": number,
            ]
            let notifier = ["TRACKME_NOTIFY_GATEWAY_URL": "http://127.0.0.1:\(gateway.port)/texts"]
            let shape = SuiteShape(environment: [.sosDispatcher: dispatcher, .notifier: notifier], hasAccounts: true)
            try await RealSuite.with(shape) { suite in
                let load = try await suite.load(by: 4, acknowledged: 20)
                let person = load.wearers[0].person
                await load.wearers[0].fallIll()
                let text = try await eventually("the text", within: .seconds(40)) {
                    gateway.messages(to: number).first { $0.channel == "sms" }
                }
                @Sendable func emergency() async throws -> ListEmergencies.Entry? {
                    try await suite.ask(ListEmergencies(person: person, limit: 1)).emergencies.first
                }
                let called = try #require(try await emergency())
                #expect(called.acknowledgedAt == nil && text.text.hasPrefix("SOS1;i=\(called.emergency.description.dropFirst(4));"))
                let code = try #require(text.text.split(separator: ";").first { $0.hasPrefix("a=") }?.dropFirst(2))
                let token = try suite.layout.keys.readSecret(suite.layout.keys.file("inbound.secret", of: .notifier))
                let replied = Timestamp.now
                try await suite.receive(text: "OK+\(code)", from: number, token: token)
                let taken = try await eventually("the acknowledgement") { try await emergency()?.acknowledgedAt }
                _ = try await load.stop()
                let after = (text.at - called.t0).wholeMilliseconds
                print(
                    "figure: F16: both internet channels dead: text at the gateway \(after) ms after t0, "
                        + "acknowledged by its code \(max(0, (taken - replied).wholeMilliseconds)) ms after the reply")
                #expect(text.at - called.t0 < Checker.forThisMachine.deadline)
                #expect(try await suite.ask(VerifyAudit()).firstBroken == nil)
            }
        }

        @Test("F19: SOS-15, ING-12: late, sliced, reset and half-open connections lose no entry and no call", .timeLimit(.minutes(10)))
        func network() async throws {
            let (toDesk, toIngest) = (try FaultProxy(), try FaultProxy())
            defer {
                toDesk.end()
                toIngest.end()
            }
            let url = ["TRACKME_SOS_WEBHOOK_URL": "http://127.0.0.1:\(toDesk.port)\(DeskService.path)"]
            try await RealSuite.with(SuiteShape(environment: [.sosDispatcher: url])) { suite in
                toDesk.lead(to: suite.desk.port)
                toIngest.lead(to: suite.ingest.port)
                let load = try LoadGenerator(
                    try await suite.addPeople(8), to: suite, server: "http://127.0.0.1:\(toIngest.port)")
                load.start()
                try await load.untilAcknowledged(20)
                var outages: [ClosedRange<Timestamp>] = []
                for (number, manners) in [FaultProxy.Manners.late, .slices, .resets, .halfOpen].enumerated() {
                    let begun = Timestamp.now
                    await load.wearers[number].fallIll()
                    if number < 2 { toIngest.behave(manners) }
                    toDesk.behave(manners)
                    try await eventually("the alert is open", within: .seconds(40)) {
                        try await !suite.ask(ListEmergencies(person: load.wearers[number].person, limit: 1)).emergencies.isEmpty
                    }
                    if number >= 2 {
                        let before = toDesk.connections
                        try await eventually("two attempts have failed", within: .seconds(40)) { toDesk.connections >= before + 2 }
                        toDesk.behave(.honest)
                    }
                    try await suite.untilCalled(number + 1)
                    toDesk.behave(.honest)
                    toIngest.behave(.honest)
                    if number >= 2 { outages.append(begun ... .now) }
                }
                let report = try await suite.judge(load, outages: outages)
                report.expectSound("F19: late, sliced, reset, half-open connections to ingest and desk")
            }
        }

        @Test(
            "F30: SOS-14, SOS-21: called off before, at and after the call, both ends agree, and each cancel is acknowledged",
            .timeLimit(.minutes(10)))
        func falseAlarms() async throws {
            try await RealSuite.with { suite in
                let load = try LoadGenerator(try await suite.addPeople(3), to: suite)
                let people = load.wearers.map(\.person)
                load.start()
                try await load.untilAcknowledged(20)
                for wearer in load.wearers { await wearer.fallIll() }
                try await eventually("all alerts are open") {
                    try await suite.ask(ListEmergencies(person: nil, limit: 10)).emergencies.count == 3
                }
                // The first says at once that all is well; the second at the moment of the call; the third when help has been called.
                let first = try await suite.ask(AnswerPrompt(person: people[0], answer: .fine))
                try await eventually("a call has gone out") {
                    try await suite.ask(ListEmergencies(person: people[1], limit: 1)).emergencies[0].dispatchedAt != nil
                }
                let second = try await suite.ask(AnswerPrompt(person: people[1], answer: .falseAlarm))
                try await eventually("the third is acknowledged") {
                    try await suite.ask(ListEmergencies(person: people[2], limit: 1)).emergencies[0].acknowledgedAt != nil
                }
                let third = try await suite.ask(AnswerPrompt(person: people[2], answer: .falseAlarm))
                #expect(!first.alreadyDispatched && second.alreadyDispatched && third.alreadyDispatched)
                let cancelled = Set([second.emergency, third.emergency])
                try await eventually("both cancels are acknowledged") {
                    let lines = DeskLine.read(suite.deskLedger).filter { $0.sequence == 1 && $0.isAcknowledgement }
                    return Set(lines.map(\.emergency)) == cancelled
                }
                let report = try await suite.judge(load, patience: .seconds(5))
                let wrong = report.violations.filter { violation in
                    // The first is not to be called for, and a call that was called off need not be acknowledged any more.
                    switch violation {
                    case .missed(let person): person != people[0]
                    case .unacknowledged(let emergency): emergency != second.emergency
                    default: true
                    }
                }
                print("figure: F30: called off before, at and after the call: 1 never sent, 2 cancels acknowledged; \(report.figures.line)")
                #expect(wrong.isEmpty, "\(wrong)")
                #expect(!DeskLine.read(suite.deskLedger).contains { $0.emergency == first.emergency })
            }
        }
    }
}
