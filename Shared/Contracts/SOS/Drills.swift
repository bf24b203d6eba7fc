// Test emergencies: sent to integrators on the real way, never counted as real.

/// Sends one test emergency to one integrator.
package struct RunDrill: BusRequest {
    package static let method = "run-drill"
    package static let owner = Peer.sosDispatcher
    package static let clients: Set<Peer> = [.trackme]
    package static let mutates = true

    package enum Kind: String, Codable, Sendable, CaseIterable {
        /// Nobody need look: shows that the lines work.
        case test
        /// People at the desk take part.
        case exercise
    }

    /// Its name; `not-found` for one that is not registered or was removed.
    package var integrator: String
    package var kind: Kind

    package init(integrator: String, kind: Kind) {
        (self.integrator, self.kind) = (integrator, kind)
    }

    package struct Reply: Codable, Sendable {
        /// Names the drill in `read-drills`; it is no emergency of anybody.
        package var emergency: EmergencyID

        package init(emergency: EmergencyID) {
            self.emergency = emergency
        }
    }
}

/// Lets the dispatcher send drills by itself, or no more.
package struct ScheduleDrill: BusRequest {
    package static let method = "schedule-drill"
    package static let owner = Peer.sosDispatcher
    package static let clients: Set<Peer> = [.trackme]
    package static let mutates = true
    package typealias Reply = Nothing

    /// Its name; `not-found` for one that is not registered or was removed, `conflict` for the one of the dispatcher's settings.
    package var integrator: String
    /// 0.01 to 8760; nil: no more.
    package var everyHours: Double?

    package init(integrator: String, everyHours: Double?) {
        (self.integrator, self.everyHours) = (integrator, everyHours)
    }
}

/// What came of drills, newest first.
package struct ReadDrills: BusRequest {
    package static let method = "read-drills"
    package static let owner = Peer.sosDispatcher
    package static let clients: Set<Peer> = [.trackme]
    package static let mutates = false

    /// Its name; nil for all.
    package var integrator: String?
    /// 1 to 1000.
    package var limit: Int

    package init(integrator: String?, limit: Int) {
        (self.integrator, self.limit) = (integrator, limit)
    }

    package struct Entry: Codable, Sendable {
        package var emergency: EmergencyID
        package var integrator: String
        package var kind: RunDrill.Kind
        package var at: Timestamp
        /// `acknowledged`, `refused`, `given-up`, or nil while it is still tried.
        package var outcome: String?
        /// From the first attempt to that.
        package var afterMs: Int64?

        package init(
            emergency: EmergencyID, integrator: String, kind: RunDrill.Kind, at: Timestamp, outcome: String?, afterMs: Int64?
        ) {
            (self.emergency, self.integrator, self.kind, self.at) = (emergency, integrator, kind, at)
            (self.outcome, self.afterMs) = (outcome, afterMs)
        }
    }

    package struct Reply: Codable, Sendable {
        package var drills: [Entry]

        package init(drills: [Entry]) {
            self.drills = drills
        }
    }
}
