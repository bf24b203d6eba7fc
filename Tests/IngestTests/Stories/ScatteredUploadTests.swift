// Uploads whose entries lie scattered over months, as a stranger with one device sends them.

import Contracts
import Foundation
import ServiceKit
import TestKit
import Testing

@testable import Ingest

@Suite("Entries scattered over months", .serialized)
struct ScatteredUploadTests {
    @Test("X3: a few uploads of entries scattered over months held up everybody's for minutes; the twelfth costs as the first")
    func twelve() async throws {
        try await IngestHarness.runWithDevice { harness, device in
            let now = Timestamp.now.milliseconds - 60_000
            // No time comes twice: each upload takes every twelfth of the same grid.
            func upload(_ number: Int64) async throws -> Duration {
                let entries = (0..<Int64(2000)).map { Sample.pulse(now - ($0 * 12 + number) * 300_000, 60) }
                let begun = ContinuousClock.now
                _ = try await harness.post(entries, token: device.token)
                return ContinuousClock.now - begun
            }
            let first = try await upload(0)
            var last = Duration.zero
            for number in 1..<Int64(12) { last = try await upload(number) }
            #expect(last < first * 5, "\(first) for the first, \(last) for the twelfth")
        }
    }
}
