// What an operator can set about ingest; names and bounds as in the requirements, section 5.

import ServiceKit

struct IngestSettings: Sendable {
    /// How far ahead a device's clock may be (ING-08).
    let clockSkew: Duration
    let requestsPerSecond: Int
    /// What coverage assumes of a device that declared no interval.
    let undeclaredInterval: Duration
    let upkeepInterval: Duration
    /// How long a commit may take before the upload's fresh entries are published provisionally.
    let fastPathAfter: Duration
    let pairingOffersPerHour: Int
    let pairingTriesPerHour: Int
    /// How old what a person types in may be (ING-09).
    let manualMaximumAge: Duration
    /// How far back a device's own token reads what that device measured.
    let deviceReading: Duration
    /// Days with data that statistics need (MYD-09).
    let statistics: StatisticsRules
    /// How old a value may be to count for now (MYD-08).
    let recent: Duration
    let exportsPerDay: Int
    let exportsKept: Duration
    let exportFileMebibytes: Int
    /// How long after its end an hour is summed up for group data.
    let cohortWatermark: Duration

    init(_ reader: inout SettingsReader) {
        clockSkew = reader.read(.seconds("ing.clock_skew_s", default: 60, in: 0...600, "How far ahead an entry's time may lie."))
        requestsPerSecond = reader.read(
            .integer("ing.requests_per_s", default: 20, in: 1...100_000, "Uploads per second and device; samples are not limited."))
        undeclaredInterval = reader.read(
            .seconds(
                "ing.undeclared_interval_s", default: 60, in: 1...86_400, "Assumed between entries of a device that declared no interval."))
        fastPathAfter = reader.read(
            .milliseconds(
                "ing.express_after_ms", default: 5, in: 0...50,
                "How long a commit may take before fresh entries are published to the SOS dispatcher provisionally."))
        pairingOffersPerHour = reader.read(
            .integer("ing.pairing_offers_per_h", default: 60, in: 1...100_000, "Devices that may offer themselves per hour and address."))
        pairingTriesPerHour = reader.read(
            .integer(
                "ing.pairing_tries_per_h", default: 10, in: 1...100_000, "Wrong numbers that may be typed per hour, person and address."))
        manualMaximumAge = reader.read(
            .hours("ing.manual_max_age_h", default: 24, in: 0.01...8760, "How old an entry typed in by hand may be."))
        deviceReading = reader.read(
            .hours(
                "ing.device_read_h", default: 168, in: 0...1_000_000,
                "How far back a device's token reads what the device measured; everything else needs a log-in."))
        statistics = StatisticsRules(
            leastDaysOfWeek: reader.read(
                .integer("myd.min_days_week", default: 3, in: 1...7, "Days with data that statistics of a week need.")),
            leastDaysOfMonth: reader.read(
                .integer("myd.min_days_month", default: 10, in: 1...30, "Days with data that statistics of a month need.")))
        recent = reader.read(
            .hours("myd.recent_h", default: 24, in: 0.01...8760, "How old a value may be to count for the health status."))
        exportsPerDay = reader.read(
            .integer("myd.exports_per_day", default: 2, in: 1...1000, "Exports that a person may begin within 24 hours."))
        exportsKept = reader.read(.hours("myd.export_kept_h", default: 24, in: 0.001...168, "How long an export can be downloaded."))
        exportFileMebibytes = reader.read(
            .integer("myd.export_file_mib", default: 16, in: 1...24, "Size at which one file of an export is ended and another begun."))
        let minutes = reader.read(
            .integer(
                "ing.cohort_watermark_minutes", default: 10, in: 1...1440,
                "How long after its end an hour is summed up for group data; what comes later is in none."))
        cohortWatermark = .seconds(60 * minutes)
        upkeepInterval = reader.read(
            .seconds("ing.upkeep_s", default: 30, in: 0.05...3600, "How often roll-ups and merged chunks are brought up to date."))
    }
}
