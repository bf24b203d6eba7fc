// How the streams are made whose promises `StreamPromiseTests` holds. A second implementation is one more value here.

@testable import Contracts
import TestKit
import Testing

@testable import Bus

/// One implementation of streams, over one kind of connection.
struct StreamUnderTest: Sendable, CustomTestStringConvertible {
    let testDescription: String
    /// Facts that wait for one consumer before it loses some and has to ask for them.
    let mostWaiting: Int
    /// Runs the body between a publisher and a consumer that can reach each other and nobody else.
    let between: @Sendable (_ body: (StreamPeers) async throws -> Void) async throws -> Void
}

extension StreamUnderTest {
    static func zeroMQ(over transport: Transport) -> StreamUnderTest {
        StreamUnderTest(testDescription: "ZeroMQ over \(transport)", mostWaiting: BusLimits.framesWaitingToBeRead) { body in
            try await Stage.with(transport) { try await body(.zeroMQ(on: $0)) }
        }
    }

    /// Each implementation once.
    static let each = [zeroMQ(over: .ipc)]
    /// Each implementation over every kind of connection that it has.
    static let everyConnection = Transport.allCases.map(zeroMQ)
}

/// Makes both sides of the streams under test; each publisher and consumer stands for a process of its own.
struct StreamPeers: Sendable {
    /// Publishes what `log` holds, from its heads on, and answers for it. One at a time.
    let publisher: @Sendable (_ log: Log, _ family: StreamFamily) async throws -> PublisherUnderTest
    let consumer: @Sendable (_ family: StreamFamily, _ freshness: StreamFreshness) async throws -> ConsumerUnderTest
}

/// What services do with a publisher.
struct PublisherUnderTest: Sendable {
    let publish: @Sendable (_ events: [StreamEvent]) -> Void
    let publishProvisionally: @Sendable (_ event: StreamEvent) -> Void
    let advance: @Sendable (_ stream: String, _ head: Int64) -> Void
    let hasListeners: @Sendable (_ stream: String) -> Bool
    let stop: @Sendable () async -> Void
}

/// What services do with a consumer.
struct ConsumerUnderTest: Sendable {
    typealias Apply = @Sendable (_ events: [StreamEvent], _ next: [StreamPosition]) async throws -> Void
    typealias Restart = @Sendable (_ page: SnapshotPage) async throws -> Void

    /// As `StreamConsumer.run`.
    let run:
        @Sendable (
            _ positions: [StreamPosition], _ apply: @escaping Apply, _ restart: @escaping Restart,
            _ provisional: (@Sendable (StreamEvent) async -> Void)?
        ) async throws -> Void
    /// What has come and was not read yet.
    let waiting: @Sendable () -> Int
    let stop: @Sendable () async -> Void
}

extension ConsumerUnderTest {
    /// Runs in `notebook` until the returned task is cancelled.
    func start(
        in notebook: Notebook, provisional: (@Sendable (StreamEvent) async -> Void)? = nil, before: @escaping Apply = { _, _ in }
    ) -> Task<Void, any Error> {
        Task {
            try await run(
                notebook.positions,
                { events, next in
                    try await before(events, next)
                    try await notebook.apply(events, next)
                }, { notebook.restart($0) }, provisional)
        }
    }
}

extension StreamPeers {
    func publishing(_ log: Log, _ family: StreamFamily = Stage.family) async throws -> PublisherUnderTest {
        try await publisher(log, family)
    }

    func consuming(
        _ family: StreamFamily = Stage.family, freshness: StreamFreshness = StreamFreshness()
    ) async throws -> ConsumerUnderTest {
        try await consumer(family, freshness)
    }
}

// MARK: ZeroMQ

extension StreamPeers {
    static func zeroMQ(on stage: Stage) -> StreamPeers {
        StreamPeers(
            publisher: { log, family in
                let node = try stage.publishing()
                var methods = Methods()
                log.answer(&methods)
                try await node.answer(at: stage.requests, methods)
                let publisher = try await node.publisher(of: family, at: stage.news, epoch: log.epoch, heads: log.heads)
                return PublisherUnderTest(
                    publish: { publisher.publish($0) }, publishProvisionally: { publisher.publishProvisionally($0) },
                    advance: { publisher.advance($0, to: $1) }, hasListeners: { publisher.hasListeners($0) },
                    stop: { await node.shutdown() })
            },
            consumer: { family, freshness in
                let node = try stage.reading()
                let inbox = try await node.inbox(of: family, at: stage.news, serverKey: stage.server.publicKey)
                let client = try await node.client(of: .ingest, at: stage.requests, serverKey: stage.server.publicKey)
                let consumer = StreamConsumer(family: family, inbox: inbox, publisher: client, logger: quiet, freshness: freshness)
                return ConsumerUnderTest(
                    run: { positions, apply, restart, provisional in
                        try await consumer.run(from: positions, apply: apply, restart: restart, provisional: provisional)
                    }, waiting: { inbox.depth }, stop: { await node.shutdown() })
            })
    }
}
