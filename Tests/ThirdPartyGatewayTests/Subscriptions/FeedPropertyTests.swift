// Random histories of uploads, failures, crashes and withdrawals: what a subscriber ends up with is what there is, and numbers prove it.

import Contracts
import Foundation
import Storage
import TestKit
import Testing

@testable import ThirdPartyGateway

@Suite("Subscriptions: properties")
struct FeedPropertyTests {
    /// What somebody knows who takes items in order: the newest word for each step.
    private struct Reader {
        var last: Int64 = 0
        var steps: [String: String] = [:]

        /// - Returns: false where a number is missing, repeated or replaces nothing.
        mutating func take(_ items: [FeedItem]) -> Bool {
            for item in items {
                guard item.number == last + 1 else { return false }
                last = item.number
                guard let members = item.members else { continue }
                let step = String(members.prefix { $0 != "Z" })
                guard item.replaces == nil || steps[step] != nil, steps[step] != members else { return false }
                steps[step] = members
            }
            return true
        }
    }

    @Test(
        "SHR-14, INV-03: over random histories with crashes each step ends up right, no number is missing, nothing comes twice unchanged",
        arguments: UInt64(1)...12)
    func histories(_ seed: UInt64) async throws {
        try await withTemporaryFolder { folder in
            var dice = SeededGenerator(seed: seed)
            let world = FeedHarness.World()
            let granularity: GrantGranularity = seed % 3 == 0 ? .minutes : .seconds
            let width = FeedSteps(granularity).width
            var feeds: [Feed] = []
            var readers: [RequestID: Reader] = [:]
            let start = world.clock.now.milliseconds
            for life in 0..<4 {
                try await FeedHarness.run(in: folder, world) { harness in
                    if life == 0 {
                        for _ in 0..<3 {
                            feeds.append(try await harness.subscribe(types: [.heartRate, .bodyTemperature], granularity))
                        }
                    }
                    for _ in 0..<25 {
                        let feed = feeds[Int.random(in: 0..<feeds.count, using: &dice)]
                        switch Int.random(in: 0..<10, using: &dice) {
                        case 0...4:
                            let metric: Metric = Bool.random(using: &dice) ? .heartRate : .bodyTemperature
                            let from = world.clock.now.milliseconds - Int64.random(in: 0...(5 * width), using: &dice)
                            let entries = (0..<Int.random(in: 1...6, using: &dice)).map { _ in
                                (
                                    max(start, from + Int64.random(in: 0..<(3 * width), using: &dice)),
                                    Double(Int.random(in: 40...180, using: &dice))
                                )
                            }
                            try await harness.upload(feed, metric, entries)
                        case 5: world.ingest.set(silent: Bool.random(using: &dice), most: Int.random(in: 1...5, using: &dice))
                        case 6: world.ingest.set(denial: Bool.random(using: &dice) ? Failure(.forbidden, "not now") : nil)
                        default: world.clock.advance(.milliseconds(Int64.random(in: 1...(3 * width), using: &dice)))
                        }
                        _ = try? await harness.reading.turn()
                        if Bool.random(using: &dice) {
                            var reader = readers[feed.request] ?? Reader()
                            #expect(reader.take(try await harness.items(feed, after: reader.last, limit: 5)))
                            readers[feed.request] = reader
                        }
                    }
                }
            }
            world.ingest.set()
            world.clock.advance(.milliseconds(20 * width))
            try await FeedHarness.run(in: folder, world) { harness in
                try await harness.readAll()
                for feed in feeds {
                    var reader = readers[feed.request] ?? Reader()
                    #expect(reader.take(try await harness.items(feed, after: reader.last)))
                    #expect(reader.last == (try await harness.feed(feed.request).head))
                    let truth = feed.types.flatMap { metric in
                        world.ingest.truth(feed.grant, metric, granularity, in: feed.window, now: world.clock.now).map { at, value in
                            FeedItem.members(of: Sample(type: metric, at: Timestamp(milliseconds: at), value: value))
                        }
                    }
                    #expect(Set(reader.steps.values) == Set(truth), "seed \(seed)")
                }
            }
        }
    }
}
