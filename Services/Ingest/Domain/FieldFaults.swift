// What only ingest finds wrong with a field, in the languages of its readers. Those of entries are in EntryFault.

import Contracts

extension FieldFault {
    static let noSuchDevice = FieldFault(
        "no-such-device", english: "is none of the person's devices", italian: "non è tra i dispositivi della persona")
    static let otherNumber = FieldFault(
        "other-number", english: "is not the number that the device shows", italian: "non è il numero mostrato dal dispositivo")
    static let otherSignature = FieldFault(
        "other-signature", english: "is not that key's for the number shown", italian: "non è di quella chiave per il numero mostrato")
    static let sameTimes = FieldFault(
        "same-times", english: "is used by another activity with the same end", italian: "è di un'altra attività con la stessa fine")
    static let tooFine = FieldFault("too-fine", english: "is too fine for this period", italian: "è troppo fine per questo periodo")
    static let notATimeZone = FieldFault(
        "not-a-time-zone", english: "must be a name of the IANA's time zones, such as Europe/Rome",
        italian: "deve essere il nome di un fuso orario IANA, come Europe/Rome")
    static let notForPositions = FieldFault(
        "not-for-positions", english: "is not possible for positions; see /ingest/v1/track",
        italian: "non è possibile per le posizioni; si veda /ingest/v1/track")
    static let priorityIncomplete = FieldFault(
        "priority-incomplete", english: "must name every kind once", italian: "deve indicare ogni tipo una volta")

    // MARK: Tracking

    static func trackedElsewhere(_ metric: Metric, device: DeviceID, kind: String) -> FieldFault {
        FieldFault(
            "tracked-elsewhere", english: "\(metric.code) is tracked from \(device), of kind \(kind), which is more reliable",
            italian: "\(metric.code) viene da \(device), di tipo \(kind), che è più affidabile")
    }

    static func notMeasured(_ metric: Metric) -> FieldFault {
        FieldFault(
            "not-measured", english: "\(metric.code) cannot be measured by this device",
            italian: "\(metric.code) non può essere misurato da questo dispositivo")
    }

    static func fromTwoDevices(_ metric: Metric) -> FieldFault {
        FieldFault(
            "from-two-devices", english: "\(metric.code) can come from one device at a time",
            italian: "\(metric.code) può venire da un solo dispositivo alla volta")
    }

    // MARK: Entries

    static func outOfDate(hours: Int64) -> FieldFault {
        FieldFault(
            "out-of-date", english: "at is more than \(hours) hours old. Measure again and enter the current value.",
            italian: "at è di oltre \(hours) ore fa. Misuri di nuovo e inserisca il valore attuale.")
    }
}
