// Processes that stand still, and clocks that are set: rows F07 and F23 of the fault matrix.

import Contracts
import Foundation
import ServiceKit
import TestKit
import Testing

@testable import Operator

extension SystemTests {
    @Suite("Hanging processes and wrong clocks")
    struct TimeAndHangTests {
        @Test("F07: NFR-08, SOS-15: a process that stands still for a while and goes on has missed nothing", .timeLimit(.minutes(10)))
        func stopped() async throws {
            try await RealSuite.with { suite in
                let load = try await suite.load(by: 8, acknowledged: 20)
                var outages: [ClosedRange<Timestamp>] = []
                var patient = 0
                let stops: [Double] = FaultSizes.isFull ? [0.3, 2, 10] : [0.3, 2]
                for seconds in stops {
                    for process in [suite.ingest, suite.sos] {
                        await load.wearers[patient].fallIll()
                        patient += 1
                        try await load.untilAcknowledged(10)
                        let begun = Timestamp.now
                        process.signal(SIGSTOP)
                        // This is how long it stands still.
                        try await Task.sleep(for: .seconds(seconds))
                        process.signal(SIGCONT)
                        outages.append(begun ... .now)
                        try await load.untilAcknowledged(10)
                        try await suite.untilCalled(patient)
                    }
                }
                // Nobody takes the place of one that stands still: what it owes is late by as long as it stood still, and not more.
                let report = try await suite.judge(load, outages: outages)
                report.expectSound("F07: SIGSTOP of ingest and sos-dispatcher for \(stops) s")
                #expect(report.figures.breaches == patient)
            }
        }

        @Test(
            "F23: SOS-12, SOS-15, SOS-25: a wall clock that is set in the middle of an alert neither hurries nor delays nor loses the call",
            .enabled(if: FaultShim.isThere, "needs a C compiler, for the library that sets the clock"), .timeLimit(.minutes(10)))
        func clockSteps() async throws {
            try await withTemporaryFolder { folder in
                let shim = FaultShim(in: folder)
                let shape = SuiteShape(
                    environment: [.ingest: shim.environment, .sosDispatcher: shim.environment], deskEnvironment: shim.environment)
                try await RealSuite.with(shape) { suite in
                    let hour = 3_600_000
                    let steps = FaultSizes.isFull ? [hour, -hour, 24 * hour, -24 * hour] : [hour, -hour]
                    let people = try await suite.addPeople(steps.count + 1)
                    var took: [Int64] = []
                    for (number, step) in steps.enumerated() {
                        shim.say("clock 0")
                        // One who goes on being well, and one who falls ill, each by a device with a right clock.
                        let load = try LoadGenerator([people[number], people[steps.count]], to: suite)
                        load.start()
                        try await load.untilAcknowledged(10)
                        await load.wearers[0].fallIll()
                        try await eventually("the alert is open") {
                            try await suite.ask(ListEmergencies(person: people[number].person, limit: 1)).emergencies.isEmpty == false
                        }
                        let begun = ContinuousClock.now
                        shim.say("clock \(step)")
                        // Not asked over the bus: a question from another time of day has missed its deadline.
                        try await eventually("the call is acknowledged") {
                            Set(DeskLine.read(suite.deskLedger).filter(\.isAcknowledgement).map(\.emergency)).count == number + 1
                        }
                        took.append((ContinuousClock.now - begun).wholeMilliseconds)
                        shim.say("clock 0")
                        try await load.stop()
                    }
                    try await suite.untilCalled(steps.count)
                    print("figure: F23: clock set by \(steps.map { $0 / hour }) h during an alert: acknowledged after \(took) ms")
                    let all = try await suite.ask(ListEmergencies(person: nil, limit: 100)).emergencies
                    #expect(Set(all.map(\.person)) == Set(people.prefix(steps.count).map(\.person)) && all.count == steps.count)
                    #expect(took.allSatisfy { $0 > 1500 && $0 < Checker.forThisMachine.deadline.wholeMilliseconds + 1000 }, "\(took)")
                    try await suite.stop()
                    let desk = DeskLine.read(suite.deskLedger).filter { $0.sequence == 0 }
                    #expect(Set(desk.map(\.messageId)).count == steps.count)
                }
            }
        }
    }
}
