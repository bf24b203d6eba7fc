// Everything that ingest can refuse, by the name that programs act on. What every service refuses alike is HTTPKit's.

import Contracts
import HTTPKit
import Storage

enum IngestProblem: String, CaseIterable, Sendable {
    case malformedJSON = "malformed-json"
    case notEntries = "not-entries"
    case tooManyEntries = "too-many-entries"
    case malformedEntry = "malformed-entry"
    case unknownMetric = "unknown-metric"
    case wrongUnit = "wrong-unit"
    case impossibleValue = "impossible-value"
    case impossiblePosition = "impossible-position"
    case impossibleTime = "impossible-time"
    case futureTime = "future-time"
    case conflictingValue = "conflicting-value"
    case parameterNotTracked = "parameter-not-tracked"
    case monitoringPaused = "monitoring-paused"
    case accountNotKnown = "account-not-known"
    case accountNotActive = "account-not-active"
    case readingEnded = "reading-ended"
    case wrongNumber = "wrong-number"
    case wrongSignature = "wrong-signature"
    case pairingOver = "pairing-over"
    case tooManyDevices = "too-many-devices"
    case noSuchDevice = "no-such-device"
    case trackedElsewhere = "parameter-already-tracked"
    case impossibleTracking = "impossible-tracking"
    case outOfDate = "out-of-date"
    case tooManyPoints = "too-many-points"
    case conflictingActivity = "conflicting-activity"
    case tooManyActivities = "too-many-activities"
    case tooManyExports = "too-many-exports"
    case tooManyImports = "too-many-imports"
    case notReady = "not-ready"

    /// The problem without its details; written out so that docs/problems.md can be made from it.
    private var plain: Problem {
        switch self {
        case .malformedJSON:
            Problem("malformed-json", status: 400, title: "The body is not JSON", italianTitle: "I dati inviati non sono JSON")
        case .notEntries:
            Problem("not-entries", status: 422, title: "The body holds no entries", italianTitle: "I dati inviati non contengono misure")
        case .tooManyEntries:
            Problem("too-many-entries", status: 413, title: "There are too many entries", italianTitle: "Le misure sono troppe")
        case .malformedEntry:
            Problem("malformed-entry", status: 422, title: "An entry is not as it should be", italianTitle: "Una misura non è corretta")
        case .unknownMetric:
            Problem("unknown-metric", status: 422, title: "There is no such metric", italianTitle: "Questa misura non esiste")
        case .wrongUnit:
            Problem("wrong-unit", status: 422, title: "The metric is measured in another unit", italianTitle: "La misura ha un'altra unità")
        case .impossibleValue:
            Problem(
                "impossible-value", status: 422, title: "The value is physically impossible",
                italianTitle: "Il valore è fisicamente impossibile")
        case .impossiblePosition:
            Problem(
                "impossible-position", status: 422, title: "The position is not on Earth", italianTitle: "La posizione non è sulla Terra")
        case .impossibleTime:
            Problem("impossible-time", status: 422, title: "The time is not after 1970", italianTitle: "L'istante non è dopo il 1970")
        case .futureTime: Problem("future-time", status: 422, title: "The time lies in the future", italianTitle: "L'istante è nel futuro")
        case .conflictingValue:
            Problem(
                "conflicting-value", status: 409, title: "Another value is stored for this metric and time",
                italianTitle: "Per questa misura e questo istante è salvato un altro valore")
        case .parameterNotTracked:
            Problem(
                "parameter-not-tracked", status: 422, title: "The metric is not tracked from this device",
                italianTitle: "La misura non viene rilevata da questo dispositivo")
        case .monitoringPaused:
            Problem(
                "monitoring-paused", status: 422, title: "The person has paused monitoring",
                italianTitle: "La persona ha messo in pausa il monitoraggio")
        case .accountNotKnown:
            Problem(
                "account-not-known", status: 403, title: "The person's account is not known yet",
                italianTitle: "L'account della persona non è ancora noto")
        case .accountNotActive:
            Problem(
                "account-not-active", status: 403, title: "The person's account allows nothing to be recorded",
                italianTitle: "L'account della persona non permette di registrare nulla")
        case .readingEnded:
            Problem(
                "reading-ended", status: 403, title: "The device reads nothing any more", italianTitle: "Il dispositivo non legge più nulla"
            )
        case .wrongNumber:
            Problem(
                "wrong-number", status: 422, title: "The number is not the one that the device shows",
                italianTitle: "Il numero non è quello mostrato dal dispositivo")
        case .wrongSignature:
            Problem(
                "wrong-signature", status: 422, title: "The device does not prove its key",
                italianTitle: "Il dispositivo non dimostra la sua chiave")
        case .pairingOver:
            Problem(
                "pairing-over", status: 410, title: "The device does not offer itself any more",
                italianTitle: "Il dispositivo non si offre più")
        case .tooManyDevices:
            Problem("too-many-devices", status: 409, title: "There are too many devices", italianTitle: "I dispositivi sono troppi")
        case .noSuchDevice:
            Problem(
                "no-such-device", status: 422, title: "The person has no such device", italianTitle: "La persona non ha questo dispositivo")
        case .trackedElsewhere:
            Problem(
                "parameter-already-tracked", status: 409, title: "A more reliable device delivers it already",
                italianTitle: "La misura viene già da un dispositivo più affidabile")
        case .impossibleTracking:
            Problem(
                "impossible-tracking", status: 422, title: "The devices cannot be used like that",
                italianTitle: "I dispositivi non si possono usare così")
        case .outOfDate:
            Problem("out-of-date", status: 422, title: "The value is no longer current", italianTitle: "Il valore non è più attuale")
        case .tooManyPoints:
            Problem(
                "too-many-points", status: 422, title: "The chart would have too many points",
                italianTitle: "Il grafico avrebbe troppi punti")
        case .conflictingActivity:
            Problem(
                "conflicting-activity", status: 409, title: "There is another activity with the same times",
                italianTitle: "C'è un'altra attività con gli stessi orari")
        case .tooManyActivities:
            Problem("too-many-activities", status: 422, title: "There are too many activities", italianTitle: "Le attività sono troppe")
        case .tooManyExports:
            Problem(
                "too-many-exports", status: 429, title: "There were enough exports today", italianTitle: "Le esportazioni di oggi bastano")
        case .tooManyImports:
            Problem(
                "too-many-imports", status: 429, title: "Too many files wait to be imported",
                italianTitle: "Troppi file attendono di essere importati")
        case .notReady:
            Problem("not-ready", status: 409, title: "The files are not written yet", italianTitle: "I file non sono ancora scritti")
        }
    }

    var status: Int { plain.status }

    func problem(_ detail: String, italian: String? = nil, errors: [Problem.FieldError]? = nil) -> Problem {
        plain.saying(detail, italian: italian, errors: errors)
    }
}

extension IngestProblem {
    /// What a device is told that may deliver and not read (`PersonState.readersSince`).
    static let ofOldDevice = readingEnded.problem(
        "The account was taken back after this device was paired. It goes on delivering; pair it again, or log in, to read.",
        italian:
            "L'account è stato recuperato dopo l'associazione di questo dispositivo. Continua a inviare; lo associ di nuovo per leggere.")

    /// What a document that is one entry can be refused for.
    static let ofEntries: [IngestProblem] = [
        .notEntries, .malformedEntry, .unknownMetric, .wrongUnit, .impossibleValue, .impossiblePosition, .impossibleTime, .futureTime,
        .parameterNotTracked, .monitoringPaused,
    ]
}

extension AcquisitionBar {
    var problem: Problem {
        switch self {
        case .unknown: IngestProblem.accountNotKnown.problem(detail)
        case .inactive: IngestProblem.accountNotActive.problem(detail)
        }
    }
}

extension UploadFault {
    var problem: Problem {
        switch self {
        case .malformedJSON(let fault): IngestProblem.malformedJSON.problem(fault.detail)
        case .notEntries:
            IngestProblem.notEntries.problem("Send one entry, an array of entries, {\"entries\":[…]}, or NDJSON lines.")
        case .tooManyEntries:
            IngestProblem.tooManyEntries.problem(
                "At most \(UploadLimits.entries) entries an upload; nothing was stored. Send several, or NDJSON, which has no such limit.")
        }
    }
}

extension EntryFault {
    /// Of an upload that is one entry.
    var problem: Problem {
        let kind = IngestProblem(rawValue: name) ?? .malformedEntry
        let fault = fieldFault
        return kind.problem(
            fault.english, italian: fault.italian, errors: [.init(pointer: field.map { "/\($0.rawValue)" } ?? "", fault)])
    }
}
