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
    case insufficientStorage = "insufficient-storage"

    /// The problem without its details; written out so that docs/problems.md can be made from it.
    private var plain: Problem {
        switch self {
        case .malformedJSON: Problem("malformed-json", status: 400, title: "The body is not JSON")
        case .notEntries: Problem("not-entries", status: 422, title: "The body holds no entries")
        case .tooManyEntries: Problem("too-many-entries", status: 413, title: "There are too many entries")
        case .malformedEntry: Problem("malformed-entry", status: 422, title: "An entry is not as it should be")
        case .unknownMetric: Problem("unknown-metric", status: 422, title: "There is no such metric")
        case .wrongUnit: Problem("wrong-unit", status: 422, title: "The metric is measured in another unit")
        case .impossibleValue: Problem("impossible-value", status: 422, title: "The value is physically impossible")
        case .impossiblePosition: Problem("impossible-position", status: 422, title: "The position is not on Earth")
        case .impossibleTime: Problem("impossible-time", status: 422, title: "The time is not after 1970")
        case .futureTime: Problem("future-time", status: 422, title: "The time lies in the future")
        case .conflictingValue: Problem("conflicting-value", status: 409, title: "Another value is stored for this metric and time")
        case .insufficientStorage: Problem("insufficient-storage", status: 507, title: "There is no room to store it")
        }
    }

    var status: Int { plain.status }

    func problem(_ detail: String, errors: [Problem.FieldError]? = nil) -> Problem {
        var problem = plain
        (problem.detail, problem.errors) = (detail, errors)
        return problem
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
        return kind.problem(detail, errors: [.init(pointer: field.map { "/\($0.rawValue)" } ?? "", detail: detail)])
    }
}

extension Refusal {
    /// What the door says when the store cannot: nothing was stored that was not acknowledged.
    static func of(_ error: StoreError) -> any Error {
        switch error {
        case .full:
            Refusal(
                IngestProblem.insufficientStorage.problem(
                    "Nothing was stored; whoever runs the suite must make room. Keep the entries and try later."),
                retryAfter: .seconds(60))
        case .busy, .undone, .closed: Refusal(.unavailable, retryAfter: .seconds(1))
        default: error
        }
    }
}
