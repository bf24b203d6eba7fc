// What holds in every supervision, checked on thousands of random ones; a failing seed can be run again.

import Contracts
import Foundation
import TestKit
import Testing

@testable import SOSDispatcher

@Suite("Supervision, properties")
struct SupervisionPropertyTests {
    /// Of fifty lives each; `Tests/Simulation/run` asks for more.
    private static let blocks = (ProcessInfo.processInfo.environment["TRACKME_MACHINE_SEEDS"].flatMap { UInt64($0) } ?? 2000) / 50

    /// Plays one random life; between any two events the machine may be written down and read again, as a restart does.
    private func life(seed: UInt64, restarts: Bool) throws -> [SupervisionAction] {
        var dice = SeededGenerator(seed: seed)
        var story = SupervisionStory(own: seed % 3 == 0 ? [.oxygenSaturation: Bounds(low: 90, high: nil)] : [:])
        var now = 0.0
        let steps: [Double] = [0.05, 0.1, 0.4, 1, 2, 3, 3.5, 10, 31, 130]
        for _ in 0..<60 {
            now += steps.randomElement(using: &dice) ?? 1
            let sick = Bool.random(using: &dice)
            switch Int.random(in: 0..<24, using: &dice) {
            case 0: story.answer(now, AnswerPrompt.Answer.allCases.randomElement(using: &dice) ?? .fine)
            case 1: story.acknowledge(now)
            case 2: story.pause(now)
            case 3: story.resume(now)
            case 4: story.unsubscribe(now)
            case 5, 6: story.subscribe(now)
            case 7: story.upload(now, [.bloodPressureMax: sick ? 190 : 120, .bloodPressureMin: sick ? 110 : 80])
            case 8: story.upload(now, [.oxygenSaturation: sick ? 80 : 97])
            case 9: story.upload(now, [Sample(type: .heartRate, at: SupervisionStory.at(now - 70), value: 20)])
            default: story.heart(now, sick ? 30 : 80)
            }
            if restarts {
                let written = try JSONEncoder().encode(story.machine.state)
                let state = try JSONDecoder().decode(Supervision.State.self, from: written)
                let kept = try CompactForm.decode(Supervision.State.self, from: CompactForm.encode(state))
                story.machine = Supervision(rules: story.machine.rules, state: kept)
            }
        }
        story.pass(now + 1000)
        return story.actions
    }

    @Test(
        "INV-14, INV-15, INV-22, SOS-24: one open emergency, one trigger each, every confirmed alert dispatched at t0 + 3.5 s",
        arguments: 0..<blocks)
    func invariants(block: UInt64) throws {
        for seed in block * 50..<(block + 1) * 50 {
            try check(life(seed: seed, restarts: false), seed: seed)
        }
    }

    @Test("A machine that is written down and read again at every step does the same", arguments: 0..<10)
    func restarts(block: UInt64) throws {
        for seed in block * 10..<(block + 1) * 10 {
            let (one, other) = (try life(seed: seed, restarts: false), try life(seed: seed, restarts: true))
            #expect(one == other, "seed \(seed)")
        }
    }

    private func check(_ actions: [SupervisionAction], seed: UInt64) {
        var open: Episode?
        var triggers: Set<Trigger> = []
        var confirmed = false
        var last = Timestamp(milliseconds: .min)
        for action in actions {
            #expect(action.at >= last, "seed \(seed): time runs backwards")
            last = action.at
            let sinceStart = (action.episode?.t0).map { action.at - $0 }
            switch action.kind {
            case .opened:
                #expect(open == nil, "seed \(seed): a second open emergency")
                guard let episode = action.episode else {
                    Issue.record("seed \(seed): opened by nothing")
                    return
                }
                #expect(triggers.insert(episode.trigger).inserted, "seed \(seed): one entry triggered two")
                let passed = episode.trigger.passed
                let isBeyond = passed.side == .below ? passed.value < passed.limit : passed.value > passed.limit
                #expect(isBeyond || episode.trigger.kind == .manual, "seed \(seed)")
                (open, confirmed) = (episode, false)
            case .confirmed:
                #expect(sinceStart.map { $0 <= .seconds(3) } == true, "seed \(seed)")
                confirmed = true
            case .askedAgain:
                #expect(open == nil, "seed \(seed): asked in an emergency")
                (open, confirmed) = (action.episode, false)
            case .dispatched(.unanswered):
                #expect(sinceStart == .milliseconds(3500) && confirmed || sinceStart.map { $0 >= .seconds(20) } == true, "seed \(seed)")
                confirmed = false
            case .dispatched(.asked):
                #expect(action.episode != nil)
                (open, confirmed) = (action.episode, false)
            case .transient:
                #expect(open != nil && !confirmed, "seed \(seed)")
                open = nil
            case .muted: (open, confirmed) = (nil, false)
            case .closed: open = nil
            case .worse, .located, .acknowledged, .helpArrived, .cancelled: #expect(open != nil, "seed \(seed)")
            case .silenceContacts, .shakingAlarm, .shakingCalledOff, .charging:
                #expect(open == nil, "seed \(seed): silence said in an emergency")
            case .signalLost, .signalReturned, .doubted, .doubtEnded, .fell, .fallEnded, .fallUnanswered, .lateCritical, .helpTooLate:
                break
            }
        }
        #expect(!confirmed, "seed \(seed): a confirmed alert was never dispatched")
    }
}
