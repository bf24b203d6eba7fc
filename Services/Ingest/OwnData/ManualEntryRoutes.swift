// The route for what people type in.

import Contracts
import HTTPKit
import NIOCore
import ServiceKit
import Storage

struct ManualEntryRoutes: Sendable {
    let entries: ManualEntries
    let limiter: RateLimiter<PersonID>

    var all: [Route] {
        [
            Route(
                .post, "/ingest/v1/manual-entries", as: "createManualEntries", access: .person,
                summary: "Stores entries that were typed in",
                description: """
                    One entry, an array, or `{"entries":[…]}`: stored entirely or not at all, marked as entered by hand. A wrong value is \
                    named with its field and what is allowed; nothing older than \(entries.oldest.wholeMilliseconds / 3_600_000) hours is \
                    taken. What is stored already, word for word, is accepted once.
                    """,
                body: BodyShape(
                    [.init(MediaType.json, IngestSchemas.entries, examples: [ManualExamples.entries])], limit: 256 << 10,
                    inflatedLimit: 256 << 10),
                answers: [
                    .json(200, "Stored", IngestSchemas.uploadAnswer), .problem(400, Problem.malformedJSON.name),
                    .problem(403, "not-for-this-account", AcquisitionBar.inactive.rawValue, AcquisitionBar.unknown.rawValue),
                    .problem(409, Problem.conflictingValue.name), .problem(413, Problem.tooManyEntries.name),
                    Answer(
                        422, (Problem.ofEntries + [.outOfDate]).map { "`\($0.name)`" }.joined(separator: ", "),
                        contents: [.init(MediaType.problem, Problem.schema)]),
                ], isRateLimited: true, takesIdempotencyKey: true
            ) { exchange in
                let person = try exchange.person
                try limiter.admit(person)
                let document = Array(try await exchange.body().readableBytesView)
                let key = try exchange.idempotencyKey
                return try await OwnDataDoor.answering {
                    let reply = try await entries.insert(
                        document, of: person, receivedAt: exchange.receivedAt, trace: String(exchange.requestID.prefix(32)),
                        idempotencyKey: key)
                    switch reply {
                    case .first(let answer): return .bytes(answer.json, contentType: MediaType.json)
                    case .again(let json): return .bytes(json, contentType: MediaType.json).with(.idempotencyReplayed, "true")
                    case .otherBody: throw Problem.idempotencyConflict
                    }
                }
            }
        ]
    }
}

private enum ManualExamples {
    static let entries: JSONValue = [
        "entries": [
            ["type": "blood-pressure-max", "at": "2026-01-10T08:00:00.000Z", "value": 128, "unit": "mm[Hg]"],
            ["type": "blood-pressure-min", "at": "2026-01-10T08:00:00.000Z", "value": 81, "unit": "mm[Hg]"],
        ]
    ]
}
