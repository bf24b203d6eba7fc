// Two or more peers on real sockets with CURVE, and a log in memory that answers replays.

@testable import Contracts
import Foundation
import Logging
import Synchronization
import TestKit

@testable import Bus

enum Transport: String, CaseIterable, Sendable {
    case ipc, tcp
}

let quiet: Logger = {
    var logger = Logger(label: "test")
    logger.logLevel = .critical
    return logger
}()

/// The stage of one test: endpoints, keys and peers of its own.
final class Stage: Sendable {
    static let family = StreamFamily(
        name: "t.news", owner: .ingest, streams: ["t.news.0", "t.news.1", "t.news.2"], keepsState: false, heartbeat: .milliseconds(50),
        consumers: [], tcpPort: 0)
    static let state = StreamFamily(
        name: "t.state", owner: .ingest, streams: ["t.state"], keepsState: true, heartbeat: .milliseconds(50), consumers: [], tcpPort: 0)

    let transport: Transport
    let folder: URL
    let server: CurveKeyPair
    let reader: CurveKeyPair
    let requests: String
    let news: String

    private init(_ transport: Transport, _ folder: URL) throws {
        (self.transport, self.folder) = (transport, folder)
        server = try .generate()
        reader = try .generate()
        switch transport {
        case .ipc: (requests, news) = ("ipc://\(folder.path)/requests.ipc", "ipc://\(folder.path)/news.ipc")
        case .tcp: (requests, news) = ("tcp://127.0.0.1:\(try freePort())", "tcp://127.0.0.1:\(try freePort())")
        }
    }

    static func with<Value>(_ transport: Transport, _ body: (Stage) async throws -> Value) async throws -> Value {
        try await withTemporaryFolder { try await body(try Stage(transport, $0)) }
    }

    /// The answering and publishing peer; the reader may hear both families and ask the methods named.
    func publishing(methods: Set<String> = []) throws -> BusNode {
        let allowed = AllowList([
            AllowedPeer(
                peer: Peer("reader"), publicKey: reader.publicKey, families: [Stage.family.name, Stage.state.name], methods: methods)
        ])
        return try BusNode(peer: .ingest, keys: server, allowed: allowed, logger: quiet)
    }

    func reading(keys: CurveKeyPair? = nil) throws -> BusNode {
        try BusNode(peer: Peer("reader"), keys: keys ?? reader, allowed: AllowList([]), logger: quiet)
    }
}

private func freePort() throws -> Int {
    let (descriptor, port) = try Loopback.bound()
    close(descriptor)
    return port
}

/// A publisher's store: every fact, in order.
final class Log: Sendable {
    private let facts: Mutex<[String: [ReplayStream.Fact]]>
    private let forgottenBefore = Mutex<Int64>(1)
    let replays = Mutex(0)
    let confirmed = Mutex<[StreamPosition]>([])
    let epoch: String

    init(epoch: String = "e1", _ family: StreamFamily = Stage.family) {
        self.epoch = epoch
        facts = Mutex(Dictionary(uniqueKeysWithValues: family.streams.map { ($0, []) }))
    }

    var heads: [String: Int64] {
        facts.withLock { $0.mapValues { Int64($0.count) } }
    }

    /// Appends and gives what is to be published after the commit.
    func append(_ stream: String, count: Int = 1, bytes: Int = 20) -> [StreamEvent] {
        facts.withLock { facts in
            (0..<count).map { _ in
                let sequence = Int64(facts[stream, default: []].count + 1)
                let header = StreamHeader(
                    stream: stream, epoch: epoch, sequence: sequence, head: sequence, type: "t.v1", subject: "",
                    at: Timestamp(milliseconds: 1), trace: "")
                let payload = "{\"n\":\(sequence),\"s\":\"" + String(repeating: "x", count: bytes) + "\"}"
                facts[stream, default: []].append(ReplayStream.Fact(header: header, payload: payload))
                return StreamEvent(header: header, payload: Array(payload.utf8))
            }
        }
    }

    func forget(before sequence: Int64) {
        forgottenBefore.withLock { $0 = sequence }
    }

    func answer(_ methods: inout Methods) {
        methods.onReplay { request, _ in
            self.replays.withLock { $0 += 1 }
            let oldest = self.forgottenBefore.withLock { $0 }
            return self.facts.withLock { facts in
                let stream = facts[request.stream, default: []]
                var page: [ReplayStream.Fact] = []
                if request.epoch == self.epoch, request.from >= oldest {
                    page = Array(stream.dropFirst(Int(request.from) - 1).prefix(Int(min(1000, request.through - request.from + 1))))
                }
                return .init(epoch: self.epoch, head: Int64(stream.count), oldest: oldest, facts: page)
            }
        }
        methods.onSnapshot { request, _ in
            self.facts.withLock { facts in
                let stream = facts[request.stream, default: []]
                let from = request.after.flatMap(Int.init) ?? 0
                let page = Array(stream.dropFirst(from).prefix(2))
                let next = from + page.count < stream.count ? String(from + page.count) : nil
                return .init(epoch: self.epoch, sequence: Int64(stream.count), facts: page, next: next)
            }
        }
        methods.onConfirm { request, _ in self.confirmed.withLock { $0 = request.positions } }
    }
}

/// A consumer's store: effects and positions change together.
final class Notebook: Sendable {
    struct Mismatch: Error {}

    private struct Pages {
        var applied: [String: [Int64]] = [:]
        var positions: [String: StreamPosition] = [:]
        var coming: [[Int64]] = []
        var snapshots: [[Int64]] = []
        var pagesOfSnapshots: [Int] = []
        var delay: Duration = .zero
    }

    private let pages = Mutex(Pages())

    var positions: [StreamPosition] { pages.withLock { Array($0.positions.values) } }
    var snapshots: [[Int64]] { pages.withLock { $0.snapshots } }
    var pagesOfSnapshots: [Int] { pages.withLock { $0.pagesOfSnapshots } }
    var count: Int { pages.withLock { $0.applied.values.reduce(0) { $0 + $1.count } } }

    func applied(_ stream: String) -> [Int64] { pages.withLock { $0.applied[stream, default: []] } }

    func slowDown(_ delay: Duration) { pages.withLock { $0.delay = delay } }

    func apply(_ events: [StreamEvent], _ next: [StreamPosition]) async throws {
        let delay = pages.withLock { $0.delay }
        // The slowness is what is tested; nothing waits for it to be over.
        if delay > .zero { try await Task.sleep(for: delay) }
        pages.withLock { pages in
            for event in events { pages.applied[event.header.stream, default: []].append(event.header.sequence) }
            for position in next { pages.positions[position.stream] = position }
        }
    }

    /// A snapshot counts once its last page is there.
    func restart(_ page: SnapshotPage) {
        pages.withLock { pages in
            if page.isFirst { pages.coming = [] }
            pages.coming.append(page.facts.map(\.header.sequence))
            guard let next = page.next else { return }
            pages.pagesOfSnapshots.append(pages.coming.count)
            pages.snapshots.append(pages.coming.flatMap { $0 })
            pages.positions[next.stream] = next
        }
    }
}
