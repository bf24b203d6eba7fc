// The figures by which people are supervised; `docs/sos-rules.md` prints them in bold.

import Contracts

/// What of supervision the operator may set, as values of the domain. All ranges are checked by `Settings`.
struct SupervisionRules: Hashable, Sendable {
    /// Whether the default of blood pressure needs both values beyond, or one (CON-27).
    enum PressureRule: String, CaseIterable, Sendable {
        case and
        case or
    }

    /// What is critical unless a person has other bounds, by metric: the registry's, until the operator sets others (ING-06, SOS-05).
    var defaults: [Metric: Bounds]
    /// Beyond these a breach is severe (SOS-32).
    var severe: [Metric: Bounds]
    var pressureRule = PressureRule.and
    /// How long an alert must last before the call is due even if values recover (SOS-12).
    var sustain = Duration.seconds(3)
    /// From `t0` to the call, at least `sustain` (SOS-15).
    var dispatchAt = Duration.milliseconds(3500)
    /// Entries older than this on arrival are skipped (SOS-09).
    var maximumAge = Duration.seconds(60)
    /// Silence shorter than this is never a signal loss (SOS-25).
    var signalLost = Duration.seconds(30)
    /// How long after the person was warned of a signal loss the contacts are told.
    var silenceContacts = Duration.seconds(300)
    /// Whether an ambulance is called then too.
    var silenceCallsAmbulance = false
    /// Whether shaking calls an ambulance too, besides alerting the contacts (SOS-23).
    var seizureCallsAmbulance = false
    /// Measurements per second that devices are asked for from an alert until the episode is over (SOS-11).
    var alertRate = 3.0
    /// How long "I am fine" holds (SOS-33).
    var mute = Duration.seconds(300)
    /// How long somebody who is asked again has to answer.
    var reask = Duration.seconds(60)
    /// How long a breach was in range before it begins anew.
    var calm = Duration.seconds(10)
    /// How long a doubted reading waits for another (SOS-38).
    var doubt = Duration.seconds(20)
    /// How long whoever fell has to answer (SOS-36).
    var fallPrompt = Duration.seconds(20)
    /// How long somebody lies still after an impact until it is called for.
    var still = Duration.seconds(20)

    /// How long values stay normal before an acknowledged emergency is closed.
    var normalBeforeClosing = Duration.seconds(120)

    /// The defaults are what the registry says.
    init(registry: [MetricDefinition] = Metric.all.map(\.definition)) {
        func bounds(_ side: KeyPath<MetricDefinition, Bounds?>) -> [Metric: Bounds] {
            var found: [Metric: Bounds] = [:]
            for definition in registry {
                guard let metric = Metric(number: definition.number), let bounds = definition[keyPath: side] else { continue }
                found[metric] = bounds
            }
            return found
        }
        (defaults, severe) = (bounds(\.bounds), bounds(\.severe))
    }
}

/// What is fixed by `docs/sos-rules.md`.
extension SupervisionRules {
    /// How much longer than for a signal loss an acknowledged emergency waits for a sign of life; then it is closed, since one that
    /// stayed open would take in the next one.
    static let silenceBeforeClosing = Duration.seconds(3600)
    /// After so long an emergency that values do not close is over.
    static let keptFor = Duration.seconds(86_400)
    /// How long the latest value of a metric stands for how the person is, at least. As long does shaking stand for a seizure, and as
    /// old may a reading be that is told to the contacts.
    static let valueHolds = Duration.seconds(600)
    /// Openings of one breach within this time are counted, and readings of another source believed.
    static let recent = Duration.seconds(60)
    static let openingsThatSustain = 3
    static let longestMute = Duration.seconds(900)
    static let severeLowMute = Duration.seconds(60)
    static let reaskLow = Duration.seconds(20)
    /// A call for help within this time of another is the same one.
    static let sameHelp = Duration.seconds(10)
    /// A call for help, or a fall, whose own time differs by no more from when it is received comes as it happens.
    static let live = Duration.seconds(10)
    /// Calls for help, and falls, that come later than this are past.
    static let oldestEvent = Duration.seconds(900)
    /// A source that measures less often is asked by somebody each time.
    static let longestInterval = Duration.seconds(3600)
    /// So often may a warning of one signal sound.
    static let soundEvery = Duration.seconds(21_600)
    /// How long "help is here" can be said a second time to count.
    static let askedBackFor = Duration.seconds(60)

    /// How long a source may be silent: three of its own intervals, if it measures seldom.
    func silenceLimit(interval: Duration?) -> Duration {
        max(signalLost, (interval ?? .zero) * 3)
    }

    /// How long a value of such a source is the latest one.
    static func holding(interval: Duration) -> Duration {
        max(valueHolds, interval * 3)
    }

    func muteLength(of breach: Breach, _ course: BreachCourse) -> Duration {
        switch breach.side {
        case .below: course.isSevere ? min(mute, Self.severeLowMute) : mute
        case .above: min(mute * (1 << min(course.answers - 1, 10)), max(mute, Self.longestMute))
        }
    }
}
