// Nobody needs to touch anything: from whatever happens to a device and a heart, supervision comes back by itself.

import Contracts
import Foundation
import TestKit
import Testing

@testable import SOSDispatcher

@Suite("Supervision, autonomy")
struct AutonomyTests {
    /// A random life of a person who never answers, never presses anything and never opens the app; emergency services do answer.
    private func life(seed: UInt64) -> (story: SupervisionStory, end: Double) {
        var dice = SeededGenerator(seed: seed)
        var rules = SupervisionRules()
        rules.silenceCallsAmbulance = seed % 4 == 0
        rules.seizureCallsAmbulance = seed % 5 == 0
        var story = SupervisionStory(rules, own: seed % 3 == 0 ? [.oxygenSaturation: Bounds(low: 90, high: nil)] : [:])
        story.prefer(0, shaking: seed % 2 == 0)
        var now = 0.0
        var isOnCharge = false
        for _ in 0..<80 {
            now += [0.1, 1, 2, 3, 3.5, 10, 31, 130, 400, 4000].randomElement(using: &dice) ?? 1
            let isSick = Int.random(in: 0..<3, using: &dice) == 0
            switch Int.random(in: 0..<16, using: &dice) {
            case 0: story.shake(now)
            case 1:
                isOnCharge.toggle()
                story.charge(now, isOnCharge)
            case 2: story.upload(now, [.oxygenSaturation: isSick ? 80 : 97], interval: .seconds(60))
            case 3: story.upload(now, [.heartRate: isSick ? 20 : 70, .respirationRate: 12, .oxygenSaturation: 97], interval: .seconds(60))
            case 4: story.pass(now)
            default: story.heart(now, isSick ? 30 : 80)
            }
            if story.machine.state.stage == .dispatching { story.acknowledge(now) }
        }
        if isOnCharge { story.charge(now, false) }
        return (story, now)
    }

    @Test(
        "SOS-26, SOS-12, SOS-25, SOS-27, SOS-S: whatever happened, a quarter of an hour of a device that is worn and well end in monitoring, and the next critical value is called for",
        arguments: 0..<40)
    func comesBack(block: UInt64) {
        for seed in block * 25..<(block + 1) * 25 {
            var (story, now) = life(seed: seed)
            for _ in 0..<90 {
                now += 10
                story.upload(now, [.heartRate: 70 + Double(Int(now) % 5), .oxygenSaturation: 97])
                if story.machine.state.stage == .dispatching { story.acknowledge(now) }
            }
            #expect(story.machine.state.stage == .monitoring && story.machine.state.standing == .monitoring, "seed \(seed)")
            let before = story.list.count
            story.heart(now + 10, 30)
            story.pass(now + 14)
            let last = story.list.dropFirst(before).map { $0.split(separator: " ")[1] }
            #expect(last == ["opened", "confirmed", "dispatched"], "seed \(seed)")
        }
    }
}
