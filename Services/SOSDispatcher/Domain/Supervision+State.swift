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
        var latest: [Metric: LatestValue] = [:]
        /// The emergency of the stages from `alerted` to `stoodDown`; while monitoring, the one for which the person said
        /// "I am fine": its parameters are muted.
        var episode: Episode?
        /// When silence becomes a signal loss; nil once that has been said.
        var silenceDue: Timestamp?
        /// Whether the person has paused monitoring: nothing is measured then, so silence tells nothing. nil is false.
        var monitoringPaused: Bool?
        var now = Timestamp(milliseconds: .min)
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
