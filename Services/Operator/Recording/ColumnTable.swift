// How columns of recordings are recognised by their names: a table of what devices and exports call things.

import Contracts

/// What one column of a recording holds.
enum ColumnRole: Hashable, Sendable {
    case time
    case metric(Metric, UnitConversion)
    case latitude
    case longitude
    case altitude(UnitConversion)
    /// In metres; in another unit it is not recognised.
    case accuracy
}

/// A header taken apart: `ABPSys_mmHg` is the name `abpsys` in `mmhg`, `Heart rate (bpm)` is `heartrate` in `bpm`.
struct ColumnName: Hashable {
    var name: String
    var unit: String?

    /// The readings of a header, likelier ones first: all of it is a name (`blood-pressure-min`), its last two words are a unit
    /// (`km/h`), its last word is one.
    static func readings(of header: String) -> [ColumnName] {
        let words = words(of: header)
        var readings = [ColumnName(name: words.joined())]
        for length in [2, 1] where words.count > length {
            let unit = words.suffix(length).joined()
            if UnitConversion.isUnit(unit) { readings.append(ColumnName(name: words.dropLast(length).joined(), unit: unit)) }
        }
        return readings
    }

    /// Runs of letters, digits and `%` in lower case.
    private static func words(of header: String) -> [String] {
        header.lowercased().split { !($0.isLetter || $0.isNumber || $0 == "%") }.map(String.init)
    }
}

enum ColumnTable {
    /// The role of a column, or nil where its name is not known or its unit does not fit.
    static func role(of header: String) -> ColumnRole? {
        ColumnName.readings(of: header).lazy.compactMap(role(of:)).first
    }

    private static func role(of column: ColumnName) -> ColumnRole? {
        if times.contains(column.name) { return .time }
        if latitudes.contains(column.name) { return fits(column, "deg").map { _ in .latitude } }
        if longitudes.contains(column.name) { return fits(column, "deg").map { _ in .longitude } }
        if altitudes.contains(column.name) { return fits(column, "m").map(ColumnRole.altitude) }
        if accuracies.contains(column.name) { return fits(column, "m")?.scale == 1 ? .accuracy : nil }
        guard let metric = metric(named: column.name), metric.definition.shape == .scalar else { return nil }
        return fits(column, metric.definition.unit).map { .metric(metric, $0) }
    }

    /// A header without unit is taken to be in the registry's.
    private static func fits(_ column: ColumnName, _ ucum: String) -> UnitConversion? {
        guard let written = column.unit else { return UnitConversion(unit: ucum) }
        return UnitConversion.from(written, to: ucum)
    }

    private static func metric(named name: String) -> Metric? {
        if let code = synonyms[name] { return Metric(code: code) }
        return Metric.all.first { $0.code.filter { $0 != "-" } == name }
    }

    private static let times: Set<String> = ["time", "timestamp", "datetime", "at", "date", "recordedat", "timeutc", "utc"]
    private static let latitudes: Set<String> = ["latitude", "lat", "positionlat", "gpslatitude"]
    private static let longitudes: Set<String> = ["longitude", "lon", "lng", "long", "positionlong", "positionlon", "gpslongitude"]
    private static let altitudes: Set<String> = ["altitude", "alt", "elevation", "ele", "enhancedaltitude"]
    private static let accuracies: Set<String> = ["accuracy", "horizontalaccuracy", "gpsaccuracy"]

    /// Without separators and in lower case; a metric's own code needs no entry.
    private static let synonyms: [String: String] = [
        "hr": "heart-rate", "heart": "heart-rate", "ecghr": "heart-rate",
        "pulse": "pulse-rate", "pr": "pulse-rate", "pulserate": "pulse-rate",
        "resp": "respiration-rate", "respiration": "respiration-rate", "breathing": "respiration-rate",
        "respiratoryrate": "respiration-rate",
        "spo2": "oxygen-saturation", "sao2": "oxygen-saturation", "o2sat": "oxygen-saturation",
        "bloodoxygen": "oxygen-saturation", "oxygen": "oxygen-saturation",
        "abpsys": "blood-pressure-max", "sys": "blood-pressure-max", "systolic": "blood-pressure-max", "sbp": "blood-pressure-max",
        "abpdias": "blood-pressure-min", "dia": "blood-pressure-min", "diastolic": "blood-pressure-min", "dbp": "blood-pressure-min",
        "abpdia": "blood-pressure-min",
        "abpmean": "blood-pressure-mean", "map": "blood-pressure-mean", "mbp": "blood-pressure-mean",
        "nbpsys": "cuff-blood-pressure-max", "nibpsys": "cuff-blood-pressure-max", "cuffsys": "cuff-blood-pressure-max",
        "nbpdias": "cuff-blood-pressure-min", "nbpdia": "cuff-blood-pressure-min", "nibpdias": "cuff-blood-pressure-min",
        "cuffdia": "cuff-blood-pressure-min",
        "nbpmean": "cuff-blood-pressure-mean", "nibpmean": "cuff-blood-pressure-mean",
        "temp": "body-temperature", "temperature": "body-temperature", "bodytemp": "body-temperature",
        "ecg": "electrocardiogram", "ekg": "electrocardiogram",
        "bloodglucose": "glucose", "bg": "glucose", "mass": "weight", "bodyweight": "weight",
        "dist": "distance", "kilocalories": "calories", "energy": "calories", "velocity": "speed", "enhancedspeed": "speed",
        "runcadence": "cadence", "steprate": "cadence",
    ]
}
