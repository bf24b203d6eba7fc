// Random histories through the doors of consent and gateway, with `kill -9` of one or the other at any moment.

import Contracts
import Foundation
import TestKit
import Testing

@testable import Operator

extension SystemTests {
    @Suite("Histories of consent and gateway")
    struct HistoryTests {
        @Test(
            "INV-03, INV-04, INV-05, INV-06, INV-07, INV-08, INV-20: whatever is asked, answered, paid, read and withdrawn, and whichever of consent and gateway is killed when, both say what must be, and no data leave unpaid or unallowed",
            .timeLimit(.minutes(20)), arguments: 1...UInt64(FaultSizes.histories))
        func anyMoment(seed: UInt64) async throws {
            try await HistoryRun.with(seed: seed) { run in
                var recoveries = RecoveryTimes()
                var steps = 0
                while recoveries.all.count < FaultSizes.kills {
                    let step = run.draw()
                    steps += 1
                    guard run.dice.next() % 20 == 0 else {
                        try await run.perform(step)
                        continue
                    }
                    // Time passes for a request while consent is down already.
                    let isConsentUp = if case .expire = step { false } else { true }
                    let victim = isConsentUp && run.dice.next() % 2 == 0 ? run.consent : run.gateway
                    let delay = Duration.microseconds(run.dice.next() % 15_000)
                    let begun = ContinuousClock.now
                    async let killed: Void = {
                        // At another place of the step each time.
                        try await Task.sleep(for: delay)
                        try await victim.kill()
                    }()
                    try await run.perform(step)
                    try await killed
                    try await victim.untilReady()
                    recoveries.add(ContinuousClock.now - begun)
                    try await run.check()
                    #expect(
                        run.violations.isEmpty,
                        "seed \(seed), kill \(recoveries.all.count) of \(victim.name) in \(step): \(run.violations.prefix(5))")
                    guard run.violations.isEmpty else { return }
                }
                try await run.check()
                #expect(run.violations.isEmpty, "seed \(seed), at the end: \(run.violations.prefix(5))")
                let states = Dictionary(grouping: run.model.requests.values, by: \.status).mapValues(\.count)
                print(
                    "figure: history of consent and gateway, seed \(seed), \(steps) steps, \(run.model.requests.count) requests "
                        + "(\(states.map { "\($0.value) \($0.key.rawValue)" }.sorted().joined(separator: ", "))), "
                        + "\(run.deliveries) deliveries, \(run.files.count) files, step and \(recoveries.line)")
            }
        }

        @Test(
            "planted: a gateway that delivers before it is paid, and a consent that forgets a refusal, are caught", .timeLimit(.minutes(5)))
        func planted() async throws {
            try await HistoryRun.with(seed: 1) { run in
                func request(_ person: Int, days: Range<Int>) -> HistoryModel.Request {
                    HistoryModel.Request(company: 0, person: person, types: [.heartRate], days: days)
                }
                try await run.perform(.open(request(0, days: -3 ..< -1)))
                try await run.perform(.open(request(1, days: -3 ..< -1)))
                let ids = run.model.requests.keys.sorted { one, _ in run.model.requests[one]?.person == 0 }
                try await run.perform(.answer(ids[0], accept: true))
                try await run.perform(.answer(ids[1], accept: false))
                try await run.check()
                #expect(run.violations.isEmpty, "\(run.violations)")
                try await run.gateway.stop()
                try run.suite.spoil(.thirdPartyGateway, "UPDATE payments SET status = 'paid' WHERE status = 'due'")
                run.gateway.start()
                try await run.gateway.untilReady()
                let (company, unpaid) = (run.companies[0], ids[0])
                try await eventually("data leave unpaid") {
                    await company.call("GET", "/requests/\(unpaid)/data?type=heart-rate")?.status == 200
                }
                try await run.probe(ids[0], .heartRate)
                #expect(run.violations.contains { $0.hasPrefix("INV-04, INV-20") }, "the checker did not bite")
                run.consent.abandon()
                try await run.consent.kill()
                try run.suite.spoil(
                    .consent, "UPDATE sharing_requests SET status = 'PENDING', answered_at = NULL WHERE status = 'DECLINED'")
                run.consent.start()
                try await run.consent.untilReady()
                try await run.checkConsent()
                #expect(run.violations.contains { $0.hasPrefix("INV-03, INV-08") }, "the checker did not bite")
            }
        }
    }
}
