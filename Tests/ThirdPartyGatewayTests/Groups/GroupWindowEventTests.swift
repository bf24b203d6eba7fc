// The event stream of a subscription to a group: windows as they are told, from a number on, to whom they belong.

import Contracts
import Foundation
import TestKit
import Testing

@testable import ThirdPartyGateway

@Suite("Windows of subscriptions to groups as events", .timeLimit(.minutes(3)))
struct GroupWindowEventTests {
    private static let form = GroupHarness.form(to: "2026-12-01T00:00:00Z")

    private static func path(_ id: GroupRequestID) -> String { "/group-requests/\(id)/windows/events" }

    private static func listen(_ harness: GroupHarness, _ id: GroupRequestID, headers: [String: String] = [:]) throws -> EventListener {
        EventListener(
            try HarnessClient(port: harness.port).request(
                "GET", "/thirdparty/v1" + path(id), token: "\(harness.organisation)", headers: headers))
    }

    private static func windows(_ listener: EventListener) -> [EventListener.Event] {
        listener.events.filter { $0.name == "window" }
    }

    private static func heartbeat(_ listener: EventListener) throws -> GroupHeartbeat? {
        try listener.events.last { $0.name == "heartbeat" }.map { event in
            try JSONDecoder().decode(GroupHeartbeat.self, from: Data(event.data.utf8))
        }
    }

    @Test("Windows of a subscription to a group could be followed by asking again alone: each comes as an event, the withheld ones too")
    func told() async throws {
        try await GroupHarness.run { harness in
            harness.world.subscribe()
            let id = try await harness.accepted(Self.form)
            try await harness.closes(id, 1, .released)
            let listener = try Self.listen(harness, id)
            defer { listener.stop() }
            try await eventually("what was told before is heard") { Self.windows(listener).count == 1 }
            for (sequence, status) in [(2, GroupWindowStatus.withheld), (2, .withheld), (3, .released)] {
                try await harness.closes(id, sequence, status)
            }
            try await eventually("the others are heard") { Self.windows(listener).count == 3 }
            #expect(Self.windows(listener).map(\.id) == ["1", "2", "3"])
            let heard = listener.events(as: GroupWindowItem.self)
            #expect(heard.map(\.window) == [1, 2, 3] && heard.map(\.status) == [.released, .withheld, .released])
            let listed = try await harness.call("GET", "/group-requests/\(id)/windows").items
            #expect(heard.map(\.to) == listed.map { $0["to"] as? String ?? "" })
            #expect(!listener.isOver)
        }
    }

    @Test("A window wakes who listens to its subscription, and nobody else")
    func woken() async throws {
        try await GroupHarness.run { harness in
            harness.world.subscribe()
            let id = try await harness.accepted(Self.form)
            let hub = harness.stores.hub
            let listener = try #require(hub.watch(group: id, of: harness.organisation))
            let other = try #require(hub.watch(group: .random(), of: harness.organisation))
            try await harness.closes(id, 1, .withheld)
            #expect(await listener.wait(atMost: .seconds(20)))
            #expect(await !other.wait(atMost: .milliseconds(1)))
        }
    }

    @Test("A break of the stream is mended by the last number, and whoever comes after the end hears of it")
    func mended() async throws {
        try await GroupHarness.run { harness in
            harness.world.subscribe()
            let id = try await harness.accepted(Self.form)
            let first = try Self.listen(harness, id)
            defer { first.stop() }
            try await eventually("nothing is new") { try Self.heartbeat(first)?.head == 0 }
            #expect(try Self.heartbeat(first)?.state == .running)
            for sequence in 1...3 { try await harness.closes(id, sequence, .released) }
            let second = try Self.listen(harness, id, headers: ["Last-Event-ID": "2"])
            defer { second.stop() }
            try await eventually("the rest is heard") { !Self.windows(second).isEmpty }
            #expect(Self.windows(second).map(\.id) == ["3"])
            _ = try await harness.call("POST", "/group-requests/\(id)/end").expect(status: 200)
            let third = try Self.listen(harness, id, headers: ["Last-Event-ID": "3"])
            defer { third.stop() }
            try await eventually("the end is heard") { try Self.heartbeat(third)?.state == .ended }
            #expect(try Self.heartbeat(third)?.head == 3 && Self.windows(third).isEmpty)
            // What waited to be joined is withheld after the end.
            try await harness.closes(id, 4, .withheld)
            try await eventually("so is the last window") { Self.windows(third).map(\.id) == ["4"] }
        }
    }

    @Test("Whoever went on after a number that was never given waited for ever: it is refused in list and stream, with the last number")
    func ahead() async throws {
        try await GroupHarness.run { harness in
            harness.world.subscribe()
            let id = try await harness.accepted(Self.form)
            try await harness.closes(id, 1, .released)
            try await harness.closes(id, 2, .released)
            let listed = try await harness.call("GET", "/group-requests/\(id)/windows?after=3")
            #expect(listed.status == 400 && listed.problem == "cursor-ahead" && listed.text.contains("is 2"), "\(listed.text)")
            #expect(try await harness.call("GET", "/group-requests/\(id)/windows?after=2").items.isEmpty)
            let heard = try await harness.call("GET", Self.path(id), headers: ["Last-Event-ID": "41"])
            #expect(heard.status == 400 && heard.problem == "cursor-ahead", "\(heard.text)")
            let listener = try Self.listen(harness, id, headers: ["Last-Event-ID": "2"])
            defer { listener.stop() }
            try await eventually("at the head nothing is new") { try Self.heartbeat(listener)?.head == 2 }
        }
    }

    @Test("There are events of one's own subscriptions alone, for so many listeners and no more")
    func refused() async throws {
        try await GroupHarness.run { harness in
            harness.world.subscribe()
            let id = try await harness.accepted(Self.form)
            let strange = try await harness.call("GET", Self.path(id), headers: ["Last-Event-ID": "x"])
            #expect(strange.status == 400 && strange.problem == "invalid-parameter")
            #expect(try await harness.call("GET", Self.path(id), as: .random()).status == 404)
            #expect(try await harness.call("GET", Self.path(.random())).status == 404)

            var listeners: [EventListener] = []
            defer { for listener in listeners { listener.stop() } }
            for _ in 0..<FeedHub.mostOfSubscription {
                let listener = try Self.listen(harness, id)
                listeners.append(listener)
                try await eventually("it listens") { try Self.heartbeat(listener) != nil }
            }
            let further = try await harness.call("GET", Self.path(id))
            #expect(further.status == 429 && further.problem == "too-many-streams", "\(further.text)")

            harness.world.release([.at(hour: 8)])
            let history = try await harness.accepted()
            let none = try await harness.call("GET", Self.path(history))
            #expect(none.status == 404 && none.text.contains("no subscription to a group"), "\(none.text)")
            harness.world.loseAnswers(true)
            _ = try await harness.call("POST", "/group-requests", Self.form).expect(status: 503)
            let sending = try #require(try await harness.call("GET", "/group-requests").items.first?["id"] as? String)
            #expect(try await harness.call("GET", "/group-requests/\(sending)/windows/events").problem == "group-answer-awaited")
        }
    }
}
