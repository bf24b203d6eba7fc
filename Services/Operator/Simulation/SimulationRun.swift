// A population on its way: each person measures at its own pace into the queue, and a sender of its own empties it.

import Contracts
import Foundation
import ServiceKit

struct SimulationRun: Sendable {
    let plan: PopulationPlan
    /// As many as the plan has people.
    let people: [SimulatedPerson]
    let queue: OutboxQueue
    let transport: UploadTransport
    /// Nil: until the task is cancelled.
    let duration: Duration?
    let log: SimulationLog?
    let meter = SimulationMeter()

    /// What waits after the last measurement is sent for so long at most; the rest stays for the next run.
    static let aftermath = Duration.seconds(20)

    /// Ends after `duration` and the aftermath. Throws where the queue or the log cannot be written.
    func run() async throws {
        let clock = ContinuousClock()
        let (began, startedAt) = (clock.now, Timestamp.now)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (wearable, person) in zip(plan.wearables(), people) {
                group.addTask { try await live(wearable, person, began: began, startedAt: startedAt) }
            }
            try await group.waitForAll()
        }
    }

    private func live(
        _ wearable: Wearable, _ person: SimulatedPerson, began: ContinuousClock.Instant, startedAt: Timestamp
    ) async throws {
        let partition = person.partition(wearable.number)
        let (wakes, wake) = AsyncStream<Void>.makeStream(bufferingPolicy: .bufferingNewest(1))
        let pace = AskedPace(usual: plan.interval)
        let sender = QueueSender(partition: partition, token: person.token, queue: queue, transport: transport) { event in
            pace.received(event)
            note(event, person)
        }
        try await withThrowingTaskGroup(of: Bool.self) { group in
            group.addTask {
                defer { wake.finish() }
                try await measure(wearable, person, partition: partition, pace, began: began, startedAt: startedAt) { wake.yield() }
                return true
            }
            group.addTask {
                try await sender.run(wakes)
                return false
            }
            // The sender ends when the measuring has ended and nothing waits; it must not wait for a dead server for ever.
            guard try await group.next() == true else { return group.cancelAll() }
            group.addTask {
                try? await Task.sleep(for: SimulationRun.aftermath)
                return false
            }
            _ = try await group.next()
            group.cancelAll()
        }
    }

    private func measure(
        _ wearable: Wearable, _ person: SimulatedPerson, partition: String, _ pace: AskedPace, began: ContinuousClock.Instant,
        startedAt: Timestamp, wake: @Sendable () -> Void
    ) async throws {
        var wearable = wearable
        let clock = ContinuousClock()
        let phase = plan.phase(of: wearable.number)
        var elapsed = Duration.zero
        while duration.map({ elapsed < $0 }) ?? true {
            do {
                try await clock.sleep(until: began + phase + elapsed)
            } catch {
                return
            }
            let at = startedAt + phase + elapsed
            let measurement = wearable.measure(at: at, elapsed: elapsed, interval: pace.interval)
            if let metric = measurement.breach {
                try log?.breach(of: metric, person.person, at: at)
                meter.change { $0.breaches += 1 }
            }
            try queue.append(measurement.samples.map { try UploadBody.entry($0) }, to: partition)
            meter.change { $0.measured += measurement.samples.count }
            wake()
            elapsed += pace.interval
        }
    }

    private func note(_ event: UploadEvent, _ person: SimulatedPerson) {
        meter.change { figures in
            figures.account.count(event)
            if case .acknowledged(_, _, let took) = event { figures.latency.add(took) }
        }
        guard case .acknowledged(let batch, let answer, _) = event, let log else { return }
        do {
            try log.acknowledged(batch, answer, person: person.person, at: .now)
        } catch {
            Console.shared.complain("the ledger cannot be written: \(FileTrouble.text(error) ?? "\(error)")")
        }
    }
}
