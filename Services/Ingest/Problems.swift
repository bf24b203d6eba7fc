// Everything that ingest can refuse, by the name that programs act on. What every service refuses alike is HTTPKit's.

import Contracts
import HTTPKit
import Storage

extension Problem {
    static let malformedJSON = Problem(
        "malformed-json", status: 400, title: "The body is not JSON", italianTitle: "I dati inviati non sono JSON")
    static let notEntries = Problem(
        "not-entries", status: 422, title: "The body holds no entries", italianTitle: "I dati inviati non contengono misure")
    static let tooManyEntries = Problem(
        "too-many-entries", status: 413, title: "There are too many entries", italianTitle: "Le misure sono troppe")
    static let malformedEntry = Problem(
        "malformed-entry", status: 422, title: "An entry is not as it should be", italianTitle: "Una misura non è corretta")
    static let unknownMetric = Problem(
        "unknown-metric", status: 422, title: "There is no such metric", italianTitle: "Questa misura non esiste")
    static let wrongUnit = Problem(
        "wrong-unit", status: 422, title: "The metric is measured in another unit", italianTitle: "La misura ha un'altra unità")
    static let impossibleValue = Problem(
        "impossible-value", status: 422, title: "The value is physically impossible",
        italianTitle: "Il valore è fisicamente impossibile")
    static let impossiblePosition = Problem(
        "impossible-position", status: 422, title: "The position is not on Earth", italianTitle: "La posizione non è sulla Terra")
    static let impossibleTime = Problem(
        "impossible-time", status: 422, title: "The time is not after 1970", italianTitle: "L'istante non è dopo il 1970")
    static let futureTime = Problem(
        "future-time", status: 422, title: "The time lies in the future", italianTitle: "L'istante è nel futuro")
    static let conflictingValue = Problem(
        "conflicting-value", status: 409, title: "Another value is stored for this metric and time",
        italianTitle: "Per questa misura e questo istante è salvato un altro valore")
    static let parameterNotTracked = Problem(
        "parameter-not-tracked", status: 422, title: "The metric is not tracked from this device",
        italianTitle: "La misura non viene rilevata da questo dispositivo")
    static let monitoringPaused = Problem(
        "monitoring-paused", status: 422, title: "The person has paused monitoring",
        italianTitle: "La persona ha messo in pausa il monitoraggio")
    static let accountNotKnown = Problem(
        "account-not-known", status: 403, title: "The person's account is not known yet",
        italianTitle: "L'account della persona non è ancora noto")
    static let accountNotActive = Problem(
        "account-not-active", status: 403, title: "The person's account allows nothing to be recorded",
        italianTitle: "L'account della persona non permette di registrare nulla")
    static let readingEnded = Problem(
        "reading-ended", status: 403, title: "The device reads nothing any more", italianTitle: "Il dispositivo non legge più nulla"
    )
    static let wrongNumber = Problem(
        "wrong-number", status: 422, title: "The number is not the one that the device shows",
        italianTitle: "Il numero non è quello mostrato dal dispositivo")
    static let wrongSignature = Problem(
        "wrong-signature", status: 422, title: "The device does not prove its key",
        italianTitle: "Il dispositivo non dimostra la sua chiave")
    static let pairingOver = Problem(
        "pairing-over", status: 410, title: "The device does not offer itself any more",
        italianTitle: "Il dispositivo non si offre più")
    static let tooManyDevices = Problem(
        "too-many-devices", status: 409, title: "There are too many devices", italianTitle: "I dispositivi sono troppi")
    static let noSuchDevice = Problem(
        "no-such-device", status: 422, title: "The person has no such device", italianTitle: "La persona non ha questo dispositivo")
    static let trackedElsewhere = Problem(
        "parameter-already-tracked", status: 409, title: "A more reliable device delivers it already",
        italianTitle: "La misura viene già da un dispositivo più affidabile")
    static let impossibleTracking = Problem(
        "impossible-tracking", status: 422, title: "The devices cannot be used like that",
        italianTitle: "I dispositivi non si possono usare così")
    static let outOfDate = Problem(
        "out-of-date", status: 422, title: "The value is no longer current", italianTitle: "Il valore non è più attuale")
    static let tooManyPoints = Problem(
        "too-many-points", status: 422, title: "The chart would have too many points",
        italianTitle: "Il grafico avrebbe troppi punti")
    static let conflictingActivity = Problem(
        "conflicting-activity", status: 409, title: "There is another activity with the same times",
        italianTitle: "C'è un'altra attività con gli stessi orari")
    static let tooManyActivities = Problem(
        "too-many-activities", status: 422, title: "There are too many activities", italianTitle: "Le attività sono troppe")
    static let tooManyExports = Problem(
        "too-many-exports", status: 429, title: "There were enough exports today", italianTitle: "Le esportazioni di oggi bastano")
    static let tooManyImports = Problem(
        "too-many-imports", status: 429, title: "Too many files wait to be imported",
        italianTitle: "Troppi file attendono di essere importati")
    static let notReady = Problem(
        "not-ready", status: 409, title: "The files are not written yet", italianTitle: "I file non sono ancora scritti")
}

extension Problem {
    /// The answer to a device that may deliver and not read (`PersonState.readersSince`).
    static let ofOldDevice = readingEnded.saying(
        "The account was taken back after this device was paired. It goes on delivering; pair it again, or log in, to read.",
        italian:
            "L'account è stato recuperato dopo l'associazione di questo dispositivo. Continua a inviare; lo associ di nuovo per leggere.")

    /// What a document that is one entry can be refused for.
    static let ofEntries: [Problem] = [
        .notEntries, .malformedEntry, .unknownMetric, .wrongUnit, .impossibleValue, .impossiblePosition, .impossibleTime, .futureTime,
        .parameterNotTracked, .monitoringPaused,
    ]

    /// Which of an entry's refusals it is; among several entries it may contradict what is stored, or be too old to be typed in.
    static func ofEntry(named name: String) -> Problem? {
        (ofEntries + [.malformedJSON, .conflictingValue, .outOfDate]).first { $0.name == name }
    }
}

extension AcquisitionBar {
    var problem: Problem {
        switch self {
        case .unknown: Problem.accountNotKnown.saying(detail)
        case .inactive: Problem.accountNotActive.saying(detail)
        }
    }
}

extension UploadFault {
    var problem: Problem {
        switch self {
        case .malformedJSON(let fault): Problem.malformedJSON.saying(fault.detail)
        case .notEntries:
            Problem.notEntries.saying("Send one entry, an array of entries, {\"entries\":[…]}, or NDJSON lines.")
        case .tooManyEntries:
            Problem.tooManyEntries.saying(
                "At most \(UploadLimits.entries) entries an upload; nothing was stored. Send several, or NDJSON, which has no such limit.")
        }
    }
}

extension EntryFault {
    /// Of an upload that is one entry.
    var problem: Problem {
        let kind = Problem.ofEntry(named: name) ?? .malformedEntry
        let fault = fieldFault
        return kind.saying(
            fault.english, italian: fault.italian, errors: [.init(pointer: field.map { "/\($0.rawValue)" } ?? "", fault)])
    }
}
