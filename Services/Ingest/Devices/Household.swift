// One person with everything that decides about the person's uploads, as one value out of one transaction.

import Contracts

struct Household: Sendable {
    let person: PersonID
    let number: Int64
    /// Made by an operator: there need not be an account.
    let isEnrolled: Bool
    let priority: SourcePriority
    /// Oldest first; revoked ones too.
    let devices: [DeviceRow]
    /// The newest last.
    let pauses: [Pause]

    /// What can be held in a hand and is not revoked.
    var active: [DeviceRow] {
        devices.filter { $0.isActive && $0.origin.isDevice }
    }

    var plan: TrackingPlan {
        TrackingPlan(active.map(\.source), priority: priority)
    }

    /// When the pause that lasts began; nil where monitoring is not paused.
    var pausedSince: Timestamp? {
        pauses.last.flatMap { $0.to == nil ? Timestamp(milliseconds: $0.from) : nil }
    }

    /// What the person types or brings along is taken whatever is tracked, and what was measured in a pause too: only a pause that
    /// lasts keeps it out.
    func admission(of device: DeviceRow, _ plan: TrackingPlan) -> Admission {
        guard device.origin.isDevice else {
            return Admission(tracked: nil, pauses: pauses.last.flatMap { $0.to == nil ? [$0] : nil } ?? [])
        }
        return Admission(tracked: plan.admitted(device.device), pauses: pauses)
    }

    func device(_ id: DeviceID) -> DeviceRow? {
        active.first { $0.device == id }
    }
}
