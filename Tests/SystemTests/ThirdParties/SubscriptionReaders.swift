// The two ways in which a program fetches a subscription by itself: pages after a number, and events after the last id.

import Contracts
import Foundation
import Synchronization
import TestKit

/// One item as it came, by whichever way.
struct DeliveredItem: Decodable, Hashable, Sendable {
    var number: Int64
    var type: String?
    var at: String?
    var value: Double?
    var replaces: Int64?
    var withdrawn: Bool?
}

/// What a program has of one subscription, and when it got it. Its memory stands for its store.
final class TakenItems: Sendable {
    private struct State {
        var items: [(item: DeliveredItem, at: ContinuousClock.Instant)] = []
        var head: Int64 = 0
        var isOver = false
        var isStopped = false
    }

    private let state = Mutex(State())

    /// What stands in the store after number `last`, at which the program went on.
    func take(_ items: [DeliveredItem], head: Int64? = nil) {
        let now = ContinuousClock.now
        state.withLock { state in
            guard !state.isStopped else { return }
            state.items += items.map { ($0, now) }
            state.head = max(state.head, head ?? 0)
        }
    }

    func end() { state.withLock { $0.isOver = true } }
    func stop() { state.withLock { $0.isStopped = true } }

    var all: [DeliveredItem] { state.withLock { $0.items.map(\.item) } }
    var count: Int { state.withLock { $0.items.count } }
    var last: Int64 { state.withLock { $0.items.last?.item.number ?? 0 } }
    var head: Int64 { state.withLock { $0.head } }
    var isStopped: Bool { state.withLock { $0.isStopped } }
    /// It was told that nothing more comes.
    var isOver: Bool { state.withLock { $0.isOver } }

    func count(after moment: ContinuousClock.Instant) -> Int { state.withLock { $0.items.count { $0.at > moment } } }
    /// How long after `moment` the last item came; nil where none did.
    func latest(after moment: ContinuousClock.Instant) -> Duration? {
        state.withLock { $0.items.last.flatMap { $0.at > moment ? $0.at - moment : nil } }
    }
}

/// `GET …/items?after=N`, for good.
struct PageReader: Sendable {
    let taken = TakenItems()
    let program: GatewayProgram
    let subscription: RequestID

    private static let pause = Duration.milliseconds(100)

    private struct Page: Decodable {
        var items: [DeliveredItem]
        var head: Int64
    }

    func run() async {
        while !taken.isStopped {
            let answer = await program.call("GET", "/subscriptions/\(subscription)/items?after=\(taken.last)&limit=500")
            if answer?.status == 410 { taken.end() }
            if answer?.status == 200, let page = try? answer?.decoded(as: Page.self) {
                taken.take(page.items, head: page.head)
                if !page.items.isEmpty { continue }
            }
            // A program that polls leaves some time in between.
            try? await Task.sleep(for: Self.pause)
        }
    }
}

/// `GET …/events` with `Last-Event-ID`, connected again whenever it breaks.
struct EventsReader: Sendable {
    let taken = TakenItems()
    let program: GatewayProgram
    let port: Int
    let subscription: RequestID

    private static let pause = Duration.milliseconds(50)

    func run() async {
        while !taken.isStopped, !taken.isOver {
            await listen()
            // A program connects again in a moment.
            try? await Task.sleep(for: Self.pause)
        }
    }

    private func listen() async {
        guard let connection = try? RawConnection(port: port) else { return }
        let path = "/thirdparty/v1/subscriptions/\(subscription)/events"
        await connection.send(
            "GET \(path) HTTP/1.1\r\nHost: test\r\nAuthorization: Bearer \(program.token)\r\nLast-Event-ID: \(taken.last)\r\n\r\n")
        var parser = EventStreamParser()
        while !taken.isStopped {
            let bytes = await connection.receive()
            guard !bytes.isEmpty else { return }
            for event in parser.take(bytes) {
                switch event.name {
                case "item":
                    guard let item = try? JSONDecoder().decode(DeliveredItem.self, from: Data(event.data.utf8)) else { continue }
                    taken.take([item])
                case "over": taken.end()
                default: continue
                }
            }
            if parser.status == 410 { taken.end() }
            guard parser.status == 200 || parser.status == nil else { return }
        }
    }
}

/// An answer in chunks that never ends, cut into events.
struct EventStreamParser {
    struct Event: Hashable {
        var name: String
        var data: String
    }

    private(set) var status: Int?
    private var raw: [UInt8] = []
    private var text: [UInt8] = []

    private static let lineEnd = Array("\r\n".utf8)
    private static let blockEnd = Array("\n\n".utf8)

    /// - Returns: the events that are whole with these bytes.
    mutating func take(_ bytes: [UInt8]) -> [Event] {
        raw += bytes
        if status == nil {
            guard let end = raw.firstRange(of: Self.lineEnd + Self.lineEnd) else { return [] }
            status =
                String(decoding: raw[..<end.lowerBound], as: UTF8.self).split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
            raw.removeSubrange(..<end.upperBound)
        }
        while let end = raw.firstRange(of: Self.lineEnd),
            let size = Int(String(decoding: raw[..<end.lowerBound], as: UTF8.self), radix: 16),
            raw.count >= end.upperBound + size + Self.lineEnd.count
        {
            text += raw[end.upperBound..<end.upperBound + size]
            raw.removeSubrange(..<(end.upperBound + size + Self.lineEnd.count))
            if size == 0 { break }
        }
        var events: [Event] = []
        while let end = text.firstRange(of: Self.blockEnd) {
            let lines = String(decoding: text[..<end.lowerBound], as: UTF8.self).components(separatedBy: "\n")
            text.removeSubrange(..<end.upperBound)
            func field(_ name: String) -> String? {
                lines.first { $0.hasPrefix(name + ": ") }.map { String($0.dropFirst(name.count + 2)) }
            }
            if let name = field("event"), let data = field("data") { events.append(Event(name: name, data: data)) }
        }
        return events
    }
}
