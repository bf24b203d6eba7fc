// One stretch of critical values, a fall, a call for help: what an emergency is made of, and what a person is asked about.

import Contracts

/// The one entry that an emergency refers to (SOS-24, INV-14), and how it was critical.
struct Trigger: Hashable, Codable, Sendable {
    enum Kind: String, Codable, Sendable, CaseIterable {
        /// A value left its range.
        case threshold
        /// The wearable felt repetitive shaking: what was passed has its metric, for how many seconds, and 0 as limit (SOS-23).
        case shaking
        /// Nothing was heard any more: the entry is the last one before, its value stands twice, since silence has no bound.
        case silence
        /// A fall was reported or judged, with 0 as limit (SOS-36).
        case fall
        /// The person called for help, with 0 as limit and value (SOS-35).
        case manual
    }

    var passed: PassedBound
    /// The entry's own time; with person and metric it names the emergency.
    var at: Timestamp
    /// nil in what was written before there were others: a threshold.
    private var otherKind: Kind?
    /// How many emergencies by this very entry the person has answered before, for a question that is asked again about it; nil for none.
    /// Part of the name: under the former one the emergency service may have taken a call and its cancellation already.
    var answeredBefore: Int?
    /// The name itself, of an emergency that goes on though nothing else is known of what it came from; nil for one that is derived.
    var emergency: EmergencyID?

    private enum CodingKeys: String, CodingKey {
        case passed = "breach"
        case at
        case otherKind = "kind"
        case answeredBefore
        case emergency
    }

    var kind: Kind { otherKind ?? .threshold }

    init(_ passed: PassedBound, at: Timestamp, kind: Kind = .threshold) {
        (self.passed, self.at) = (passed, at)
        otherKind = kind == .threshold ? nil : kind
    }

    /// Of something that happened, with its length in seconds where it is known.
    init(_ event: Metric, lasting value: Double? = nil, at: Timestamp, kind: Kind) {
        self.init(PassedBound(metric: event, side: .above, limit: 0, value: value ?? 0), at: at, kind: kind)
    }

    /// What went wrong, where it is not the metric by itself: part of the emergency's name.
    var word: String { kind == .silence ? kind.rawValue : passed.metric.code }

    func isOfSameEntry(as other: Trigger) -> Bool { (word, at) == (other.word, other.at) }
}

/// How one breach has gone since it was opened, and what of that the person or the emergency service knows.
struct BreachCourse: Hashable, Codable, Sendable {
    /// How often the person said "I am fine" to it.
    var answers = 0
    /// On the low side, the lowest critical value.
    var lowest: Double?
    /// Whether a value was beyond the severe bound.
    var isSevere = false
    /// The two as they were when it was last answered, called for or sent as worse; nil before.
    var told: Told?
    /// Whether it was asked about again because nothing came after it.
    var askedInSilence: Bool?
    /// Whether the contacts know that it is worse.
    var contactsKnow: Bool?
    /// Where the other dispatcher opened it by an entry that was not heard here yet: when ingest received that, by ingest's own clock, which
    /// is the same on both sides whenever they come to hear it. Up to then nothing begins anew.
    var adoptedUpTo: Timestamp?

    struct Told: Hashable, Codable, Sendable {
        var lowest: Double?
        var isSevere: Bool
    }

    mutating func tell() { told = Told(lowest: lowest, isSevere: isSevere) }

    mutating func note(_ value: Double, of breach: Breach, isSevere: Bool) {
        if breach.side == .below { lowest = min(lowest ?? value, value) }
        self.isSevere = self.isSevere || isSevere
    }

    /// Whether the value is worse than what is known (SOS-32 b).
    func isWorse(_ value: Double, of breach: Breach, isSevere: Bool) -> Bool {
        guard let told else { return false }
        if isSevere, !told.isSevere { return true }
        return breach.side == .below && told.lowest.map { value * 4 <= $0 * 3 } ?? false
    }
}

struct Episode: Hashable, Codable, Sendable {
    var trigger: Trigger
    /// When ingest received the first critical entry, on the machine's time line: timers count from here.
    var t0: Timestamp
    /// The same instant by ingest's own clock: what people and integrators are told.
    var receivedAt: Timestamp
    /// Every breach that has been critical in it and was not muted.
    var open: [Breach: BreachCourse]
    /// The first of the uploads by which all values are in range, once the call is due; nil while they are not.
    var normalSince: Timestamp?
    /// When the emergency service took the call, or the person said that help is here; nil before.
    var settledAt: Timestamp?
    /// When what it asks is taken for unanswered, where that is not counted from `t0` by table SOS-S.
    var dueAt: Timestamp?
    /// Whether values in range do not close it: a call for help or a fall came to it.
    var isKept: Bool?
    /// When the person first said that help is here while nobody had taken the call.
    var askedBackAt: Timestamp?
    var helpIsHere: Bool?
    /// Of a fall that is judged from acceleration: movement ends it.
    var isJudged: Bool?
    /// When the device first tried to send the first critical entry, by its own clock (SOS-41); no timer counts from it.
    var firstTriedAt: Timestamp?

    var parameters: Set<Parameter> { Set(open.keys.map(\.parameter)) }

    init(trigger: Trigger, t0: Timestamp, receivedAt: Timestamp, open: [Breach: BreachCourse] = [:], dueAt: Timestamp? = nil) {
        (self.trigger, self.t0, self.receivedAt, self.open, self.dueAt) = (trigger, t0, receivedAt, open, dueAt)
    }

    /// Whether values in range do not close it.
    var isHeldOpen: Bool { isKept == true && helpIsHere != true }

    /// A call for help or a fall came to it; whoever said that help is here said so of what was before.
    mutating func keep() { (isKept, helpIsHere) = (true, nil) }

    mutating func tellAll() {
        for breach in open.keys { open[breach]?.tell() }
    }
}

extension Episode {
    private enum CodingKeys: String, CodingKey {
        case trigger, t0, receivedAt, open, normalSince, settledAt, dueAt, isKept, askedBackAt, helpIsHere, isJudged, firstTriedAt
    }

    private enum FormerKeys: String, CodingKey {
        case parameters
    }

    /// Reads also what was stored while an emergency had parameters without directions.
    init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        trigger = try values.decode(Trigger.self, forKey: .trigger)
        t0 = try values.decode(Timestamp.self, forKey: .t0)
        receivedAt = try values.decode(Timestamp.self, forKey: .receivedAt)
        normalSince = try values.decodeIfPresent(Timestamp.self, forKey: .normalSince)
        settledAt = try values.decodeIfPresent(Timestamp.self, forKey: .settledAt)
        dueAt = try values.decodeIfPresent(Timestamp.self, forKey: .dueAt)
        isKept = try values.decodeIfPresent(Bool.self, forKey: .isKept)
        askedBackAt = try values.decodeIfPresent(Timestamp.self, forKey: .askedBackAt)
        helpIsHere = try values.decodeIfPresent(Bool.self, forKey: .helpIsHere)
        firstTriedAt = try values.decodeIfPresent(Timestamp.self, forKey: .firstTriedAt)
        isJudged = try values.decodeIfPresent(Bool.self, forKey: .isJudged)
        if let open = try values.decodeIfPresent([Breach: BreachCourse].self, forKey: .open) {
            self.open = open
        } else {
            let former = try decoder.container(keyedBy: FormerKeys.self).decode(Set<Parameter>.self, forKey: .parameters)
            let passed = trigger.passed
            open = Dictionary(
                uniqueKeysWithValues: former.map { parameter in
                    (Breach(parameter, parameter == .metric(passed.metric) ? passed.side : .above), BreachCourse())
                })
        }
    }
}
