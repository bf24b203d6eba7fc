// Two real dispatchers: the first is killed or stopped at every point around an alert, and help is called all the same, under one name.

import Contracts
import Foundation
import ServiceKit
import TestKit
import Testing

@testable import Operator

extension SystemTests {
    @Suite("The first of two dispatchers is gone")
    struct PairTests {
        struct Fault: Sendable {
            var signal: Int32
            /// After the first critical entry was uploaded.
            var after: Duration
        }

        private static let faults = [
            Fault(signal: SIGKILL, after: .zero), Fault(signal: SIGKILL, after: .milliseconds(1500)),
            Fault(signal: SIGKILL, after: .milliseconds(3400)), Fault(signal: SIGSTOP, after: .milliseconds(500)),
            Fault(signal: SIGSTOP, after: .milliseconds(3300)),
        ]

        @Test(
            "SOS-15, SOS-28, INV-22: the first dispatcher killed or stopped at any time around an alert: help is called, under one id",
            .timeLimit(.minutes(5)), arguments: faults)
        func firstIsGone(fault: Fault) async throws {
            try await RealSuite.with(SuiteShape(hasDeputy: true)) { suite in
                let load = try LoadGenerator(try await suite.addPeople(2), to: suite)
                for wearer in load.wearers {
                    let person = wearer.person
                    try await eventually("the second supervises too") {
                        try await suite.ask(ReadSupervision(person: person), at: .sosDeputy).subscribed
                    }
                }
                let pace = MachinePace()
                defer { pace.end() }
                load.start()
                try await load.untilAcknowledged(10)
                suite.sos.abandon()
                await load.wearers[0].fallIll()
                // The moment of the fault is what this test varies.
                try await Task.sleep(for: fault.after)
                suite.sos.signal(fault.signal)
                let called = try await eventually("the desk is called") {
                    DeskLine.read(suite.deskLedger).first { $0.verified }
                }
                let emergencies = try await suite.ask(ListEmergencies(person: nil, limit: 10), at: .sosDeputy).emergencies
                let emergency = try #require(emergencies.first { called.emergency == $0.emergency })
                let late = called.receivedAt - emergency.t0
                print("figure: first dispatcher gone (signal \(fault.signal)): called \(late.wholeMilliseconds) ms after t0")
                #expect(late < pace.allowed(.seconds(5), waiting: .milliseconds(3500), most: MachinePace.mostSlownessOfCall))
                // The first is back: it takes over, and calls nobody anew.
                if fault.signal == SIGSTOP { suite.sos.signal(SIGCONT) } else { suite.sos.start() }
                try await eventually("both know that it was taken") {
                    let (one, other) = try await (
                        suite.ask(ListEmergencies(person: nil, limit: 10)).emergencies,
                        suite.ask(ListEmergencies(person: nil, limit: 10), at: .sosDeputy).emergencies
                    )
                    return one.map(\.state) == ["dispatched"] && other.map(\.state) == ["dispatched"]
                }
                _ = try await load.stop()
                #expect(Set(DeskLine.read(suite.deskLedger).map(\.messageId)) == [called.messageId])
            }
        }
    }
}
