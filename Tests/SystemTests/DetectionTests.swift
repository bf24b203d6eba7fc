// How soon a critical entry is noticed and called for, measured from outside, while others go on uploading.

import Contracts
import Foundation
import ServiceKit
import TestKit
import Testing

@testable import Operator

extension SystemTests {
    @Suite("Detection and call")
    struct DetectionTests {
        private static let hearts = 20
        /// Holds for what is measured here, which has more in it: the way to ingest, its disk, and the question of whether it is seen.
        private static let detection = Duration.milliseconds(100)
        private static let call = Duration.seconds(5)
        private static let prompt = Duration.milliseconds(3500)

        @Test(
            "SOS-10, SOS-15, NFR-09: a critical entry is an emergency less than 0.1 s after its device sends it, and an acknowledged call in less than 5 s",
            .timeLimit(.minutes(5)))
        func seen() async throws {
            try await RealSuite.with { suite in
                let load = try LoadGenerator(try await suite.addPeople(10), to: suite)
                let hearts = try await suite.addPeople(Self.hearts)
                let transport = UploadTransport.http(server: suite.server, authorities: nil)
                load.start()
                try await load.untilAcknowledged(40)
                let pace = MachinePace()
                defer { pace.end() }
                let took = try await SuiteConnection.with(suite.layout) { connection in
                    var took: [Duration] = []
                    for heart in hearts {
                        let body = UploadBody.batch([try UploadBody.entry(Sample(type: .heartRate, at: .now, value: 150))])
                        let begun = ContinuousClock.now
                        let answer = await transport.send(body, heart.token, "\(heart.person)")
                        #expect(answer.outcome.status == 200)
                        try await eventually("the emergency is open") {
                            try await connection.ask(ListEmergencies(person: heart.person, limit: 1)).emergencies.isEmpty == false
                        }
                        took.append(ContinuousClock.now - begun)
                    }
                    return took.sorted()
                }
                let calls = try await eventually("all are acknowledged", within: .seconds(40)) {
                    let all = try await suite.ask(ListEmergencies(person: nil, limit: 100)).emergencies
                    let calls = all.compactMap { one in one.acknowledgedAt.map { $0 - one.t0 } }
                    return calls.count == hearts.count ? calls.sorted() : nil
                }
                try await load.stop()
                let (half, most, last) = (took[took.count / 2], took[took.count - 1], calls[calls.count - 1])
                print(
                    "figure: SOS-10: sent to emergency: median \(half.wholeMilliseconds), max \(most.wholeMilliseconds) ms; t0 to acknowledged: "
                        + "max \(last.wholeMilliseconds) ms of \(calls.count); machine \((pace.slowness * 10).rounded() / 10) times as slow"
                )
                // The longest of twenty, all of it work and none of it slack: on two busy cores it stretches as the machine does.
                #expect(most < pace.allowed(Self.detection), "\(took)")
                #expect(last < pace.allowed(Self.call, waiting: Self.prompt, most: MachinePace.mostSlownessOfCall), "\(calls)")
            }
        }
    }
}
