// What a receiver that was gone for a while must not lose, and which receivers may be spoken to in clear.

import Contracts
import Foundation
import HTTPKit
import Outbound
import ServiceKit
import Storage
import TestKit
import Testing

@testable import ThirdPartyGateway

@Suite("Webhooks: gone and back")
struct GoneEndpointTests {
    @Test("SHR-14: what was answered 410 waits, is no dead letter, and comes first under the same id once the endpoint is verified again")
    func goesOnWhereItStopped() async throws {
        try await FeedHarness.runWithFeed { harness, feed in
            let sister = try await harness.subscribe(feed.organisation)
            let endpoint = try await harness.addEndpoint(feed.organisation)
            let receiver = PlayedReceiver()
            let worker = harness.worker(endpoint, transport: receiver.transport)
            func add() async throws {
                try await harness.upload(feed, [(harness.world.clock.now.milliseconds, 60)])
                harness.world.clock.advance(.seconds(1))
                try await harness.readAll()
            }
            try await add()
            receiver.play([], usual: .refuse(410))
            try await harness.drain(worker)
            try await add()
            try await harness.end(sister, .ended)
            #expect(try await worker.turn(.items) == .stopped)
            let counts = try await harness.store.read { db in try harness.queue.counts(db, of: endpoint.id) }
            #expect(counts.waiting == 2 && counts.dead == 0, "the items, and the end of the sister")
            receiver.play([])
            try await harness.store.write { db in
                guard var gone = try harness.endpoints.find(db, endpoint.id) else { return }
                #expect(gone.state == .gone)
                gone.state = .active
                try harness.queue.wake(db, gone.id, at: harness.world.clock.now)
                try harness.endpoints.save(db, gone)
            }
            try await harness.drain(worker)
            try await harness.drain(worker, .notices)
            #expect(receiver.numbers(feed.request) == [1, 2])
            #expect(receiver.taken.first?.id == receiver.attempts.first?.id, "the same message")
            #expect(
                receiver.taken.last?.message.type == "subscription.ended"
                    && receiver.taken.last?.message.data.subscription == sister.request)
        }
    }

    @Test(
        "NFR-12: where private addresses are allowed, http leads to them alone; a public host is refused without TLS",
        arguments: [
            ("http://example.org/x", false), ("http://8.8.8.8/x", false), ("HTTP://example.org:8080/", false),
            ("http://[2606:4700::1111]/", false),
            ("http://134744072/", false), ("https://example.org/x", true), ("http://127.0.0.1:9000/", true), ("http://[::1]:9000/", true),
            ("http://192.168.1.7/hook", true), ("http://localhost:9000/", true), ("http://receiver:9000/", true),
            ("http://hooks.internal/", true), ("https://10.0.0.1/", true),
        ])
    func plainHosts(url: String, isTaken: Bool) {
        let harness = EndpointGuard(allowsPrivate: true)
        guard !isTaken else {
            #expect(throws: Never.self) { _ = try harness.check(url) }
            return
        }
        do {
            _ = try harness.check(url)
            Issue.record("it was taken: \(url)")
        } catch {
            #expect(error.status == 422 && error.errors?.first?.pointer == "/url" && error.detail?.contains("https://") == true)
        }
    }

    @Test("NFR-12: at the connection too, what is spoken without TLS goes to private addresses alone, whatever a name leads to")
    func plainConnections() {
        for address in [NetworkAddress.v4(0x7F00_0001), .v4(0x0A00_0001), .v4(0xC0A8_0101), .v6(1)] {
            #expect(AddressPolicy.privateOnly.permits(address) && !AddressPolicy.publicOnly.permits(address))
        }
        #expect(!AddressPolicy.privateOnly.permits(.v4(0x0808_0808)))
        #expect(!AddressPolicy.privateOnly.permits(.v6(0x2606_4700 << 96 | 1)))
    }
}
