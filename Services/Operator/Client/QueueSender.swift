// Sends one device's queue, in order, until everything is acknowledged.

import Contracts
import Foundation
import ServiceKit

/// What happened to one upload, for progress, logs and accounts.
enum UploadEvent: Sendable {
    case acknowledged(OutboxBatch, UploadAnswer, took: Duration)
    /// It could not be delivered now; the entries stay in the queue.
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

    let partition: String
    let token: String
    let queue: OutboxQueue
    let transport: UploadTransport
    var policy = RetryPolicy()
    var batchEntries = QueueSender.batchEntries
    /// The clock that dated the entries.
    var clock: @Sendable () -> Timestamp = { .now }
    let report: @Sendable (UploadEvent) -> Void

    /// Sends what waits each time `wakes` gives something; ends when it has ended and nothing waits any more, when the device may
    /// not deliver, or when the task is cancelled.
    func run(_ wakes: AsyncStream<Void>) async throws {
        for await _ in wakes where try await !drain() { return }
        _ = try await drain()
    }

    /// False where it makes no sense to go on.
    private func drain() async throws -> Bool {
        let clock = ContinuousClock()
        var size = batchEntries
        var attempt = 1
        while !Task.isCancelled, let batch = queue.next(of: partition, count: size, bytes: QueueSender.batchBytes) {
            let begun = clock.now
            let reply = await transport.send(UploadBody.batch(batch.entries, sentAt: self.clock()), token, key(of: batch))
            if Task.isCancelled { return false }
            switch policy.verdict(on: reply.outcome, attempt: attempt, jitter: Double.random(in: 0..<1)) {
            case .done:
                guard let answer = try? JSONDecoder().decode(UploadAnswer.self, from: Data(reply.body)) else {
                    // Whoever answers 2xx without an account of the entries is not the suite: nothing was promised.
                    report(.stopped(partition: partition, reason: "the server's answer is not one of TrackMe; check --url"))
                    return false
                }
                try queue.finished(batch)
                report(.acknowledged(batch, answer, took: clock.now - begun))
                (size, attempt) = (batchEntries, 1)
            case .again(let pause):
                report(.waiting(partition: partition, reply.outcome, pause: pause))
                try? await Task.sleep(for: pause)
                attempt += 1
            case .halve where batch.entries.count > 1: size = batch.entries.count / 2
            case .stop(let reason):
                report(.stopped(partition: partition, reason: reason))
                return false
            case .halve, .refuse:
                try queue.finished(batch)
                report(.refused(batch, status: reply.outcome.status, problem: QueueSender.problem(reply.body)))
            }
        }
        return !Task.isCancelled
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
}
