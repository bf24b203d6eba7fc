// Alarms the operator of a wrong clock: by it right devices' values are old where their uploads do not say when they were written, and
// nobody is watched by those though all uploads are taken.

import Contracts
import Logging
import Metrics
import ServiceKit
import Synchronization

/// What the devices' times say of this machine's clock, as a figure, a remark in `/health/ready` and lines of the log.
final class ClockWatch: Sendable {
    private static let look = Duration.seconds(1)
    private static let reminder = Duration.seconds(60)

    private struct State {
        var doubt = ClockDoubt()
        var toldAt: Duration?
    }

    private let gauge = Gauge(label: "ingest_clock_offset_seconds")
    private let steady: @Sendable () -> Duration
    private let state = Mutex(State())

    /// - Parameter steady: grows evenly, whatever is done to the wall clock; nil for what the machine counts.
    init(steady: (@Sendable () -> Duration)? = nil) {
        let start = ContinuousClock.now
        self.steady = steady ?? { ContinuousClock.now - start }
        gauge.record(0)
    }

    /// Takes note of an upload, whatever becomes of it. What is typed in or imported tells nothing of any clock.
    func note(_ upload: ScannedUpload, from device: KnownDevice, receivedAt: Timestamp) {
        guard device.origin.isDevice else { return }
        // An event counts whenever it says it was, and may be dated by this machine.
        let refused = upload.unstored.lazy.filter { $0.type.definition.shape != .event }.map(\.at).max()
        let newest = [upload.samples.lazy.map(\.at).max(), refused].compactMap { $0 }.max()
        let offsets = [upload.sending.time, newest].compactMap { $0.map { receivedAt - $0 } }
        guard let offset = ClockDoubt.leastOff(offsets) else { return }
        let now = steady()
        state.withLock { $0.doubt.note(device.number, of: device.personNumber, offset: offset, at: now) }
    }

    /// One phrase where the clock seems to be wrong.
    var remarks: [String] { look().map { ["\($0)"] } ?? [] }

    /// Runs until it is cancelled.
    func run(_ logger: Logger) async throws {
        try await WorkLoop(every: Self.look).poll { [self] in tell(look(), logger) }
    }

    private func look() -> ClockDoubt.Finding? {
        let now = steady()
        let finding = state.withLock { $0.doubt.look(at: now) }
        gauge.record(finding.map { $0.offset / .seconds(1) } ?? 0)
        return finding
    }

    /// When it begins, once a minute while it lasts, and once when it is over.
    private func tell(_ finding: ClockDoubt.Finding?, _ logger: Logger) {
        let now = steady()
        let (isDue, isOver) = state.withLock { state -> (Bool, Bool) in
            guard finding != nil else {
                defer { state.toldAt = nil }
                return (false, state.toldAt != nil)
            }
            guard state.toldAt.map({ now - $0 >= Self.reminder }) ?? true else { return (false, false) }
            state.toldAt = now
            return (true, false)
        }
        if let finding, isDue { logger.error("\(finding): set it right") }
        if isOver { logger.notice("the clock of this machine agrees with the devices again") }
    }
}
