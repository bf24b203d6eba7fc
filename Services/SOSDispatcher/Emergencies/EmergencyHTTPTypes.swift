// What a person reads of their own emergencies over HTTP.

import Contracts
import HTTPKit

/// One emergency of the person's own.
struct OwnEmergency: Codable, Sendable {
    var id: EmergencyID
    var state: String
    var t0: String
    var dispatchedAt: String?
    var acknowledgedAt: String?
    var closedAt: String?
    /// In order; absent in lists.
    var steps: [TimelineStep]?

    init(_ record: EmergencyRecord, steps: [ReadTimeline.Step]? = nil) {
        (id, state, t0) = (record.id, record.state.rawValue, record.t0.rfc3339)
        (dispatchedAt, acknowledgedAt) = (record.dispatchedAt?.rfc3339, record.acknowledgedAt?.rfc3339)
        closedAt = record.closedAt?.rfc3339
        self.steps = steps?.map { TimelineStep(at: $0.at.rfc3339, actor: $0.actor, event: $0.event, detail: $0.detail) }
    }
}

extension OwnEmergency: Documented {
    static let schema = JSONSchema.object(
        .required("id", .identifier(Emergency.self)), .required("state", .oneOf(EmergencyRecord.State.allCases.map(\.rawValue))),
        .required("t0", .time, "When the first critical entry arrived."), .optional("dispatchedAt", .time),
        .optional("acknowledgedAt", .time), .optional("closedAt", .time),
        .optional("steps", .array(of: TimelineStep.schema), "Everything that happened, in order; not in lists.")
    ).named("OwnEmergency")
}
