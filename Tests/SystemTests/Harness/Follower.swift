// A peer that follows the ingest streams and writes down every sequence that it applied, through kills of both sides.

import Bus
import Contracts
import Foundation
import Logging
import ServiceKit
import TestKit

@testable import Operator

/// What is wrong with a follower on purpose.
enum FollowerFault: Sendable {
    case none
    /// Its effect is durable, its position not always: what it applied last comes again after a restart.
    case forgetsPositions
    /// It goes on at the head after a restart instead of asking for what it missed.
    case asksForNoReplay
}

/// Its memory stands for a store: it outlives `stop`, which stands for a kill.
actor Follower {
    let peer: Peer
    private let layout: SuiteLayout
    private let fault: FollowerFault
    private var first: [String: Int64] = [:]
    private var applied: [String: [Int64]] = [:]
    private var positions: [String: StreamPosition] = [:]
    private var applications = 0
    private var isHeld = false
    private var running: (runtime: Runtime, task: Task<Void, Never>)?

    init(_ peer: Peer, of suite: RealSuite, fault: FollowerFault = .none) {
        (self.peer, layout, self.fault) = (peer, suite.layout, fault)
    }

    func start() async throws {
        let runtime = try Runtime(
            peer: peer, settings: layout.settings(), logger: Running.quiet)
        let consumer = try await runtime.consumer(of: .samples)
        let stored = fault == .asksForNoReplay && !applied.isEmpty ? [] : Array(positions.values)
        let task = Task {
            do {
                try await consumer.run(from: stored, apply: { await self.apply($0, $1) })
            } catch {
                // A cancelled follower has stopped; what it has not applied shows in its account.
            }
        }
        running = (runtime, task)
    }

    /// Starts as one who wants everything that the log still holds.
    func startFromTheBeginning() async throws {
        let epoch = try await heads().epoch
        for stream in StreamFamily.samples.streams {
            positions[stream] = StreamPosition(stream: stream, epoch: epoch, next: 1)
            first[stream] = 1
        }
        try await start()
    }

    /// At once, whatever it is doing.
    func stop() async {
        guard let (runtime, task) = running else { return }
        running = nil
        isHeld = false
        task.cancel()
        await runtime.bus.shutdown()
        await task.value
    }

    /// A consumer that applies nothing for a while.
    func hold() { isHeld = true }
    func release() { isHeld = false }

    private func apply(_ events: [StreamEvent], _ next: [StreamPosition]) async {
        while isHeld, !Task.isCancelled {
            // What it is doing instead takes its time.
            try? await Task.sleep(for: .milliseconds(5))
        }
        guard !Task.isCancelled else { return }
        for event in events { applied[event.header.stream, default: []].append(event.header.sequence) }
        for position in next where first[position.stream] == nil {
            first[position.stream] = events.first { $0.header.stream == position.stream }?.header.sequence ?? position.next
        }
        applications += 1
        if fault == .forgetsPositions, applications > 2, !applications.isMultiple(of: 5) { return }
        for position in next { positions[position.stream] = position }
    }

    var facts: Int { applied.values.reduce(0) { $0 + $1.count } }

    // MARK: The account

    private func heads() async throws -> (epoch: String, heads: [String: Int64]) {
        let runtime = try Runtime(
            peer: peer, settings: layout.settings(), logger: Running.quiet)
        do {
            let client = try await runtime.client(of: .ingest)
            var heads: [String: Int64] = [:]
            var epoch = ""
            for stream in StreamFamily.samples.streams {
                // Others may be catching up; ingest answers only so many replays at once.
                let page = try await eventually("ingest says where \(stream) ends") {
                    try? await client.replay(ReplayStream(stream: stream, epoch: "", from: 1, through: 1))
                }
                (heads[stream], epoch) = (page.head, page.epoch)
            }
            await runtime.bus.shutdown()
            return (epoch, heads)
        } catch {
            await runtime.bus.shutdown()
            throw error
        }
    }

    /// Waits a while until it is at the head, then says what it applied. Whoever has not got there shows it.
    func account(patience: Duration) async throws -> [StreamAccount] {
        let heads = try await heads().heads
        do {
            try await eventually("the follower is at the head", within: patience, isTrue: { await self.isAt(heads) })
        } catch {
            print("· \(error)")
        }
        return StreamFamily.samples.streams.map { stream in
            StreamAccount(stream: stream, first: first[stream] ?? 1, applied: applied[stream] ?? [], head: heads[stream] ?? 0)
        }
    }

    private func isAt(_ heads: [String: Int64]) -> Bool {
        heads.allSatisfy { stream, head in (applied[stream]?.last ?? (first[stream] ?? 1) - 1) >= head }
    }
}
