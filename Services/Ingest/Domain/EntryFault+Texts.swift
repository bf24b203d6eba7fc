// What a person reads of an entry that is refused. A text is a whole sentence, as it also stands alone in the answer to an upload.

import Contracts

extension EntryFault {
    var fieldFault: FieldFault {
        switch self {
        case .notAnObject:
            FieldFault("entry-not-an-object", english: "An entry is a JSON object.", italian: "Una misura è un oggetto JSON.")
        case .malformedJSON(let fault): FieldFault("entry-not-json", english: fault.detail, italian: fault.detail)
        case .tooLong:
            FieldFault(
                "entry-too-long", english: "One entry takes at most \(UploadLimits.entryBytes) bytes.",
                italian: "Una misura occupa al massimo \(UploadLimits.entryBytes) byte.")
        case .missing(let field):
            FieldFault("entry-field-missing", english: "\(field.rawValue) is missing.", italian: "\(field.rawValue) manca.")
        case .twice(let field):
            FieldFault(
                "entry-field-twice", english: "\(field.rawValue) is given twice.", italian: "\(field.rawValue) è indicato due volte.")
        case .wrongKind(let field):
            FieldFault(
                "entry-wrong-type", english: "\(field.rawValue) is not \(field.expectation.english).",
                italian: "\(field.rawValue) non è \(field.expectation.italian).")
        case .valueOfPosition:
            FieldFault(
                "value-of-position", english: "A position has no value; it has latitude and longitude.",
                italian: "Una posizione non ha un valore; ha latitudine e longitudine.")
        case .unreadableTime, .timeNotPositive, .timeInFuture, .measuredWhilePaused: ofTime
        case .unknownMetric, .wrongUnit, .impossibleValue, .offEarth: ofValue
        case .conflict, .notTracked, .paused: ofWhatIsStored
        }
    }

    private var ofTime: FieldFault {
        switch self {
        case .timeNotPositive:
            FieldFault(
                "impossible-time", english: "at must lie after 1970-01-01T00:00:00Z.", italian: "at deve essere dopo 1970-01-01T00:00:00Z.")
        case .timeInFuture:
            FieldFault(
                "future-time", english: "at lies further in the future than clocks may differ.",
                italian: "at è nel futuro più di quanto gli orologi possano differire.")
        case .measuredWhilePaused:
            FieldFault(
                "measured-while-paused", english: "This was measured while monitoring was paused, so it is not recorded.",
                italian: "È stato misurato mentre il monitoraggio era in pausa, perciò non viene registrato.")
        default:
            FieldFault(
                "entry-time-unreadable",
                english: "at is neither an RFC 3339 time with an offset nor whole milliseconds since 1970.",
                italian: "at non è né un istante RFC 3339 con fuso orario né millisecondi interi dal 1970.")
        }
    }

    private var ofValue: FieldFault {
        switch self {
        case .wrongUnit(let metric):
            FieldFault(
                "wrong-unit", english: "\(metric.code) is measured in \(metric.definition.unit).",
                italian: "\(metric.code) si misura in \(metric.definition.unit).")
        case .impossibleValue(let metric):
            FieldFault(
                "impossible-value", english: "\(metric.code) can only be \(metric.definition.possibleInWords).",
                italian: "\(metric.code) può essere solo \(metric.definition.possibleInItalian).")
        case .offEarth:
            FieldFault(
                "impossible-position",
                english: """
                    latitude is within -90...90, longitude within -180...180, altitude within -12000...100000 m, accuracy within \
                    0...1000000 m.
                    """,
                italian: """
                    latitude è in -90...90, longitude in -180...180, altitude in -12000...100000 m, accuracy in 0...1000000 m.
                    """)
        case .unknownMetric(let name?):
            FieldFault(
                "unknown-metric", english: "There is no metric \"\(name)\"; GET /ingest/v1/metrics lists them.",
                italian: "Non esiste la misura \"\(name)\"; GET /ingest/v1/metrics le elenca.")
        default:
            FieldFault(
                "unnamed-metric", english: "There is no metric of this name; GET /ingest/v1/metrics lists them.",
                italian: "Non esiste una misura con questo nome; GET /ingest/v1/metrics le elenca.")
        }
    }

    private var ofWhatIsStored: FieldFault {
        switch self {
        case .conflict:
            FieldFault(
                "conflicting-value", english: "Another value is stored for this metric and time; it stays.",
                italian: "Per questa misura e questo istante è salvato un altro valore, che resta.")
        case .notTracked(let metric):
            FieldFault(
                "not-tracked",
                english: """
                    \(metric.code) is not tracked from this device. Nothing was recorded; the person chooses sources at \
                    /ingest/v1/tracking.
                    """,
                italian: """
                    \(metric.code) non viene rilevato da questo dispositivo. Nulla è stato registrato; le fonti si scelgono in \
                    /ingest/v1/tracking.
                    """)
        default:
            FieldFault(
                "monitoring-paused",
                english: """
                    Monitoring is paused, so nothing was recorded; a call for help still counts. Entries measured before the pause \
                    may be sent again after it.
                    """,
                italian: """
                    Il monitoraggio è in pausa, perciò nulla è stato registrato; una richiesta di aiuto vale comunque. Le misure prese \
                    prima della pausa si possono inviare di nuovo dopo.
                    """)
        }
    }
}

extension EntryField {
    fileprivate var expectation: (english: String, italian: String) {
        switch self {
        case .type, .unit: ("a string", "un testo")
        case .at: ("a time", "un istante")
        case .position: ("an object", "un oggetto")
        case .value, .latitude, .longitude, .altitude, .accuracy: ("a number", "un numero")
        }
    }
}
