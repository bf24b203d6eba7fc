// `trackme simulate` on a running suite: what it plants is what the emergency service hears.

import Contracts
import Foundation
import TestKit
import Testing

@testable import Operator

extension SystemTests {
    @Suite("trackme simulate")
    struct SimulateTests {
        @Test(
            "SOS-32, SOS-35, SOS-36: a heart that gets worse, a fall and a call for help by trackme simulate reach the emergency service, one emergency each",
            .timeLimit(.minutes(5)))
        func mishaps() async throws {
            // The shortest prompt, so that nobody waits twenty seconds.
            try await RealSuite.with(SuiteShape(environment: [.sosDispatcher: ["TRACKME_SOS_FALL_PROMPT_S": "5"]])) { suite in
                let tool = try suite.trackme(
                    "simulate", "--people", "4", "--subscribe", "--interval", "500ms", "--failing", "1", "--worse-after", "9s", "--falling",
                    "1",
                    "--calling", "1", "--emergency-after", "1s", "--emergency-spacing", "500ms", "--duration", "12s", "--url", suite.server)
                #expect(tool.output.contains("3 breaches"), "\(tool.output)")
                let emergencies = try await suite.ask(ListEmergencies(person: nil, limit: 100)).emergencies
                #expect(emergencies.count == 3 && Set(emergencies.map(\.person)).count == 3)
                var courses: [String: [String]] = [:]
                for emergency in emergencies {
                    let steps = try await suite.ask(ReadTimeline(emergency: emergency.emergency)).steps
                    let began = try #require(steps.first { $0.event == "alerted" }?.detail)
                    courses[began] = steps.map(\.event)
                }
                let heart = try #require(courses["heart-rate above its bound"], "\(courses.keys)")
                #expect(heart.contains("acknowledged") && heart.contains("got-worse") && heart.contains("update-acknowledged"))
                #expect(courses["a fall"]?.contains("acknowledged") == true && courses["a call for help"]?.contains("acknowledged") == true)
                let sent = try DeskLog.read(suite.deskLedger).filter(\.verified).map(\.kind)
                #expect(sent.count { $0 == "alert" } >= 3 && sent.contains("update"))
            }
        }

        @Test("A wrong wish of trackme simulate is refused with what to do, before anything is sent")
        func refusals() throws {
            let trackme = ServiceExecutable.folder.appendingPathComponent("trackme").path
            for (wrong, mend) in [
                (["--worse-after", "30s"], "add --failing 1"),
                (["--people", "2", "--failing", "1", "--falling", "1", "--calling", "1"], "all together"),
                (["--failing", "1", "--worse-after", "30s", "--emergency-lasts", "20s"], "less than --emergency-lasts"),
            ] {
                let tool = try Tool.run(trackme, ["simulate"] + wrong, allowed: [64])
                #expect(tool.output.contains(mend), "\(tool.output)")
            }
            let help = try Tool.run(trackme, ["simulate", "--help"]).output
            for option in ["--worse-after", "--falling", "--calling"] { #expect(help.contains(option)) }
        }
    }
}
