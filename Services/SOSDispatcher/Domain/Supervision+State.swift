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
        case dispatching
        case dispatched
        case stoodDown = "stood-down"
    }

    /// Everything that must survive a restart.
    struct State: Hashable, Codable, Sendable {
        var stage = Stage.off
        /// Whether the person is subscribed; an emergency goes on without.
        var subscribed = false
        var own: [Metric: Bounds] = [:]
        /// Bounds out of the person's own history (SOS-07); nil where there are none.
        var personal: [Metric: Bounds]?
        /// Whether shaking alerts the contacts (SOS-23); nil is false.
        var shaking: Bool?
        /// The latest shaking that was reported, while it stands for a seizure.
        var seizure: Seizure?
        var latest: [Metric: LatestValue] = [:]
        /// The emergency of the stages from `alerted` to `stoodDown`; while monitoring, the one for which the person said
        /// "I am fine": its parameters are muted.
        var episode: Episode?
        /// When silence becomes a signal loss; nil once that has been said.
        var silenceDue: Timestamp?
        /// When the contacts hear of it; nil where they need not.
        var contactsDue: Timestamp?
        /// Whether they have been told of this silence, or of the emergency before it; nil is false.
        var contactsTold: Bool?
        /// The newest sign of life.
        var lastHeard: LastHeard?
        /// The vital metrics of the newest upload with a sign of life; nil where there was none.
        var heardTogether: Set<Metric>?
        /// Whether a reading has been passed over as torn in the silence that goes on; nil is false.
        var tornSeen: Bool?
        /// Metrics whose readings are finer than anybody rounds to and do not change.
        var unchanged: [Metric: UnchangedRun]?
        /// Whether everything that measures the person's vital signs lies in its charger (SOS-27); nil is false.
        var charging: Bool?
        /// Whether the person has paused monitoring: nothing is measured then, so silence tells nothing. nil is false.
        var monitoringPaused: Bool?
        var now = Timestamp(milliseconds: .min)

        func thresholds(by rules: SupervisionRules) -> Thresholds {
            Thresholds(own: own, personal: personal ?? [:], rules: rules)
        }
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
        case dispatching
        case dispatched
        case stoodDown = "stood-down"
    }

    /// One upload as supervision sees it.
    struct Upload: Sendable {
        /// When ingest received it, on the machine's time line.
        var at: Timestamp
        /// The same instant by ingest's own clock, to which the entries' ages are measured.
        var receivedAt: Timestamp
        var declaredInterval: Duration?
        var entries: [Sample]
    }
}

extension Supervision.State {
    /// What the person's history gave (empty: the defaults), and whether shaking is to alert the contacts; from the next upload on
    /// (SOS-07, SOS-23).
    mutating func goBy(personal bounds: [Metric: Bounds], shaking isWatched: Bool) {
        personal = bounds.isEmpty ? nil : bounds
        shaking = isWatched ? true : nil
        if !isWatched { seizure = nil }
    }

    /// The person's data are erased, the supervision goes on: nothing that was measured, or computed from it, is known any more.
    mutating func forgetMeasured() {
        latest = [:]
        (personal, lastHeard, unchanged, seizure) = (nil, nil, nil, nil)
        heardTogether = nil
    }

    var standing: Supervision.Standing {
        switch stage {
        case .off: .off
        case .monitoring: monitoringPaused == true ? .paused : .monitoring
        case .suspended: monitoringPaused == true ? .paused : charging == true ? .charging : .signalLost
        case .paused: .paused
        case .alerted: .alerted
        case .confirmed: .confirmed
        case .dispatching: .dispatching
        case .dispatched: .dispatched
        case .stoodDown: .stoodDown
        }
    }
}
