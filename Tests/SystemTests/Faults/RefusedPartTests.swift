// One part of a real suite refuses to start: everything else runs, and ambulances come.

import Contracts
import Foundation
import ServiceKit
import TestKit
import Testing

@testable import Operator

extension SystemTests {
    @Suite("A part refuses to start")
    struct RefusedPartTests {
        @Test(
            "SOS-15, SOS-28: a key file that both dispatchers read and a wrong word in a setting stopped every alarm: both run, and the call is taken",
            .timeLimit(.minutes(3)), arguments: ["webhook.secret", "emergency-identity.key"])
        func bothDispatchers(name: String) async throws {
            let wrong = ["TRACKME_COUNTRY_CODE": "XX", "TRACKME_SOS_NO_SUCH": "1"]
            let shape = SuiteShape(environment: [.sosDispatcher: wrong, .sosDeputy: wrong], hasDeputy: true)
            try await RealSuite.with(shape) { suite in
                let deputy = try #require(suite.deputy)
                let load = try await suite.load(by: 1, acknowledged: 3)
                for one in [suite.sos, deputy] { try await one.stop() }
                let file = suite.layout.keys.file(name, of: .sosDispatcher)
                try Data().write(to: file)
                for one in [suite.sos, deputy] {
                    one.start()
                    try await one.untilReady()
                }
                await load.wearers[0].fallIll()
                let called = try await eventually("the desk has taken the call") {
                    DeskLine.read(suite.deskLedger).first { $0.isAcknowledgement }
                }
                let emergency = try await suite.ask(ListEmergencies(person: load.wearers[0].person, limit: 1)).emergencies.first
                #expect(called.emergency == emergency?.emergency)
                _ = try await load.stop()
                for one in [suite.sos, deputy] {
                    let log = suite.data.appendingPathComponent("log/\(one.name).log")
                    let critical = String(decoding: try Data(contentsOf: log), as: UTF8.self).split(separator: "\n")
                        .filter { $0.contains(#""critical""#) }
                    for word in [file.path, "TRACKME_COUNTRY_CODE", "TRACKME_SOS_NO_SUCH"] {
                        #expect(critical.contains { $0.replacing("\\/", with: "/").contains(word) }, "\(one.name): \(word)")
                    }
                }
                #expect(try suite.trackme("doctor", allowed: [1]).output.contains("shared key file"))
            }
        }

        @Test(
            "SOS-15, SOS-28: a damaged key file of ingest leaves both dispatchers running, which deliver the call that waits; the refused part is named, and it starts once the file is mended",
            .timeLimit(.minutes(5)), arguments: ["store.kek", "bus.secret"])
        func damagedKey(name: String) async throws {
            try await RealSuite.with(SuiteShape(hasDeputy: true, isSupervised: true)) { suite in
                let supervisor = try #require(suite.supervisor)
                let deputy = try #require(suite.deputy)
                let load = try await suite.load(by: 1, acknowledged: 3)
                // The desk is away, so that the call waits in the dispatchers' stores.
                try await suite.desk.stop()
                await load.wearers[0].fallIll()
                let person = load.wearers[0].person
                try await eventually("the call waits in both stores") {
                    let (one, other) = try await (
                        suite.ask(ListEmergencies(person: person, limit: 1)).emergencies.first?.state,
                        suite.ask(ListEmergencies(person: person, limit: 1), at: .sosDeputy).emergencies.first?.state
                    )
                    return one == "dispatching" && other == "dispatching"
                }
                _ = try await load.stop()
                #expect(try await supervisor.stop() == .exited(0))

                let file = suite.layout.keys.file(name, of: .ingest)
                let whole = try Data(contentsOf: file)
                try Data("damaged\n".utf8).write(to: file)
                supervisor.start(again: false)
                let begun = ContinuousClock.now
                suite.desk.start()
                try await suite.desk.untilReady()
                let called = try await eventually("the desk is called") {
                    DeskLine.read(suite.deskLedger).first { $0.isAcknowledgement }
                }
                print(
                    "figure: \(name) of ingest damaged: the waiting call was taken \((.now - begun).wholeMilliseconds) ms after the start")
                let emergency = try await suite.ask(ListEmergencies(person: person, limit: 1)).emergencies.first
                #expect(called.emergency == emergency?.emergency)

                // Both dispatchers run, and the refused part is named with file and mend: on the screen, and by the doctor.
                let processes = try [suite.sos, deputy].map { try suite.processID(of: $0) }
                let log = suite.data.appendingPathComponent("log/trackme.log")
                let lines = String(decoding: try Data(contentsOf: log), as: UTF8.self).split(separator: "\n")
                let error = try #require(lines.last { $0.contains("ERROR: ingest refuses to start: ") })
                #expect(error.contains(file.path) && error.contains("restore"))
                try await eventually("what can run runs") {
                    String(decoding: try Data(contentsOf: log), as: UTF8.self).contains("TrackMe runs WITHOUT ingest")
                }
                #expect(try suite.trackme("doctor", allowed: [1]).output.contains("start of ingest"))

                try whole.write(to: file)
                try await suite.ingest.untilReady(within: .seconds(40))
                try await suite.sos.untilReady()
                #expect(try [suite.sos, deputy].map { try suite.processID(of: $0) } == processes, "the dispatchers went on")
                try await eventually("the doctor is content") {
                    try !suite.trackme("doctor", allowed: [0, 1]).output.contains("start of ingest")
                }
                #expect(try await supervisor.stop() == .exited(0))
            }
        }
    }
}
