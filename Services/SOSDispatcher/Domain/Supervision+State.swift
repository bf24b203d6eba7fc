// What one subscriber's supervision remembers, and what an upload looks like to it.

import Contracts

extension Supervision {
    enum Stage: String, Codable, Sendable {
        case off
        case monitoring
        case suspended
        case paused
        case alerted
        case confirmed
        case askedAgain = "asked-again"
        case dispatching
        case dispatched
        case stoodDown = "stood-down"
    }

    /// Everything that must survive a restart. Its stored forms of before are read in `Supervision+FormerState.swift`.
    struct State: Hashable, Encodable, Sendable {
        var stage = Stage.off
        /// Whether the person is subscribed; an emergency goes on without.
        var subscribed = false
        var own: [Metric: Bounds] = [:]
        /// Bounds out of the person's own history (SOS-07); nil where there are none.
        var personal: [Metric: Bounds]?
        /// Whether shaking alerts the contacts (SOS-23); nil is false.
        var shaking: Bool?
        /// Whether and how falls are watched (SOS-36); nil where they are not.
        var falls: FallWatch?
        /// The latest shaking that was reported, while it stands for a seizure.
        var seizure: Seizure?
        /// What each device has said, by its id.
        var sources: [String: Source] = [:]
        /// The emergency, or the question, of the stages from `alerted` to `stoodDown`.
        var episode: Episode?
        /// Breaches for which the person said "I am fine" (SOS-33).
        var mutes: [Breach: Mute]?
        /// A reading that is doubted (SOS-38), a fall that nobody has answered (SOS-36), a reading that came late (SOS-37): each with when
        /// that ends.
        var doubt: Episode?
        var fall: Episode?
        var late: Episode?
        /// The impact of which it is not known yet whether somebody lies still after it, by its measured and its own time.
        var impact: Impact?
        /// When silence since joining becomes a signal loss; nil once something was heard, or that has been said.
        var joiningDue: Timestamp?
        /// Whether nothing was heard since joining and the person was warned of it; nil is false.
        var joiningLost: Bool?
        /// How often supervision has begun to listen anew; nil is never. Both dispatchers count alike, whatever each one's clock says.
        var joins: Int?
        /// Signals that have fallen silent.
        var silences: [Parameter: Silence]?
        /// When a warning of a signal last sounded.
        var sounded: [Parameter: Timestamp]?
        /// When the contacts hear of a silence; nil where they need not.
        var contactsDue: Timestamp?
        /// Whether they have been told of this silence, or of the emergency before it; nil is false.
        var contactsTold: Bool?
        /// The newest sign of life.
        var lastHeard: LastHeard?
        /// The last call for help that counted.
        var help: Help?
        /// What the person has answered last, "I am fine" or a false alarm, the newest last. Both dispatchers know it, called or not.
        var answered: [Trigger]?
        /// The calls for help and the falls that counted last, by metric.
        var reports: [Metric: Reports]?
        /// Whether everything that measures the person's vital signs lies in its charger (SOS-27); nil is false.
        var charging: Bool?
        /// Whether the person has paused monitoring: nothing is measured then, so silence tells nothing. nil is false.
        var monitoringPaused: Bool?
        /// From the machine's time line to ingest's own clock, as the latest upload had it, in milliseconds.
        var wallOffset: Int64?
        /// By how many milliseconds ingest's clock was ahead of this dispatcher's; nil where they agreed (`ReceiptPlace`).
        var clockSkew: Int64?
        var now = Timestamp(milliseconds: .min)

        /// As many as a question may be asked again about, and those beside.
        static let mostAnswered = 4

        enum CodingKeys: String, CodingKey {
            case stage, subscribed, own, personal, shaking, falls, seizure, sources, episode, mutes, doubt, fall, late, impact
            case joiningDue, joiningLost, joins, silences, sounded, contactsDue, contactsTold, lastHeard, help, answered, reports
            case charging, monitoringPaused, wallOffset, clockSkew, now
        }

        init() {}

        func thresholds(by rules: SupervisionRules) -> Thresholds {
            Thresholds(own: own, personal: personal ?? [:], rules: rules)
        }
    }

    /// What is known of one device.
    struct Source: Hashable, Codable, Sendable {
        /// So many are remembered; the one heard longest ago is forgotten.
        static let most = 16

        var latest: [Metric: LatestValue] = [:]
        var signals: [Metric: SourceSignal] = [:]
        /// Breaches that were critical by its values.
        var runs: [Breach: Run]?
        /// Watched metrics whose readings are finer than anybody rounds to and do not change.
        var unchanged: [Metric: UnchangedRun]?
        /// The vital metrics of its newest upload in which something counted.
        var together: Set<Metric>?
        /// Whether a reading has been doubted since then; nil is false.
        var tornSeen: Bool?
    }

    struct Mute: Hashable, Codable, Sendable {
        var course: BreachCourse
        var until: Timestamp
        /// Past its end without a reading: the next one decides; nil is false.
        var isLapsed: Bool?
    }

    struct Silence: Hashable, Codable, Sendable {
        var since: Timestamp
        /// Whether the person was warned of it: not while everything charges.
        var isSaid: Bool
    }

    struct Help: Hashable, Codable, Sendable {
        /// Its own time.
        var at: Timestamp
        /// When it counted; nil once it was answered.
        var countedAt: Timestamp?
    }

    struct FallWatch: Hashable, Codable, Sendable {
        /// Whether a fall that nobody answers calls an ambulance; nil is true.
        var callsAmbulance: Bool?
        /// Until when sport keeps falls from counting, by the wall clock.
        var pausedUntil: Timestamp?
    }

    struct Impact: Hashable, Codable, Sendable {
        var measured: Timestamp
        var at: Timestamp
        /// nil where it was stored without.
        var source: String?
    }

    /// The entry after which nothing was heard, if nothing comes: a silence is named after it.
    struct LastHeard: Hashable, Codable, Sendable {
        var metric: Metric
        var value: Double
        /// Its own time, never later than it was received.
        var at: Timestamp
        /// When it was received, on the machine's time line and by ingest's own clock.
        var heardAt: Timestamp
        var receivedAt: Timestamp
        /// Up to when its age counted, where its upload said when it was written.
        var sentAt: Timestamp?

        /// On the machine's time line.
        var measured: Timestamp { heardAt - ((sentAt ?? receivedAt) - at) }
    }

    /// Shaking that was reported, for as long as it says something about the person.
    struct Seizure: Hashable, Codable, Sendable {
        /// Own time of the first report.
        var at: Timestamp
        var until: Timestamp
        /// The person says that it was nothing.
        var isCalledOff = false
    }

    /// How the person is protected, in one word for screens and questions (SOS-04, SOS-25, SOS-27).
    enum Standing: String, Codable, Sendable, CaseIterable {
        case off
        case monitoring
        /// The person paused supervision, or the recording of everything.
        case paused
        /// Nothing is heard: check status and connection of the device.
        case signalLost = "signal-lost"
        case charging
        case alerted
        case confirmed
        case askedAgain = "asked-again"
        case dispatching
        case dispatched
        case stoodDown = "stood-down"
    }

    /// One upload as supervision sees it.
    struct Upload: Sendable {
        /// When ingest received it, on the machine's time line.
        var at: Timestamp
        /// The same instant by ingest's own clock, to which the entries' ages are measured where nothing else is told.
        var receivedAt: Timestamp
        /// What the device's clock said as it wrote the upload; nil where it does not say. Ages are measured to it where it is earlier.
        var sentAt: Timestamp?
        /// The device.
        var source = ""
        /// Whether a person typed it in or imported it: it is judged, and says nothing of whether a device is heard (SOS-34).
        var isTyped = false
        /// Whether ingest refused its entries: they may alarm, and take back nothing that is stored.
        var isRefused = false
        var declaredInterval: Duration?
        /// When the device first tried to send it, by its own clock; nil where it does not say.
        var firstTriedAt: Timestamp?
        var entries: [Sample]

        /// Up to when its entries' ages count.
        var ageEnd: Timestamp { Sample.ageEnd(receivedAt: receivedAt, sentAt: sentAt) }

        func age(of entry: Sample) -> Duration { entry.age(receivedAt: receivedAt, sentAt: sentAt) }
    }
}

/// The newest value of one metric from one source.
struct LatestValue: Hashable, Codable, Sendable {
    var value: Double
    /// Its own time, never later than it was received.
    var at: Timestamp
    /// When it was measured and when it was received, on the machine's time line.
    var measured: Timestamp
    var received: Timestamp
    /// Whether nothing but what ingest refused made it: what is refused as well may take it back. nil is false.
    var isRefused: Bool?

    /// Whether what is in range of an upload that was refused says nothing against it. It does where a clock was set back since: then all
    /// that is measured now is refused.
    func stands(against upload: Supervision.Upload) -> Bool { upload.isRefused && isRefused != true && at <= upload.ageEnd }
}

/// How one breach has gone by one source's values.
struct Run: Hashable, Codable, Sendable {
    /// When it began and last went on; nil while it is in range. Times are those of measurement.
    var since: Timestamp?
    /// Since when it is in range; nil while it is critical, or if it always was.
    var calmSince: Timestamp?
    /// How many measurements.
    var length = 0
    var openings: [Timestamp] = []
}

/// How often one source delivers one metric (SOS-34).
struct SourceSignal: Hashable, Codable, Sendable {
    /// A gap that is longer than what the declared interval explains, in milliseconds, and its number.
    struct Gap: Hashable, Codable, Sendable {
        var number: Int
        var length: Int64
    }

    /// So many gaps are learnt from.
    static let window = 200
    /// With fewer the median counts, since one long gap says little.
    static let enough = 20
    /// With fewer a declared interval is believed, and one outage makes nothing a measurement on demand.
    static let first = 3

    var last: Timestamp
    /// By the source's last upload with the metric, in milliseconds; 0 for none.
    var declared: Int64
    /// Of all gaps that were seen.
    var count = 0
    var long: [Gap]?
    /// In milliseconds; nil while nothing is known. A source that delivers this metric less often than it declares is learnt. Computed
    /// when a gap is seen, since every timer of every silence asks for it.
    private(set) var interval: Int64?

    init(at time: Timestamp, declared: Int64) {
        (last, self.declared) = (time, max(0, declared))
        interval = learnt
    }

    mutating func heard(at time: Timestamp, declared: Int64, _ rules: SupervisionRules) {
        let gap = (time - last).wholeMilliseconds
        last = max(last, time)
        self.declared = max(0, declared)
        defer { interval = learnt }
        guard gap > 0 else { return }
        count += 1
        let isLong = declared <= 0 || .milliseconds(gap) > rules.silenceLimit(interval: .milliseconds(declared))
        let known = (long ?? []) + (isLong ? [Gap(number: count, length: gap)] : [])
        let kept = known.filter { $0.number > count - Self.window }
        long = kept.isEmpty ? nil : kept
    }

    private var learnt: Int64? {
        let seen = min(count, Self.window)
        guard seen > 0, declared == 0 || seen >= Self.first, let long else { return declared > 0 ? declared : nil }
        // Nearest rank among all gaps, those that are not long being the shortest.
        let rank = seen < Self.enough ? (seen + 1) / 2 : (seen * 95 + 99) / 100
        let place = rank - (seen - long.count) - 1
        let interval = place < 0 ? declared : max(declared, long.map(\.length).sorted()[place])
        return seen < Self.first && .milliseconds(interval) > SupervisionRules.longestInterval ? nil : interval
    }

    /// nil for what is measured on demand.
    func deadline(of metric: Metric, _ rules: SupervisionRules) -> Timestamp? {
        let interval = interval.map { Duration.milliseconds($0) }
        guard !metric.definition.isOnDemand, declared > 0 || interval.map({ $0 <= SupervisionRules.longestInterval }) ?? true else {
            return nil
        }
        return last + rules.silenceLimit(interval: interval)
    }
}

extension Supervision.State {
    /// What the person's history gave (empty: the defaults), and what is watched besides; from the next upload on (SOS-07, SOS-23,
    /// SOS-36).
    mutating func goBy(personal bounds: [Metric: Bounds], shaking isWatched: Bool, falls: Supervision.FallWatch?) {
        personal = bounds.isEmpty ? nil : bounds
        shaking = isWatched ? true : nil
        if !isWatched { seizure = nil }
        self.falls = falls
        // A fall that is asked about goes on: nothing but an answer ends it.
        if falls == nil { impact = nil }
    }

    var standing: Supervision.Standing {
        switch stage {
        case .off: .off
        case .monitoring: monitoringPaused == true ? .paused : .monitoring
        case .suspended: monitoringPaused == true ? .paused : charging == true ? .charging : .signalLost
        case .paused: .paused
        case .alerted: .alerted
        case .confirmed: .confirmed
        case .askedAgain: .askedAgain
        case .dispatching: .dispatching
        case .dispatched: .dispatched
        case .stoodDown: .stoodDown
        }
    }

    /// What is asked of the person beside an emergency, the most urgent first.
    var beside: [Episode] { [fall, doubt, late].compactMap(\.self) }

    /// Every value that is critical by these thresholds, of whichever source, in order of metrics.
    func criticalValues(_ thresholds: Thresholds) -> [(passed: PassedBound, at: Timestamp)] {
        var newest: [Metric: (passed: PassedBound, at: Timestamp)] = [:]
        for source in sources.values {
            for (metric, known) in source.latest where !thresholds.critical(metric, by: source.latest).isEmpty {
                guard let passed = thresholds.passed(metric, known.value), newest[metric].map({ known.at > $0.at }) ?? true else {
                    continue
                }
                newest[metric] = (passed, known.at)
            }
        }
        return newest.sorted { $0.key.number < $1.key.number }.map(\.value)
    }
}
