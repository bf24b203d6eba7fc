// The figures by which people are supervised; `docs/sos-rules.md` prints them in bold.

import Contracts

/// What of supervision the operator may set, as values of the domain. All ranges are checked by `Settings`.
struct SupervisionRules: Hashable, Sendable {
    /// Whether the default of blood pressure needs both values beyond, or one (CON-27).
    enum PressureRule: String, CaseIterable, Sendable {
        case and
        case or
    }

    var heartRateLow = 45.0
    var heartRateHigh = 120.0
    var pressureMaxHigh = 170.0
    var pressureMinHigh = 100.0
    var pressureRule = PressureRule.and
    /// How long an alert must last before the call is due even if values recover (SOS-12).
    var sustain = Duration.seconds(3)
    /// From `t0` to the call, at least `sustain` (SOS-15).
    var dispatchAt = Duration.milliseconds(3500)
    /// Entries older than this on arrival are passed over (SOS-09).
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
    /// How long values stay normal before an acknowledged emergency is closed.
    var normalBeforeClosing = Duration.seconds(120)
    /// How much longer than for a signal loss an acknowledged emergency waits for a sign of life; then it is closed, since one
    /// that stayed open would take in the next one.
    var silenceBeforeClosing = Duration.seconds(3600)
    /// How long the latest value of a metric stands for how the person is, at least; nobody is critical by yesterday's reading.
    /// As long does shaking stand for a seizure.
    var valueHolds = Duration.seconds(600)

    /// How long a source may be silent: three of its own intervals, if it measures seldom.
    func silenceLimit(declaredInterval: Duration?) -> Duration {
        max(signalLost, (declaredInterval ?? .zero) * 3)
    }

    /// How long a value of such a source is the latest one.
    func holding(declaredInterval: Duration?) -> Duration {
        max(valueHolds, (declaredInterval ?? .zero) * 3)
    }
}
