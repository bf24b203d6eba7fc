// The message of a test emergency: of the same form as a real one, and about nobody.

import Contracts

extension DispatchMessage {
    /// A heart rate of nobody's, at a place that nobody is at. `status` says that no help is to be sent, and so does the headline.
    init(drill id: MessageID, status: Status, under letterhead: DispatchLetterhead, at now: Timestamp, code: String) {
        let definition = Metric.heartRate.definition
        let threshold = PassedThreshold(
            metric: definition.code, loinc: definition.loinc, side: Breach.Side.below.rawValue, limit: 45, value: 30,
            unit: definition.unit, at: now.rfc3339, samples: [])
        self.init(
            messageId: id.description, emergencyId: id.emergency.description, seq: id.sequence, msgType: .alert, status: status,
            sent: now.rfc3339, firstBreachAt: now.rfc3339, decidedAt: now.rfc3339,
            expires: (now + DispatchLetterhead.validity).rfc3339, references: [],
            sender: Sender(organisation: letterhead.organisation, system: "sos-dispatcher", contact: letterhead.contact),
            headline: "DRILL, nobody is in danger: please acknowledge",
            trigger: Trigger(kind: "threshold", automatic: true, threshold: threshold), parameters: [threshold], urgency: "immediate",
            severity: "extreme", certainty: "observed",
            subject: Subject(pid: "sub_" + Crockford.encode(0), basis: "vital_interest"),
            location: Location(method: "none", trusted: false, previous: []), vitals: [],
            ack: AcknowledgeAt(
                url: "\(letterhead.publicURL)/sos/v1/dispatches/\(id)/acknowledgements",
                deadline: (now + DispatchLetterhead.acknowledgeWithin).rfc3339, code: code),
            trace: Trace(traceId: String("\(id.emergency)".suffix(Crockford.digits)), decidedAfterMs: 0))
    }
}
