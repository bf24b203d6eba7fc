// Random histories of failures and crashes: every receiver ends up with every item, once in effect and in order.

import Contracts
import Foundation
import Storage
import TestKit
import Testing

@testable import ThirdPartyGateway

@Suite("Webhooks: properties")
struct CourierPropertyTests {
    @Test(
        "SHR-14: each receiver gets every item once in effect, in order, whatever fails and whenever the gateway is killed",
        arguments: UInt64(1)...10)
    func histories(_ seed: UInt64) async throws {
        try await withTemporaryFolder { folder in
            var dice = SeededGenerator(seed: seed)
            let world = FeedHarness.World()
            let receivers = [PlayedReceiver(), PlayedReceiver()]
            var (feeds, endpoints): ([Feed], [Endpoint]) = ([], [])
            var revoked: (feed: Feed, attempts: Int)?
            for life in 0..<5 {
                try await FeedHarness.run(in: folder, world) { harness in
                    if life == 0 {
                        let organisation = OrganisationID.random()
                        for _ in 0..<3 { feeds.append(try await harness.subscribe(organisation)) }
                        for _ in receivers { endpoints.append(try await harness.addEndpoint(organisation)) }
                    }
                    // A new life knows nothing of attempts that were under way; some end without an answer.
                    let workers = zip(endpoints, receivers).map { harness.worker($0, transport: $1.transport) }
                    for _ in 0..<30 {
                        let feed = feeds[Int.random(in: 0..<feeds.count, using: &dice)]
                        let now = world.clock.now.milliseconds
                        try await harness.upload(
                            feed, (0..<Int64.random(in: 1...5, using: &dice)).map { (now + $0 * 1000, Double($0 + 50)) })
                        world.clock.advance(.milliseconds(Int64.random(in: 1...20_000, using: &dice)))
                        _ = try await harness.reading.turn()
                        for (worker, receiver) in zip(workers, receivers) {
                            let moods: [PlayedReceiver.Mood] = [.take, .take, .takeAndLoseAnswer, .refuse(500), .silent]
                            receiver.play([moods[Int.random(in: 0..<moods.count, using: &dice)]])
                            for _ in 0..<Int.random(in: 0...3, using: &dice) { _ = try await worker.turn(.items) }
                        }
                    }
                    if life == 2, seed % 2 == 0, revoked == nil {
                        try await harness.end(feeds[2], .revoked)
                        revoked = (feeds[2], receivers[0].numbers(feeds[2].request).count)
                    }
                }
            }
            try await FeedHarness.run(in: folder, world) { harness in
                world.clock.advance(.seconds(1000))
                try await harness.readAll()
                for (endpoint, receiver) in zip(endpoints, receivers) {
                    receiver.play([])
                    let worker = harness.worker(endpoint, transport: receiver.transport)
                    try await harness.drain(worker)
                    for feed in feeds where feed.request != revoked?.feed.request {
                        let head = try await harness.feed(feed.request).head
                        #expect(receiver.numbers(feed.request) == (head == 0 ? [] : Array(1...head)), "seed \(seed)")
                    }
                }
                if let revoked {
                    #expect(receivers[0].numbers(revoked.feed.request).count == revoked.attempts, "nothing left after the withdrawal")
                }
            }
        }
    }
}
