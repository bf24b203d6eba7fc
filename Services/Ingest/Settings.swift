// What an operator can set about ingest; names and bounds as in the requirements, section 5.

import ServiceKit

struct IngestSettings: Sendable {
    /// How far ahead a device's clock may be (ING-08).
    let clockSkew: Duration
    let requestsPerSecond: Int
    /// What coverage assumes of a device that declared no interval.
    let undeclaredInterval: Duration
    let upkeepInterval: Duration

    init(_ reader: inout SettingsReader) {
        clockSkew = reader.read(.seconds("ing.clock_skew_s", default: 60, in: 0...600, "How far ahead an entry's time may lie."))
        requestsPerSecond = reader.read(
            .integer("ing.requests_per_s", default: 20, in: 1...100_000, "Uploads per second and device; samples are not limited."))
        undeclaredInterval = reader.read(
            .seconds(
                "ing.undeclared_interval_s", default: 60, in: 1...86_400, "Assumed between entries of a device that declared no interval."))
        upkeepInterval = reader.read(
            .seconds("ing.upkeep_s", default: 30, in: 0.05...3600, "How often roll-ups and merged chunks are brought up to date."))
    }
}
