// A wrong clock of the machine, through the whole service: uploads are taken as ever, and the operator is told.

import Contracts
import ServiceKit
import Synchronization
import TestKit
import Testing

@testable import Ingest

/// The steady time, which the story sets.
private final class SteadyTime: Sendable {
    private let time = Mutex(Duration.zero)

    var now: Duration { time.withLock { $0 } }

    func advance(_ duration: Duration) {
        time.withLock { $0 += duration }
    }
}

@Suite struct ClockWatchStoryTests {
    @Test(
        "SOS-09: the machine's clock was 150 s wrong, uploads were 200 and `/health/ready` had no remark: it names the clock",
        arguments: [150, -150] as [Int64], [false, true])
    func wrongClock(_ seconds: Int64, isTold: Bool) async throws {
        let steady = SteadyTime()
        try await withTemporaryFolder { folder in
            try await IngestHarness.run(in: folder, clockWatch: ClockWatch(steady: { steady.now })) { harness in
                var added: [String] = []
                for _ in 0..<3 { added.append(try await harness.addDevice().token) }
                let tokens = added
                func upload(off offset: Int64) async throws {
                    for token in tokens {
                        let now = Timestamp.now.milliseconds - offset * 1000
                        // An hour of backlog: what is told is what the clock says.
                        let measured = Sample.pulse(now - (isTold ? 3_600_000 : 0), 72)
                        let told = isTold ? "\"sentAt\":\(now)," : ""
                        _ = try await harness.post("{\(told)\"entries\":\([measured].upload)}", token: token)
                    }
                    steady.advance(.seconds(11))
                }
                func ready() async throws -> HarnessAnswer {
                    try await eventually("it is ready") {
                        let answer = try await harness.request("GET", "/health/ready", token: nil)
                        return answer.status == 200 ? answer : nil
                    }
                }
                try await upload(off: seconds)
                #expect(try await !ready().text.contains("clock"))
                for _ in 0..<3 { try await upload(off: seconds) }
                let text = try await ready().text
                #expect(text.contains(seconds > 0 ? " s ahead" : " s behind") && text.contains("3 of 3 people"))
                try await upload(off: 0)
                #expect(try await !ready().text.contains("clock"))
            }
        }
    }
}
