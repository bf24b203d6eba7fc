// Services that are stopped on purpose, one after the other: AutomatedSOS goes on.

import Contracts
import Foundation
import ServiceKit
import TestKit
import Testing

@testable import Operator

extension SystemTests {
    @Suite("Maintenance")
    struct MaintenanceTests {
        private static let prompt = Duration.milliseconds(3500)

        @Test(
            "NFR-06, SOS-15, SOS-28, INV-22: whichever service is stopped for maintenance, a heart that fails meanwhile is called for in time; ingest is only ever renewed",
            .timeLimit(.minutes(5)))
        func oneAfterTheOther() async throws {
            try await RealSuite.with(SuiteShape(hasAccounts: true, hasDeputy: true)) { suite in
                let services = [suite.sos, suite.deputy, suite.consent, suite.notifier, suite.gateway, suite.ingest].compactMap { $0 }
                let load = try LoadGenerator(try await suite.addPeople(services.count), to: suite)
                for wearer in load.wearers {
                    try await eventually("the second supervises too") {
                        try await suite.ask(ReadSupervision(person: wearer.person), at: .sosDeputy).subscribed
                    }
                }
                let pace = MachinePace()
                defer { pace.end() }
                load.start()
                try await load.untilAcknowledged(20)
                var took: [String] = []
                for (service, wearer) in zip(services, load.wearers) {
                    #expect(try await service.stop() == .exited(0), "\(service.name)")
                    if service === suite.ingest { service.start() }
                    await wearer.fallIll()
                    let passed = try await suite.firstTryToAcknowledgement(of: wearer, load)
                    took.append("\(service.name) \(passed.wholeMilliseconds)")
                    // Without ingest there is nobody to upload to until it has started.
                    let most = service === suite.ingest ? MachinePace.mostSlownessOfRestart : MachinePace.mostSlownessOfCall
                    #expect(passed < pace.allowed(.seconds(5), waiting: Self.prompt, most: most), "\(service.name) was away")
                    if service !== suite.ingest { service.start() }
                    try await service.untilReady()
                }
                let report = try await suite.judge(load)
                print("figure: NFR-06: first try to acknowledged while away: \(took.joined(separator: ", ")) ms; \(report.figures.line)")
                #expect(report.violations.isEmpty, "\(report.summary)")
                #expect(report.figures.breaches == services.count)
            }
        }
    }
}
