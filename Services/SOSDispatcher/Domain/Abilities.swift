// Whether a person's devices can show an emergency at all (SOS-02, CON-26).

import Contracts

/// What AutomatedSOS needs of devices, each by itself; any one device may give either.
enum NeededAbility: String, CaseIterable, Sendable {
    case vitalParameter = "vital-parameter"
    case positionSource = "position-source"

    /// What is missing, and what to do; in English.
    var detail: String { fieldFault.english }

    /// A vital parameter that comes more seldom would show most emergencies too late.
    static let realTime = Duration.seconds(60)

    /// Those that none of the devices has, in order. A device that declared no interval is given the benefit of the doubt.
    /// - Parameter watches: whether a metric has a bound in force: by what has none nobody can be supervised (SOS-34).
    static func missing(in devices: [ReadAbilities.Ability], watches: (Metric) -> Bool) -> [NeededAbility] {
        let hasVital = devices.contains { device in
            device.metrics.contains(where: watches) && device.intervalMs.map { Duration.milliseconds($0) <= realTime } ?? true
        }
        let hasPosition = devices.contains { $0.metrics.contains(.position) }
        return [hasVital ? nil : .vitalParameter, hasPosition ? nil : .positionSource].compactMap { $0 }
    }
}
