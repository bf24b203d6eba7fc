// Why one entry of an upload is not taken: what a program acts on (`name`) and what a person reads (`detail`).

import Contracts

/// The names of what an entry can have, as on the wire.
enum EntryField: String, CaseIterable, Sendable {
    case type, at, value, unit, position, latitude, longitude, altitude, accuracy
}

/// One reason for which an entry is refused and quarantined while the rest of its upload goes on (ING-08).
enum EntryFault: Hashable, Sendable {
    case notAnObject
    case malformedJSON(JSONFault)
    case tooLong
    case missing(EntryField)
    case twice(EntryField)
    case wrongKind(EntryField)
    case unreadableTime
    case timeNotPositive
    case timeInFuture
    /// Named back only where it looks like a code (ING-05), because it is somebody's text.
    case unknownMetric(named: String?)
    case wrongUnit(Metric)
    case valueOfPosition
    case impossibleValue(Metric)
    case offEarth
    /// Another value is stored for this metric and time; it stays (ING-04, INV-10).
    case conflict
    /// The person tracks this metric from another device, or from none (ING-20).
    case notTracked(Metric)
    /// The person has paused monitoring (ACC-28).
    case paused
    /// Delivered later, but measured during a pause.
    case measuredWhilePaused

    /// The kebab-case name behind `urn:trackme:problem:`; stable.
    var name: String {
        switch self {
        case .notAnObject, .missing, .twice, .wrongKind, .unreadableTime, .valueOfPosition, .tooLong: "malformed-entry"
        case .malformedJSON: "malformed-json"
        case .timeNotPositive: "impossible-time"
        case .timeInFuture: "future-time"
        case .unknownMetric: "unknown-metric"
        case .wrongUnit: "wrong-unit"
        case .impossibleValue: "impossible-value"
        case .offEarth: "impossible-position"
        case .conflict: "conflicting-value"
        case .notTracked: "parameter-not-tracked"
        case .paused, .measuredWhilePaused: "monitoring-paused"
        }
    }

    /// The field to look at, where there is one.
    var field: EntryField? {
        switch self {
        case .notAnObject, .malformedJSON, .tooLong, .paused: nil
        case .missing(let field), .twice(let field), .wrongKind(let field): field
        case .unreadableTime, .timeNotPositive, .timeInFuture, .measuredWhilePaused: .at
        case .unknownMetric, .notTracked: .type
        case .wrongUnit: .unit
        case .valueOfPosition, .impossibleValue, .conflict: .value
        case .offEarth: .position
        }
    }

    /// Names what is wrong and what would be right, never the value that was sent; to programs in English.
    var detail: String { fieldFault.english }
}

/// What one upload may be; each limit keeps a stranger from making the service work or remember without bound.
enum UploadLimits {
    static let entries = 10_000
    static let compressedBytes = 1 << 20
    static let inflatedBytes = 2 << 20
    /// A piece of an NDJSON stream: what is scanned, sealed and committed at once.
    static let pieceBytes = 1 << 20
    /// One line of NDJSON.
    static let entryBytes = 64 << 10
    /// How many indexes and refusals the answer to an NDJSON stream names; further ones are only counted.
    static let namedInAnswer = 1000
    /// The most that `ing.clock_skew_s` may allow: no stored entry lies further ahead of its reception. As far `sentAt` may lie ahead of
    /// that, and behind the newest entry.
    static let furthestFuture: Duration = .seconds(600)
    /// An upload of at most so many bytes with an entry of at most that age is taken also where its device has sent too much, so often a second.
    static let urgentBytes = 4 << 10
    static let urgentAge: Duration = .seconds(60)
    static let urgentPerSecond = 2.0
    static let urgentAtOnce = 5.0
    /// How long a device can have tried to send an upload; `firstTriedAt` further back, or after the reception, is not believed.
    static let longestTrying: Duration = .seconds(12 * 3600)
}
