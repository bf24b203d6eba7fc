// Sends one device's queue, what is freshest first, until everything is acknowledged.

import Contracts
import Foundation
import ServiceKit
import Synchronization

/// What happened to one upload, for progress, logs and accounts.
enum UploadEvent: Sendable {
    case acknowledged(OutboxBatch, UploadAnswer, took: Duration)
    /// It could not be delivered now; the entries stay in the queue. New ones are tried before the pause is over.
    case waiting(partition: String, UploadOutcome, pause: Duration)
    /// The server refused the batch as a whole; it is taken off the queue, and this is the only trace of it.
    case refused(OutboxBatch, status: Int, problem: String)
    /// This device may not deliver any more; its entries stay in the queue.
    case stopped(partition: String, reason: String)
}

struct QueueSender: Sendable {
    /// The server takes 10,000 entries and 2 MiB; smaller batches are acknowledged sooner.
    static let batchEntries = 500
    static let batchBytes = 512 << 10
    /// Of an urgent upload's entries; with what stands around them it is a small one.
    static let urgentBytes = UploadTransport.smallBytes - 96

    /// Wakes the sender where nothing else does.
    private static let longestIdling = Duration.seconds(3600)

    let partition: String
    let token: String
    let queue: OutboxQueue
    let transport: UploadTransport
    var policy = RetryPolicy()
    var batchEntries = QueueSender.batchEntries
    /// The clock that dated the entries.
    var clock: @Sendable () -> Timestamp = { .now }
    let report: @Sendable (UploadEvent) -> Void

    /// That something came into the queue, and whether more will.
    private final class Arrivals: Sendable {
        let signal = WakeUpSignal()
        private let isOver = Mutex(false)

        var haveEnded: Bool { isOver.withLock { $0 } }

        func end() {
            isOver.withLock { $0 = true }
            signal.notify()
        }
    }

    /// Sends what waits, and what comes each time `wakes` gives something, also during a pause; ends when it has ended and nothing waits
    /// any more, when the device may not deliver, or when the task is cancelled.
    func run(_ wakes: AsyncStream<Void>) async throws {
        let arrivals = Arrivals()
        try await withThrowingTaskGroup(of: Void.self) { group in
            defer { group.cancelAll() }
            group.addTask {
                for await _ in wakes { arrivals.signal.notify() }
                arrivals.end()
            }
            try await deliver(arrivals)
        }
    }

    private func deliver(_ arrivals: Arrivals) async throws {
        let clock = ContinuousClock()
        let beginning = clock.now
        var pacing = UploadPacing()
        var size = batchEntries
        while !Task.isCancelled {
            // Before the queue is looked at: whatever came before the end is seen.
            let haveEnded = arrivals.haveEnded
            guard queue.waiting(in: partition) > 0 else {
                if haveEnded { return }
                await arrivals.signal.wait(atMost: QueueSender.longestIdling)
                continue
            }
            let end = queue.end(of: partition)
            let step = pacing.step(end: end, at: clock.now - beginning)
            guard let batch = nextBatch(step, size) else {
                if case .wait(let pause) = step { await arrivals.signal.wait(atMost: pause) }
                continue
            }
            let begun = clock.now
            pacing.began(step, end: end, at: begun - beginning)
            let reply = await transport.send(UploadBody.batch(batch.entries, sentAt: self.clock()), token, key(of: batch))
            if Task.isCancelled { return }
            switch policy.verdict(on: reply.outcome, attempt: pacing.attempt, jitter: Double.random(in: 0..<1)) {
            case .done:
                guard let answer = try? JSONDecoder().decode(UploadAnswer.self, from: Data(reply.body)) else {
                    // Whoever answers 2xx without an account of the entries is not the suite: nothing was promised.
                    report(.stopped(partition: partition, reason: "the server's answer is not one of TrackMe; check --url"))
                    return
                }
                try queue.finished(batch)
                pacing.succeeded(step, through: batch.last)
                report(.acknowledged(batch, answer, took: clock.now - begun))
                size = batchEntries
            case .again(let pause):
                pacing.failed(step, pause: pause, isAsked: reply.outcome.asksToWait, at: clock.now - beginning)
                report(.waiting(partition: partition, reply.outcome, pause: step == .urgent ? UploadPacing.urgentInterval : pause))
            case .halve where batch.entries.count > 1: size = batch.entries.count / 2
            case .stop(let reason):
                report(.stopped(partition: partition, reason: reason))
                return
            case .halve, .refuse:
                try queue.finished(batch)
                report(.refused(batch, status: reply.outcome.status, problem: QueueSender.problem(reply.body)))
            }
        }
    }

    /// Nil where it is to wait.
    private func nextBatch(_ step: UploadPacing.Step, _ size: Int) -> OutboxBatch? {
        switch step {
        case .newest: queue.newest(of: partition, count: size, bytes: QueueSender.batchBytes)
        case .urgent: queue.newest(of: partition, count: size, bytes: QueueSender.urgentBytes)
        case .oldest: queue.oldest(of: partition, count: size, bytes: QueueSender.batchBytes)
        case .wait: nil
        }
    }

    /// The same for the same entries, also in another run: the queue's id and the places of the first and last entry.
    private func key(of batch: OutboxBatch) -> String {
        "\(queue.id)-\(batch.partition)-\(batch.first)-\(batch.last)"
    }

    /// The problem's stable type; its text could quote what was sent.
    private static func problem(_ body: [UInt8]) -> String {
        (try? JSONDecoder().decode(Problem.self, from: Data(body)))?.type ?? "unreadable"
    }
}

extension UploadOutcome {
    /// 0 where there was no answer.
    var status: Int {
        if case .answered(let status, _) = self { status } else { 0 }
    }

    /// The server has said when to come again.
    var asksToWait: Bool {
        if case .answered(_, .some) = self { true } else { false }
    }
}
