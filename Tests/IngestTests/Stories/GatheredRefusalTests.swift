// Many uploads share a commit: what one of them is refused for is its own affair.

import Contracts
import Foundation
import HTTPKit
import ServiceKit
import Storage
import Synchronization
import TestKit
import Testing

@testable import Ingest

@Suite struct GatheredRefusalTests {
    private static let uploads = 64

    @Test(
        "S6: a conflict among manual entries undid the uploads of all strangers in its commit, to do them again: each is done once, whatever is refused beside it",
        arguments: 1...6 as ClosedRange<UInt64>)
    func once(seed: UInt64) async throws {
        var generator = SeededGenerator(seed: seed)
        let contradicting = Set((0..<Self.uploads).filter { _ in Int.random(in: 0..<4, using: &generator) == 0 })
        try await IngestHarness.run(environment: ["TRACKME_STORE_GROUP_COMMIT_MS": "20"]) { harness in
            let (manual, people) = (harness.ingest.ownData.manual, harness.ingest.deviceModule.people)
            let account = try await harness.account()
            let now = Timestamp.now
            _ = try await manual.insert(Self.typed(70, now), of: account.person, receivedAt: now, trace: "", idempotencyKey: nil)
            let stranger = try await harness.addDevice()
            let source = try await people.ownSource(of: stranger.person, .imported)
            let runs = Runs()
            let before = harness.ingest.store.commits
            let refused = try await withThrowingTaskGroup(of: Bool.self) { group in
                for place in 0..<Self.uploads {
                    group.addTask {
                        guard !contradicting.contains(place) else {
                            do {
                                _ = try await manual.insert(
                                    Self.typed(71, now), of: account.person, receivedAt: now, trace: "", idempotencyKey: nil)
                                return false
                            } catch let problem as Problem {
                                return problem.type.hasSuffix("conflicting-value")
                            }
                        }
                        var scanned = ScannedUpload()
                        scanned.samples = [.pulse(now.milliseconds - 100_000 + Int64(place), 60)]
                        (scanned.indexes, scanned.count) = ([0], 1)
                        _ = try await manual.uploads.take(
                            ReceivedUpload(scanned: scanned), UploadOrigin(device: source, receivedAt: now, trace: "", idempotencyKey: nil),
                            alongside: UploadEffect(run: { _, _, _ in runs.count(place) }))
                        return false
                    }
                }
                return try await group.reduce(0) { $0 + ($1 ? 1 : 0) }
            }
            #expect(refused == contradicting.count)
            #expect(runs.all == Dictionary(uniqueKeysWithValues: (0..<Self.uploads).filter { !contradicting.contains($0) }.map { ($0, 1) }))
            #expect(harness.ingest.store.commits - before < Self.uploads, "some shared a commit")
        }
    }

    /// As a person's app says it: one value, a second ago.
    private static func typed(_ value: Int, _ now: Timestamp) -> [UInt8] {
        Array(#"{"type":"heart-rate","at":\#(now.milliseconds - 1000),"value":\#(value)}"#.utf8)
    }

    /// How often each upload was performed.
    private final class Runs: Sendable {
        private let counted = Mutex<[Int: Int]>([:])

        var all: [Int: Int] { counted.withLock { $0 } }

        func count(_ place: Int) { counted.withLock { $0[place, default: 0] += 1 } }
    }
}
