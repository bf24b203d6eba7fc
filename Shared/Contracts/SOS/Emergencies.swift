// What is said and asked about supervision and emergencies.

/// Own bounds of a subscriber for one metric (SOS-08): critical is strictly below `low` or strictly above `high`.
package struct Bounds: Hashable, Codable, Sendable {
    /// nil: nothing is too low.
    package var low: Double?
    /// nil: nothing is too high.
    package var high: Double?

    package init(low: Double?, high: Double?) {
        (self.low, self.high) = (low, high)
    }
}

/// Starts supervision of a person, or changes the bounds of one who is supervised already.
package struct SubscribePerson: BusRequest {
    package static let method = "subscribe-person"
    package static let owner = Peer.sosDispatcher
    package static let clients: Set<Peer> = [.trackme, .consent]
    package static let mutates = true
    package typealias Reply = Nothing

    package var person: PersonID
    /// The clauses of AutomatedSOS were shown and accepted (SOS-01, SOS-30); refused otherwise.
    package var clausesAccepted: Bool
    /// By metric code; what is absent keeps the defaults.
    package var bounds: [String: Bounds]
    /// Whether falls are an alarm (SOS-36); nil leaves what the person has chosen.
    package var watchesFalls: Bool?

    package init(person: PersonID, clausesAccepted: Bool, bounds: [String: Bounds], watchesFalls: Bool? = nil) {
        (self.person, self.clausesAccepted, self.bounds, self.watchesFalls) = (person, clausesAccepted, bounds, watchesFalls)
    }
}

/// Whether a person is supervised, so that whoever pauses monitoring can be warned (SOS-04).
package struct ReadSupervision: BusRequest {
    package static let method = "read-supervision"
    package static let owner = Peer.sosDispatcher
    package static let clients: Set<Peer> = [.ingest, .consent, .trackme]
    package static let mutates = false

    package var person: PersonID

    package init(person: PersonID) {
        self.person = person
    }

    package struct Reply: Codable, Sendable {
        package var subscribed: Bool
        /// By the person here (SOS-04), or with all monitoring (ACC-28).
        package var paused: Bool
        /// How the person is protected, in one word: `monitoring`, `signal-lost`, `charging`, `alerted`, …
        package var standing: String?

        package init(subscribed: Bool, paused: Bool, standing: String? = nil) {
            (self.subscribed, self.paused, self.standing) = (subscribed, paused, standing)
        }
    }
}

/// Ends supervision at once (SOS-03); a running emergency is still completed.
package struct UnsubscribePerson: BusRequest {
    package static let method = "unsubscribe-person"
    package static let owner = Peer.sosDispatcher
    package static let clients: Set<Peer> = [.trackme]
    package static let mutates = true
    package typealias Reply = Nothing

    /// `not-found` for one who is not subscribed.
    package var person: PersonID

    package init(person: PersonID) {
        self.person = person
    }
}

/// Pauses or resumes supervision (SOS-04).
package struct PauseSupervision: BusRequest {
    package static let method = "pause-supervision"
    package static let owner = Peer.sosDispatcher
    package static let clients: Set<Peer> = [.trackme]
    package static let mutates = true
    package typealias Reply = Nothing

    /// `not-found` for one who is not subscribed.
    package var person: PersonID
    package var paused: Bool

    package init(person: PersonID, paused: Bool) {
        (self.person, self.paused) = (person, paused)
    }
}

/// The person's answer to the prompt, or a report of a false alarm (SOS-14, SOS-21).
package struct AnswerPrompt: BusRequest {
    package static let method = "answer-prompt"
    package static let owner = Peer.sosDispatcher
    package static let clients: Set<Peer> = [.trackme]
    package static let mutates = true

    /// `fine` and `false-alarm` call off what runs. `help` calls at once, whatever runs or does not (SOS-35). `help-is-here`
    /// ends the calling.
    package enum Answer: String, Codable, Sendable, CaseIterable {
        case fine
        case help
        case falseAlarm = "false-alarm"
        case helpIsHere = "help-is-here"
    }

    /// `not-found` for one who was never subscribed.
    package var person: PersonID
    package var answer: Answer

    package init(person: PersonID, answer: Answer) {
        (self.person, self.answer) = (person, answer)
    }

    package struct Reply: Codable, Sendable {
        /// Whether the call had already gone out when the answer arrived (SOS-21).
        package var alreadyDispatched: Bool
        /// The one that was answered, or that a call for help began; nil where none ran.
        package var emergency: EmergencyID?
        /// `help-is-here` before anybody has taken the call does not count yet: it has to be said again within 60 s. nil is false.
        /// Over HTTP, where an answer names its emergency, also of `fine` and `false-alarm` that were given before help was called for;
        /// never so here.
        package var asksBack: Bool?

        package init(alreadyDispatched: Bool, emergency: EmergencyID?, asksBack: Bool? = nil) {
            (self.alreadyDispatched, self.emergency, self.asksBack) = (alreadyDispatched, emergency, asksBack)
        }
    }
}

/// The emergencies of one person or of everybody, newest first.
package struct ListEmergencies: BusRequest {
    package static let method = "list-emergencies"
    package static let owner = Peer.sosDispatcher
    package static let clients: Set<Peer> = [.trackme]
    package static let mutates = false

    /// Only this person's; everybody's without it.
    package var person: PersonID?
    /// 1 to 1000.
    package var limit: Int

    package init(person: PersonID?, limit: Int) {
        (self.person, self.limit) = (person, limit)
    }

    package struct Entry: Codable, Sendable {
        package var emergency: EmergencyID
        package var person: PersonID
        /// `alerted`, `confirmed`, `dispatching`, `dispatched`, `stood-down`, `transient`, `muted` or `closed`.
        package var state: String
        /// When ingest received the first critical entry.
        package var t0: Timestamp
        /// nil where no call for help went out.
        package var dispatchedAt: Timestamp?
        /// nil while no emergency service has taken the call.
        package var acknowledgedAt: Timestamp?
        /// nil until it is at its end.
        package var closedAt: Timestamp?

        package init(
            emergency: EmergencyID, person: PersonID, state: String, t0: Timestamp, dispatchedAt: Timestamp?,
            acknowledgedAt: Timestamp?, closedAt: Timestamp?
        ) {
            (self.emergency, self.person, self.state, self.t0) = (emergency, person, state, t0)
            (self.dispatchedAt, self.acknowledgedAt, self.closedAt) = (dispatchedAt, acknowledgedAt, closedAt)
        }
    }

    package struct Reply: Codable, Sendable {
        package var emergencies: [Entry]

        package init(emergencies: [Entry]) {
            self.emergencies = emergencies
        }
    }
}

/// Everything that happened in one emergency, in order (SOS-29).
package struct ReadTimeline: BusRequest {
    package static let method = "read-timeline"
    package static let owner = Peer.sosDispatcher
    package static let clients: Set<Peer> = [.trackme]
    package static let mutates = false

    /// `not-found` for one that never was.
    package var emergency: EmergencyID

    package init(emergency: EmergencyID) {
        self.emergency = emergency
    }

    package struct Step: Codable, Sendable {
        package var at: Timestamp
        /// Who did it: `person`, `dispatcher`, or an integrator's name.
        package var actor: String
        /// What happened, kebab-case past participle: `alerted`, `confirmed`, `dispatch-attempted`, `acknowledged`, …
        package var event: String
        /// Further words without personal data: channel, attempt, status.
        package var detail: String

        package init(at: Timestamp, actor: String, event: String, detail: String) {
            (self.at, self.actor, self.event, self.detail) = (at, actor, event, detail)
        }
    }

    package struct Reply: Codable, Sendable {
        package var steps: [Step]

        package init(steps: [Step]) {
            self.steps = steps
        }
    }
}

/// Recomputes the audit chain of the running service.
package struct VerifyAudit: BusRequest {
    package static let method = "verify-audit"
    package static let owner = Peer.sosDispatcher
    package static let clients: Set<Peer> = [.trackme]
    package static let mutates = false
    package static let mostAnchors = 10_000

    /// Signed heads of the chain that were kept elsewhere, one line of JSON each: the other dispatcher's answer has such, and the operator's
    /// file (`sos.audit_anchor_file`). Those of another chain are skipped.
    package var anchors: [String]?

    package init(anchors: [String]? = nil) {
        self.anchors = anchors
    }

    package struct Reply: Codable, Sendable {
        /// How many were checked: all that there are.
        package var rows: Int64
        /// The place of the first row whose number, content or link does not fit; nil where all do.
        package var firstBroken: Int64?
        /// Hash of the last row, SHA-256 in hex: kept elsewhere, it shows later that the end was not cut off.
        package var head: String
        /// What disagrees with an anchor, and rows of emergencies that disagree with the chain: the first of each.
        package var faults: [String]?
        /// How many genuine anchors of this chain it was held against.
        package var checked: Int?
        /// How many of those came with the request.
        package var given: Int?
        /// What this dispatcher was told of the other's chain: the newest, to verify that one with.
        package var anchorsOfOther: [String]?

        package init(
            rows: Int64, firstBroken: Int64?, head: String, faults: [String]? = nil, checked: Int? = nil, given: Int? = nil,
            anchorsOfOther: [String]? = nil
        ) {
            (self.rows, self.firstBroken, self.head) = (rows, firstBroken, head)
            (self.faults, self.checked, self.given, self.anchorsOfOther) = (faults, checked, given, anchorsOfOther)
        }
    }
}

/// Said by the SOS dispatcher on `sos.emergencies` at each change of an emergency. Personal only in that it ties an emergency
/// to a person's internal id: values and places are not in it.
package struct EmergencyChanged: Codable, Sendable {
    package static let type = "emergency-changed.v1"

    package var emergency: EmergencyID
    package var person: PersonID
    /// `opened`, `dispatched`, `acknowledged`, `cancelled`, `transient`, `muted`, `closed`.
    package var change: String
    package var at: Timestamp
    /// How often the person's devices are asked to measure from now on (SOS-11); nil once the episode is over: as they declared.
    package var measurementsPerSecond: Double?

    package init(emergency: EmergencyID, person: PersonID, change: String, at: Timestamp, measurementsPerSecond: Double? = nil) {
        (self.emergency, self.person, self.change, self.at) = (emergency, person, change, at)
        self.measurementsPerSecond = measurementsPerSecond
    }
}
