// Which parameters are not measured now, and why (ING-10, ING-19, ACC-28).

import Contracts

/// What a device last reported of itself; nil where it reported nothing.
struct DeviceCondition: Hashable, Sendable {
    var charging: Bool?
    var worn: Bool?
    /// Percent.
    var battery: Int?
    var at: Timestamp?
    /// The shortest time between two measurements that it can do, in ms.
    var fastestIntervalMs: Int64?
}

/// Why a parameter is not measured; the first that holds is reported.
enum UnmeasuredReason: String, CaseIterable, Sendable {
    /// The account does not allow it.
    case notAllowed = "account-not-active"
    case paused
    /// No device of the person can measure it.
    case noDevice = "no-device"
    /// A device could, but its tracking is off.
    case notTracked = "not-tracked"
    case charging
    case notWorn = "not-worn"
    /// Nothing was received from its device for too long: check status and connection.
    case lost
}

/// One parameter as it stands.
struct ParameterReport: Hashable, Sendable {
    let metric: Metric
    /// The device from which it comes, or would come.
    let source: DeviceID?
    /// nil where it is measured.
    let reason: UnmeasuredReason?
    /// Whether another device delivers it for as long as its own is charging.
    let isStandIn: Bool
}

/// A device as the report needs it.
struct ReportedSource: Hashable, Sendable {
    let source: TrackedSource
    let condition: DeviceCondition
    /// When ingest last received from it; its own start where it has not since then.
    let heardAt: Timestamp
    let interval: Duration

    /// Silence shorter than this is never a loss (SOS-25).
    static let leastSilence = Duration.seconds(30)

    func isLost(at now: Timestamp) -> Bool {
        now - heardAt > max(Self.leastSilence, interval * 3)
    }

    /// Why nothing comes from it; nil where something should.
    func trouble(at now: Timestamp) -> UnmeasuredReason? {
        if source.kind.stopsWhileCharging, condition.charging == true { return .charging }
        if source.kind != .phone, condition.worn == false { return .notWorn }
        return isLost(at: now) ? .lost : nil
    }
}

struct MonitoringReport: Sendable {
    let plan: TrackingPlan
    let sources: [DeviceID: ReportedSource]
    let isPaused: Bool
    let isBarred: Bool

    /// Every metric of the registry.
    func parameters(at now: Timestamp) -> [ParameterReport] {
        Metric.all.map { parameter($0, at: now) }
    }

    private func parameter(_ metric: Metric, at now: Timestamp) -> ParameterReport {
        let chosen = plan.source(of: metric)
        let standIn = plan.standIn(for: metric)
        let source = standIn ?? chosen
        return ParameterReport(
            metric: metric, source: source?.device, reason: reason(metric, source, at: now), isStandIn: standIn != nil)
    }

    private func reason(_ metric: Metric, _ source: TrackedSource?, at now: Timestamp) -> UnmeasuredReason? {
        if isBarred { return .notAllowed }
        if isPaused { return .paused }
        guard let source else {
            return plan.sources.contains { $0.measures.contains(metric) } ? .notTracked : .noDevice
        }
        return sources[source.device]?.trouble(at: now)
    }
}
