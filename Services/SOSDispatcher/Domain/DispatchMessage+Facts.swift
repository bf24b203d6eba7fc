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
        decidedAt = facts.decidedAt.rfc3339
        expires = (facts.sent + DispatchLetterhead.validity).rfc3339
        references = DispatchMessage.references(before: facts.id)
        sender = Sender(organisation: letterhead.organisation, system: "sos-dispatcher", contact: letterhead.contact)
        headline = DispatchMessage.headline(began, facts)
        trigger = Trigger(
            kind: kind.rawValue, automatic: true,
            threshold: kind == .silence ? nil : PassedThreshold(began.breach, at: began.at, course),
            silentSince: kind == .silence ? began.at.rfc3339 : nil)
        parameters = DispatchMessage.passed(facts.subscriber, thresholds)
        (urgency, severity, certainty) = facts.kind == .cancel ? ("past", "unknown", "unlikely") : ("immediate", "extreme", "observed")
        if facts.kind != .cancel, kind == .silence { (severity, certainty) = ("severe", "possible") }
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
        return switch facts.kind {
        case .alert: "Person in danger: \(danger)"
        case .update where facts.isLocated: "Person in danger, position now known; first: \(danger)"
        case .update: "Person in danger, further values critical; first: \(danger)"
        case .cancel: "Cancelled by the person; was: \(danger)"
        }
    }

    private static func danger(_ trigger: SOSDispatcher.Trigger) -> String {
        let (breach, definition) = (trigger.breach, trigger.breach.metric.definition)
        return switch trigger.kind {
        case .threshold:
            "\(definition.english) \(written(breach.value)) \(definition.unit), \(breach.side.rawValue) \(written(breach.limit))"
        case .shaking: "repetitive shaking motion as in a seizure"
        case .silence: "no vital sign received since \(trigger.at.rfc3339), contacts alerted"
        }
    }

    /// Without a fraction where there is none.
    private static func written(_ value: Double) -> String {
        Int64(exactly: value).map { String($0) } ?? String(value)
    }

    private static func passed(_ subscriber: Subscriber, _ thresholds: Thresholds) -> [PassedThreshold] {
        let latest = subscriber.supervision.latest
        return latest.sorted { $0.key.number < $1.key.number }.compactMap { metric, known in
            guard !thresholds.critical(metric, by: latest).isEmpty, let breach = thresholds.breach(of: metric, value: known.value)
            else { return nil }
            return PassedThreshold(breach, at: known.at, subscriber.course)
        }
    }

    private static func vitals(_ course: RecentCourse) -> [Vital] {
        course.readings.sorted { $0.key.number < $1.key.number }.compactMap { metric, readings in
            readings.last.map { Vital(code: metric.code, value: $0.value, unit: metric.definition.unit, at: $0.at.rfc3339) }
        }
    }
}

extension DispatchMessage.PassedThreshold {
    fileprivate init(_ breach: Breach, at: Timestamp, _ course: RecentCourse) {
        let definition = breach.metric.definition
        self.init(
            metric: definition.code, loinc: definition.loinc, side: breach.side.rawValue, limit: breach.limit, value: breach.value,
            unit: definition.unit, at: at.rfc3339,
            samples: (course.readings[breach.metric] ?? []).map { .init(at: $0.at.rfc3339, value: $0.value) })
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
