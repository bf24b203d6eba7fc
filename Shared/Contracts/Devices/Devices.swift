// What is said and asked about devices.

/// Said by ingest on `ingest.devices` whenever a device is added or removed, or one of these changes; the snapshot holds those that
/// are active. Personal only in that it ties a device to a person's internal id.
package struct DeviceState: Codable, Sendable {
    package static let type = "device-state.v1"

    package var device: DeviceID
    package var person: PersonID
    /// False once it was revoked: it delivers nothing any more.
    package var active: Bool
    /// How often it measures, in ms, as declared when it was added.
    package var intervalMs: Int64?
    /// Whether it measures nothing because it lies in its charger (SOS-27); never of a phone, which goes on. nil is false.
    package var charging: Bool?
    /// Whether it can measure a vital sign at all. nil is true.
    package var vital: Bool?

    package init(device: DeviceID, person: PersonID, active: Bool, intervalMs: Int64?, charging: Bool? = nil, vital: Bool? = nil) {
        (self.device, self.person, self.active, self.intervalMs) = (device, person, active, intervalMs)
        (self.charging, self.vital) = (charging, vital)
    }
}

/// Said by ingest on `ingest.devices` whenever a person pauses or resumes monitoring (ACC-28), and part of its snapshot while
/// paused: whoever watches the person's vital signs must not take the pause for a silence.
package struct MonitoringState: Codable, Sendable {
    package static let type = "monitoring-state.v1"

    package var person: PersonID
    package var paused: Bool

    package init(person: PersonID, paused: Bool) {
        (self.person, self.paused) = (person, paused)
    }
}

/// Stores entries that a person told another service, as if typed in by hand: weight and height at registration; and
/// the canary's. Entries that are there already are not added again.
package struct RecordEntries: BusRequest {
    package static let method = "record-entries"
    package static let owner = Peer.ingest
    package static let clients: Set<Peer> = [.consent, .sosDispatcher, .sosDeputy]
    package static let mutates = true
    package typealias Reply = Nothing

    /// `not-found` for one who was erased.
    package var person: PersonID
    /// 1 to 100. Personal.
    package var samples: [Sample]

    package init(person: PersonID, samples: [Sample]) {
        (self.person, self.samples) = (person, samples)
    }
}

/// Gives a person one more device and its token; without a person, makes a new one.
package struct AddDevice: BusRequest {
    package static let method = "add-device"
    package static let owner = Peer.ingest
    package static let clients: Set<Peer> = [.trackme, .sosDispatcher, .sosDeputy]
    package static let mutates = true

    /// nil makes a new one; `not-found` for one who is unknown and has no key here, unless a dispatcher asks, which names its synthetic
    /// subscriber itself; `conflict` for one with 100 active devices.
    package var person: PersonID?
    /// What the person calls it; at most 64 characters, sealed at rest.
    package var name: String
    /// How often it measures, in ms: 10 to 86,400,000; nil where it does not say.
    package var intervalMs: Int64?

    package init(person: PersonID?, name: String, intervalMs: Int64?) {
        (self.person, self.name, self.intervalMs) = (person, name, intervalMs)
    }

    package struct Reply: Codable, Sendable {
        package var person: PersonID
        package var device: DeviceID
        /// Shown this once; ingest keeps a keyed hash. `tmd_`, the last two characters of the person's id, a dot, 256 random bits.
        package var token: String

        package init(person: PersonID, device: DeviceID, token: String) {
            (self.person, self.device, self.token) = (person, device, token)
        }
    }
}

/// Ends a device's right to deliver; its entries stay.
package struct RevokeDevice: BusRequest {
    package static let method = "revoke-device"
    package static let owner = Peer.ingest
    package static let clients: Set<Peer> = [.trackme]
    package static let mutates = true
    package typealias Reply = Nothing

    /// `not-found` for one that never was; revoking again is the same as once.
    package var device: DeviceID

    package init(device: DeviceID) {
        self.device = device
    }
}

/// The newest entry of each asked metric of one person, for a consumer that begins in the middle of the stream.
package struct ReadLatest: BusRequest {
    package static let method = "read-latest"
    package static let owner = Peer.ingest
    package static let clients: Set<Peer> = [.sosDispatcher, .sosDeputy]
    package static let mutates = false

    /// One who is unknown or erased has no samples, which is no failure.
    package var person: PersonID
    package var types: [Metric]

    package init(person: PersonID, types: [Metric]) {
        (self.person, self.types) = (person, types)
    }

    package struct Reply: Codable, Sendable {
        /// At most one per type; a type without an entry is absent.
        package var samples: [Sample]
        /// Where newer entries of these types are stored and cannot be read any more; absent where there are none.
        package var damaged: [DamagedPeriod]?

        package init(samples: [Sample], damaged: [DamagedPeriod]? = nil) {
            (self.samples, self.damaged) = (samples, damaged)
        }
    }
}
