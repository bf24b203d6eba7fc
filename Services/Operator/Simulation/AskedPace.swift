// How often one simulated wearable measures: as planned, and as often as an alert asks (SOS-11).

import Synchronization

final class AskedPace: Sendable {
    /// What no wearable can do better.
    static let shortest = Duration.milliseconds(10)

    private let usual: Duration
    private let asked = Mutex<Duration?>(nil)

    init(usual: Duration) {
        self.usual = usual
    }

    /// Until the next measurement. An alert makes nobody measure more seldom.
    var interval: Duration {
        asked.withLock { $0 }.map { min(usual, max(Self.shortest, $0)) } ?? usual
    }

    /// Every answer sets it from now on.
    func received(_ event: UploadEvent) {
        guard case .acknowledged(_, let answer, _) = event else { return }
        let rate = answer.supervision?.measurementsPerSecond
        asked.withLock { $0 = rate.flatMap { $0 > 0 ? .seconds(1 / $0) : nil } }
    }
}
