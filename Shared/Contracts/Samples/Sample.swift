// One data entry as the suite's own code handles it, and the fact that says some were stored.

/// A place in WGS84 degrees (INV-19); altitude in metres above the ellipsoid, accuracy as a radius in metres (68 %).
package struct Position: Hashable, Codable, Sendable {
    /// -90 to 90, north positive.
    package var latitude: Double
    /// -180 to 180, east positive.
    package var longitude: Double
    /// -12,000 to 100,000; absent where it is not known.
    package var altitude: Double?
    /// 0 to 1,000,000; absent where it is not known.
    package var accuracy: Double?

    package init(latitude: Double, longitude: Double, altitude: Double? = nil, accuracy: Double? = nil) {
        (self.latitude, self.longitude, self.altitude, self.accuracy) = (latitude, longitude, altitude, accuracy)
    }

    /// Whether it lies on Earth; NaN does not.
    package var isOnEarth: Bool {
        (-90...90).contains(latitude) && (-180...180).contains(longitude)
            && altitude.map { (-12_000...100_000).contains($0) } ?? true && accuracy.map { (0...1_000_000).contains($0) } ?? true
    }
}

/// One measured value or position of one person (ING-03). Unique by person, metric and time (INV-10).
/// `value` is nil exactly for `Metric.position`, which then has a `position`; other entries have one only where it was known.
package struct Sample: Hashable, Codable, Sendable {
    package var type: Metric
    /// When it was measured, as its source says.
    package var at: Timestamp
    /// In the metric's UCUM unit, within what is possible of it.
    package var value: Double?
    package var position: Position?

    package init(type: Metric, at: Timestamp, value: Double?, position: Position? = nil) {
        (self.type, self.at, self.value, self.position) = (type, at, value, position)
    }

    /// How old it was when its upload was received, never negative: the one place where ages are computed.
    package func age(receivedAt: Timestamp, sentAt: Timestamp?) -> Duration {
        max(.zero, Self.ageEnd(receivedAt: receivedAt, sentAt: sentAt) - at)
    }

    /// Up to when its age counts: to ingest's clock or to the device's own, where the upload says that, whichever makes it younger. One
    /// of them may be wrong, and a doubt about a reading never ends in silence (decision 0048).
    package static func ageEnd(receivedAt: Timestamp, sentAt: Timestamp?) -> Timestamp { min(receivedAt, sentAt ?? receivedAt) }
}

/// Said by ingest on `ingest.samples.NN` after every durable upload; heard by both SOS dispatchers. Personal. If lost, replayed from
/// the log. Where the disk is slow or refuses, the fresh entries of an upload are said before, or instead, as
/// `samples-provisional.v1` with sequence 0: for alarms alone, in no log, perhaps never stored. Likewise, as `samples-refused.v1`,
/// fresh entries that are refused and stored nowhere but may be somebody's heart or call for help (`docs/sos-rules.md` §1).
package struct SamplesRecorded: Codable, Sendable {
    package static let type = "samples-recorded.v1"
    /// The header's type on the fast path. Whoever keeps to sequences skips it.
    package static let provisionalType = "samples-provisional.v1"
    /// The header's type for what is refused and may be an alarm all the same; never said in its place later.
    package static let refusedType = "samples-refused.v1"

    /// What is typed in or imported comes from a device of the person's own that stands for it.
    package var device: DeviceID
    /// Ingest's own clock when the request's first byte had been read: `t0` of an alarm counts from here.
    package var receivedAt: Timestamp
    /// When the device first tried to send this, where its upload said so: by the device's clock, never after `receivedAt` and at most
    /// 12 h before. What a person waited in truth counts from here (SOS-41); no deadline does, since that clock may be wrong.
    package var firstTriedAt: Timestamp?
    /// What the clock that dated the samples said as this try of the upload was written, where the upload told it: their ages are
    /// counted up to here, or to `receivedAt` where that is earlier (`Sample.age`). Never more than 10 min after `receivedAt` nor before
    /// the newest sample.
    package var sentAt: Timestamp?
    /// How often the device said it measures, in ms; decides when silence is a signal loss (SOS-25). 0 for what is typed in or imported.
    package var intervalMs: Int64?
    /// At least one, in the order of the upload, without those that were duplicates or refused.
    package var samples: [Sample]

    package init(
        device: DeviceID, receivedAt: Timestamp, firstTriedAt: Timestamp? = nil, sentAt: Timestamp? = nil, intervalMs: Int64?,
        samples: [Sample]
    ) {
        (self.device, self.receivedAt, self.firstTriedAt, self.sentAt) = (device, receivedAt, firstTriedAt, sentAt)
        (self.intervalMs, self.samples) = (intervalMs, samples)
    }

    /// The interval of what no device measures: somebody decides each time, so that nothing follows from when the next one comes (SOS-34).
    package static let typedIntervalMs: Int64 = 0

    /// Whether a person brought it, and no device.
    package var isTyped: Bool { intervalMs == Self.typedIntervalMs }
}
