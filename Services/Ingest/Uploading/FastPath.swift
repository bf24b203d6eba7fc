// The way past a slow or refusing disk: what an alarm may depend on is published before it is stored (decision 0018).

import Contracts
import ServiceKit
import Synchronization

/// Publishes the fresh entries of an upload provisionally when its commit takes too long or fails, and at once where an alarm is likely.
/// The device is not answered by this: what is acknowledged is on disk, what is published here may never be.
final class FastPath: Sendable {
    /// Entries older than that when they came start no alarm anywhere.
    static let freshness = Duration.seconds(600)

    /// From whom and when entries came: published with them.
    struct Arrival: Sendable {
        let device: KnownDevice
        let receivedAt: Timestamp
        let firstTriedAt: Timestamp?
        let sentAt: Timestamp?
        let trace: String

        /// The earliest time that an alarm may still depend on, by the clock by which ages are counted.
        fileprivate var freshSince: Int64 {
            (Sample.ageEnd(receivedAt: receivedAt, sentAt: sentAt) - FastPath.freshness).milliseconds
        }
    }

    fileprivate struct State {
        /// In the order in which they were registered, from `first` on.
        var waiting: [PendingUpload] = []
        var first = 0
        var isRunning = false
    }

    private let timeout: Duration
    private let relay: EventRelay
    private let epoch: String
    private let keys: PersonKeys
    private let memory: SeriesMemory
    private let state = Mutex(State())

    /// - Parameter timeout: how long a commit may take.
    init(after timeout: Duration, relay: EventRelay, epoch: String, keys: PersonKeys, memory: SeriesMemory) {
        (self.timeout, self.relay, self.epoch, self.keys, self.memory) = (timeout, relay, epoch, keys, memory)
    }

    /// Registers an upload before its commit, whose end must be reported; nil where nothing of it can matter to an alarm, or all of that
    /// has been published.
    func watch(_ upload: ReadyUpload) -> PendingUpload? {
        // What is refused comes after what is stored of its upload: as the newer it would hide the rest, which supervision takes in order.
        defer { refused(upload.unstored, of: upload) }
        guard upload.isFresh else { return nil }
        if !upload.unstored.isEmpty || upload.plan.groups.contains(where: { isAlarming($0, of: upload) }) {
            publish(upload)
            return nil
        }
        let pending = PendingUpload(upload, since: .now)
        let begins = state.withLock { state in
            state.waiting.append(pending)
            defer { state.isRunning = true }
            return !state.isRunning
        }
        if begins { Task(priority: .high) { await run() } }
        return pending
    }

    /// The store refused it, for whatever reason: published now if it was not yet.
    func refused(_ pending: PendingUpload) {
        if pending.settle() { publish(pending.upload) }
    }

    /// Nothing of it can be stored, as the person's key is damaged: what an alarm may depend on is published even so.
    func unstorable(_ plan: UploadPlan, and unstored: [Sample], _ arrival: Arrival) {
        let since = arrival.freshSince
        var plan = plan
        plan.settle()
        if plan.groups.contains(where: { $0.isFresh(since) }) {
            publish(plan.inOrder.filter { $0.at.milliseconds >= since }, arrival, as: SamplesRecorded.provisionalType)
        }
        let fresh = Self.fresh(unstored + plan.conflicting, since)
        if !fresh.isEmpty { publish(fresh, arrival, as: SamplesRecorded.refusedType) }
    }

    /// Publishes entries that may not be stored, but may be somebody's heart: neither a wrong clock nor another device's value of the
    /// same instant keeps them from an alarm.
    func refused(_ samples: [Sample], of upload: ReadyUpload) {
        let fresh = Self.fresh(samples, upload.freshSince)
        if !fresh.isEmpty { publish(fresh, of: upload, as: SamplesRecorded.refusedType) }
    }

    private static func fresh(_ samples: [Sample], _ since: Int64) -> [Sample] {
        samples.filter { $0.at.milliseconds >= since && $0.type.definition.shape != .position }
    }

    private func isAlarming(_ group: MetricGroup, of upload: ReadyUpload) -> Bool {
        let series = Series(person: upload.device.personNumber, metric: group.metric)
        let stored = (try? memory.newest(of: series) { throw Unknown() }) ?? .min
        return FastPath.isAlarming(group, since: upload.freshSince, after: stored)
    }

    /// Whether it has a recent value that most people's alarms begin with: out of the range that its metric has for whoever set nothing
    /// else. What is not later than all that is stored is no alarm: it was sent before.
    static func isAlarming(_ group: MetricGroup, since fresh: Int64, after stored: Int64) -> Bool {
        let metric = group.metric.definition
        // Somebody calls for help, or fell.
        if metric.shape == .event { return group.last >= fresh && group.last > stored }
        guard metric.watchedByDefault, let bounds = metric.bounds, group.last >= fresh, group.last > stored else { return false }
        return group.samples.contains { sample in
            let at = sample.at.milliseconds
            guard let value = sample.value, at >= fresh, at > stored else { return false }
            return bounds.low.map { value < $0 } ?? false || bounds.high.map { value > $0 } ?? false
        }
    }

    /// Nothing is known of the series yet, and the store is not asked, which would take time.
    private struct Unknown: Error {}

    private func run() async {
        while true {
            let now = ContinuousClock.now
            let (late, next) = state.withLock { $0.take(at: now, timeout) }
            for pending in late where pending.settle() { publish(pending.upload) }
            guard let next else { return }
            // Not for its own sake: until the commit that is the oldest by now has taken too long.
            try? await Task.sleep(until: next, tolerance: .zero)
        }
    }

    private func publish(_ upload: ReadyUpload) {
        publish(upload.plan.inOrder.filter { $0.at.milliseconds >= upload.freshSince }, of: upload, as: SamplesRecorded.provisionalType)
    }

    private func publish(_ samples: [Sample], of upload: ReadyUpload, as type: String) {
        // Nothing more is published of a person who was erased meanwhile.
        guard keys.isCurrent(upload.key, of: upload.device.person) else { return }
        publish(samples, upload.arrival, as: type)
    }

    private func publish(_ samples: [Sample], _ arrival: Arrival, as type: String) {
        let device = arrival.device
        // Nor of a device that was removed.
        guard !device.isEnded else { return }
        let header = StreamHeader(
            stream: device.stream, epoch: epoch, sequence: 0, head: 0, type: type, subject: device.subject,
            at: arrival.receivedAt, trace: arrival.trace)
        relay.provisional(
            EventRelay.Committed(header: header) {
                SamplesRecordedWriter.render(
                    device: device.device, receivedAt: arrival.receivedAt, firstTriedAt: arrival.firstTriedAt, sentAt: arrival.sentAt,
                    intervalMs: device.publishedIntervalMs, samples: samples)
            })
    }
}

extension FastPath {
    /// One upload on its way to the disk.
    final class PendingUpload: Sendable {
        let upload: ReadyUpload
        fileprivate let since: ContinuousClock.Instant
        private let isSettled = Atomic<Bool>(false)

        fileprivate init(_ upload: ReadyUpload, since: ContinuousClock.Instant) {
            (self.upload, self.since) = (upload, since)
        }

        fileprivate var isWaiting: Bool { !isSettled.load(ordering: .acquiring) }

        /// Its commit has ended, or it has been published. True the first time.
        @discardableResult
        func settle() -> Bool {
            !isSettled.exchange(true, ordering: .acquiringAndReleasing)
        }
    }
}

extension FastPath.State {
    /// Those whose commit has taken too long, and when the next one will have; nil where nobody waits.
    mutating func take(
        at now: ContinuousClock.Instant, _ timeout: Duration
    ) -> (late: [FastPath.PendingUpload], next: ContinuousClock.Instant?) {
        var late: [FastPath.PendingUpload] = []
        while first < waiting.count {
            let pending = waiting[first]
            if pending.isWaiting {
                guard pending.since + timeout <= now else { break }
                late.append(pending)
            }
            first += 1
        }
        let next = first < waiting.count ? waiting[first].since + timeout : nil
        // Given up in bulk, so that taking one does not move the rest.
        if first == waiting.count || first >= 512 {
            waiting.removeFirst(first)
            first = 0
        }
        isRunning = next != nil
        return (late, next)
    }
}

extension ReadyUpload {
    fileprivate var arrival: FastPath.Arrival {
        FastPath.Arrival(device: device, receivedAt: receivedAt, firstTriedAt: firstTriedAt, sentAt: sentAt, trace: trace)
    }

    fileprivate var freshSince: Int64 { arrival.freshSince }

    fileprivate var isFresh: Bool {
        let since = freshSince
        return plan.groups.contains { $0.isFresh(since) }
    }
}

extension MetricGroup {
    /// Whether it brings a value or an event, and not only places, that is recent.
    fileprivate func isFresh(_ since: Int64) -> Bool { last >= since && metric.definition.shape != .position }
}
