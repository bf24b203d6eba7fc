// How a message is made of what is known.

import Contracts

/// What does not change from message to message.
struct DispatchLetterhead: Sendable {
    var status = DispatchMessage.Status.actual
    var organisation = "TrackMe"
    var contact: String?
    /// Where integrators reach this service, without a slash at the end.
    var publicURL = "https://localhost:8443"
    /// A call is worth answering for so long.
    static let validity = Duration.seconds(86_400)
    /// An acknowledgement is wanted within this time of `sent`.
    static let acknowledgeWithin = Duration.seconds(5)
    /// A place measured longer ago is not vouched for.
    static let placeTrusted = Duration.seconds(60)
    /// eCall's measure of a position that can be trusted, in metres.
    static let trustedAccuracy = 150.0
}

/// Everything that one message says. Times are by the wall clock: people read them.
struct DispatchFacts: Sendable {
    var id: MessageID
    var kind: DispatchMessage.Kind
    var episode: Episode
    var subscriber: Subscriber
    var rules: SupervisionRules
    /// The person's name for integrators.
    var pid: String
    var decidedAt: Timestamp
    var sent: Timestamp
    var calledOffBy: AnswerPrompt.Answer?
    /// Whether the place is what an update is about.
    var isLocated = false
    /// What became worse, where that is what the message is about.
    var worse: Worse?
    var trace: String
    /// What acknowledges the message by text or telephone.
    var code: String?
}

extension DispatchMessage {
    init(_ facts: DispatchFacts, under letterhead: DispatchLetterhead) {
        let thresholds = facts.subscriber.supervision.thresholds(by: facts.rules)
        let course = facts.subscriber.course
        let (began, kind) = (facts.episode.trigger, facts.episode.trigger.kind)
        messageId = facts.id.description
        emergencyId = facts.id.emergency.description
        seq = facts.id.sequence
        msgType = facts.kind
        status = letterhead.status
        sent = facts.sent.rfc3339
        firstBreachAt = facts.episode.receivedAt.rfc3339
        firstTriedAt = facts.episode.firstTriedAt?.rfc3339
        decidedAt = facts.decidedAt.rfc3339
        expires = (facts.sent + DispatchLetterhead.validity).rfc3339
        references = DispatchMessage.references(before: facts.id)
        sender = Sender(organisation: letterhead.organisation, system: "sos-dispatcher", contact: letterhead.contact)
        headline = DispatchMessage.headline(began, facts)
        trigger = Trigger(
            kind: kind.rawValue, automatic: kind != .manual,
            threshold: kind.hasValue ? PassedThreshold(began.passed, at: began.at, course) : nil,
            silentSince: kind == .silence ? began.at.rfc3339 : nil)
        parameters = DispatchMessage.passed(facts.subscriber, thresholds)
        worse = facts.worse.map(DispatchMessage.worsenings)
        (urgency, severity, certainty) = facts.kind == .cancel ? ("past", "unknown", "unlikely") : ("immediate", "extreme", "observed")
        if facts.kind != .cancel, kind == .silence { (severity, certainty) = ("severe", "possible") }
        if worse != nil { (severity, certainty) = (DispatchMessage.worse, "observed") }
        subject = Subject(pid: facts.pid, facts.subscriber.card)
        location = Location(facts.subscriber.places, home: facts.subscriber.card?.address, at: facts.sent)
        vitals = DispatchMessage.vitals(course)
        ack = AcknowledgeAt(
            url: "\(letterhead.publicURL)/sos/v1/dispatches/\(facts.id)/acknowledgements",
            deadline: (facts.sent + DispatchLetterhead.acknowledgeWithin).rfc3339, code: facts.code)
        reason = facts.calledOffBy.map { Reason(by: "person", answer: $0.rawValue) }
        trace = Trace(traceId: facts.trace, decidedAfterMs: max(0, (facts.decidedAt - facts.episode.receivedAt).wholeMilliseconds))
    }

    private static func headline(_ trigger: SOSDispatcher.Trigger, _ facts: DispatchFacts) -> String {
        let danger = danger(trigger)
        if let worse = facts.worse { return "Worse: \(self.danger(worse.trigger)); first: \(danger)" }
        return switch facts.kind {
        case .alert: "Person in danger: \(danger)"
        case .update where facts.isLocated: "Person in danger, position now known; first: \(danger)"
        case .update: "Person in danger, further values critical; first: \(danger)"
        case .cancel: "Cancelled by the person; was: \(danger)"
        }
    }

    private static func danger(_ trigger: SOSDispatcher.Trigger) -> String {
        let (passed, definition) = (trigger.passed, trigger.passed.metric.definition)
        return switch trigger.kind {
        case .threshold:
            "\(definition.english) \(written(passed.value)) \(definition.unit), \(passed.side.rawValue) \(written(passed.limit))"
        case .shaking: "repetitive shaking motion as in a seizure"
        case .fall: "fall, no answer since"
        case .manual: "the person calls for help"
        case .silence: "no vital sign received since \(trigger.at.rfc3339), contacts alerted"
        }
    }

    /// Without a fraction where there is none.
    private static func written(_ value: Double) -> String {
        Int64(exactly: value).map { String($0) } ?? String(value)
    }

    private static func passed(_ subscriber: Subscriber, _ thresholds: Thresholds) -> [PassedThreshold] {
        subscriber.supervision.criticalValues(thresholds).map { PassedThreshold($0.passed, at: $0.at, subscriber.course) }
    }

    private static func worsenings(_ worse: Worse) -> [Worsening] {
        let named = worse.breaches.map { Worsening(parameter: "\($0.parameter)", side: $0.side.rawValue) }
        return named.isEmpty ? [Worsening(parameter: worse.trigger.word, side: nil)] : named
    }

    private static func vitals(_ course: RecentCourse) -> [Vital] {
        course.readings.sorted { $0.key.number < $1.key.number }.compactMap { metric, readings in
            readings.last.map { Vital(code: metric.code, value: $0.value, unit: metric.definition.unit, at: $0.at.rfc3339) }
        }
    }
}

extension Trigger.Kind {
    /// Whether a value says what went wrong.
    fileprivate var hasValue: Bool { self == .threshold || self == .shaking }
}

extension DispatchMessage.PassedThreshold {
    fileprivate init(_ passed: PassedBound, at: Timestamp, _ course: RecentCourse) {
        let definition = passed.metric.definition
        self.init(
            metric: definition.code, loinc: definition.loinc, side: passed.side.rawValue, limit: passed.limit, value: passed.value,
            unit: definition.unit, at: at.rfc3339,
            samples: (course.readings[passed.metric] ?? []).map { .init(at: $0.at.rfc3339, value: $0.value) })
    }
}

extension DispatchMessage.Subject {
    /// What is absent from the card, the person did not give or did not consent to.
    fileprivate init(pid: String, _ card: EmergencyCard?) {
        self.init(
            pid: pid, basis: "vital_interest", name: card?.name, telephone: card?.telephone, language: card?.language,
            birthYear: card?.birthYear, sex: card?.sex, medicalNotes: card?.medicalNotes)
    }
}

extension DispatchMessage.Location {
    /// - Parameter home: told only where no place was ever known, and marked as such (SOS-20).
    fileprivate init(_ places: LatestPlaces, home: String?, at now: Timestamp) {
        guard let newest = places.places.first else {
            self.init(
                method: "none", trusted: false, previous: [],
                address: home.map { DispatchMessage.Address(text: $0, source: "profile") })
            return
        }
        let age = max(.zero, now - newest.at)
        self.init(
            method: "gnss", lat: newest.position.latitude, lon: newest.position.longitude, accuracyM: newest.position.accuracy,
            altitudeM: newest.position.altitude, measuredAt: newest.at.rfc3339, ageS: age.components.seconds,
            trusted: places.knowledge(at: now) == .trusted,
            previous: places.places.dropFirst().map {
                DispatchMessage.Place(lat: $0.position.latitude, lon: $0.position.longitude, measuredAt: $0.at.rfc3339)
            })
    }
}
