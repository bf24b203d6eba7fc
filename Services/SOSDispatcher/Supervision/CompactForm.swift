// Codable values in few bytes: subscribers' states, which are stored again at every upload of theirs.

/// A form of any `Codable` value that is written in a fraction of JSON's time and length. Members have names, as in JSON, so that
/// values may gain optional members and lose others; names and texts that come again are said by number.
///
/// After `version` and how many of `words` the writer knew comes one value: a mark, and what belongs to it.
enum CompactForm {
    /// The first byte; no JSON begins with it.
    static let version: UInt8 = 1

    /// What need not be spelled out, by number. Only ever added to: what is stored counts on it.
    static let words = [
        "answered", "at", "breach", "cancelled", "card", "charging", "clauses", "contacts", "contactsDue", "contactsTold", "count",
        "course", "emergency", "episode", "epoch", "fit", "heard", "heardAt", "heardTogether", "holdsUntil", "kind", "lastHeard", "latest",
        "limit", "metric", "monitoringPaused", "normalSince", "now", "own", "parameters", "pausedSince", "personal", "placeTold", "places",
        "position", "preferences", "readings", "receivedAt", "seizure", "sequence", "settledAt", "shaking", "side", "silenceDue", "since",
        "stage", "subscribed", "subscriber", "supervision", "t0", "tornSeen", "trigger", "unchanged", "until", "value", "low", "high",
        "bounds", "days", "latitude", "longitude", "altitude", "accuracy", "address", "birthYear", "email", "id", "language",
        "medicalNotes", "name", "personalised", "sex", "telephone", "tellsMedicalNotes", "version", "monitoring", "suspended",
        "dispatched", "above", "below", "it", "en", "heart-rate", "blood-pressure-max", "blood-pressure-min", "oxygen-saturation",
        "body-temperature", "pulse-rate", "respiration-rate", "blood-pressure-mean", "glucose", "sources", "signals", "last", "interval",
        "gaps", "measured", "received", "together",
        "runs", "length", "openings", "calmSince", "open", "answers", "lowest", "isSevere", "told", "mutes", "dueAt", "joiningDue",
        "wallOffset", "silences", "sounded", "isSaid", "firstTriedAt", "falls",
    ]

    /// Deepest nesting that is read.
    static let deepest = 64

    enum Mark: UInt8 {
        /// Of a list or of members.
        case end
        case null
        case no
        case yes
        /// Zigzag, seven bits a byte, the lowest first.
        case integer
        /// Eight bytes, the lowest first.
        case number
        case text
        /// Values until `end`.
        case list
        /// Names and values until `end`.
        case members
    }

    /// What stands where a name or a text is: `Mark.end` in place of a name, a text that is spelled out and gets the next number, or the
    /// number of a known one plus `known`.
    static let spelledOut = 1
    static let known = 2

    /// - Throws: `EncodingError` for an integer that 64 bits with a sign do not hold, and what the value's own coding throws.
    static func encode(_ value: some Encodable) throws -> [UInt8] {
        let writer = CompactWriter()
        try writer.write(value)
        return writer.bytes
    }

    /// - Throws: `DecodingError` for what is not this form, or not of this type.
    static func decode<Value: Decodable>(_ type: Value.Type, from bytes: [UInt8]) throws -> Value {
        try Value(from: CompactDecoder(value: try CompactReader.read(bytes)))
    }
}
