// The desk is down: the call is repeated until it is back.

import Contracts
import Foundation
import ServiceKit
import TestKit
import Testing

extension SystemTests {
    @Suite("An emergency desk that is down")
    struct DeskTests {
        @Test(
            "F15: SOS-19, SOS-15, INV-15: a desk that was down gets the call soon after its return, one message id, the same bytes",
            .timeLimit(.minutes(10)))
        func down() async throws {
            try await RealSuite.with { suite in
                let load = try await suite.load(by: 4, acknowledged: 10)
                // In the first half the desk takes messages and says nothing; in the second it is not there at all.
                let gone = Timestamp.now
                try await suite.desk.stop()
                let silent = try suite.anotherDesk(mode: "silent")
                silent.start()
                try await silent.untilReady()
                await load.wearers[0].fallIll()
                await load.wearers[1].fallIll()
                // The outage has a length; the dispatcher is killed in the middle of it.
                try await Task.sleep(for: FaultSizes.outage * 3 / 4)
                try await silent.stop(with: SIGKILL)
                let recovery = try await suite.sos.killAndRecover()
                // The rest of the outage.
                try await Task.sleep(for: FaultSizes.outage / 4)
                suite.desk.start()
                try await suite.desk.untilReady()
                let back = Timestamp.now
                let report = try await suite.judge(load, outages: [gone...back])
                print(
                    "figure: F15: desk down for \((back - gone).wholeMilliseconds) ms, dispatcher killed meanwhile "
                        + "(back after \(recovery.wholeMilliseconds) ms): \(report.figures.line)")
                #expect(report.violations.isEmpty, "\(report.summary)")
                #expect(report.figures.breaches == 2)
                #expect(report.figures.repeats >= 2, "the call was not repeated")
            }
        }

        @Test("SOS-19: repeats to a desk that refuses each first try are the same bytes under the same id", .timeLimit(.minutes(5)))
        func flaky() async throws {
            try await RealSuite.with(SuiteShape(deskMode: "flaky")) { suite in
                let load = try await suite.load(by: 2, acknowledged: 10)
                await load.wearers[0].fallIll()
                try await load.untilAcknowledged(10)
                let report = try await suite.judge(load)
                report.expectSound("desk that refuses each first try")
                #expect(report.figures.repeats > 0)
            }
        }
    }
}
