// The routes by which entries come in: documents, lines, and the small upload that most are.

import Contracts
import HTTPKit
import NIOCore
import ServiceKit

struct UploadRoutes: Sendable {
    let uploads: Uploads
    let limiter: RateLimiter<Int64>
    /// Of small uploads with values of now, from a device that has sent too much else.
    let urgent: RateLimiter<Int64>

    var all: [Route] { [upload] }

    private var upload: Route {
        Route(
            .post, "/ingest/v1/entries", as: "uploadEntries", access: .device, summary: "Delivers entries",
            description: """
                One entry, an array, or `{"entries":[…]}` with at most \(UploadLimits.entries) entries, or NDJSON of any length. What is \
                accepted is durable. Sending again adds nothing. Send what is freshest first: neither a backlog nor a pause may stand \
                before a reading of now. In a list each entry is judged by itself; a document that is one entry is refused as a whole. \
                NDJSON is committed piece by piece, whole lines as soon as nothing more has come, so that a stream may stay open; it \
                needs no idempotency key.
                """,
            body: BodyShape(
                [
                    .init(MediaType.json, IngestSchemas.entries, examples: [UploadExamples.entries]),
                    .init(MediaType.ndjson, IngestSchemas.entry.described("One per line.")),
                ], limit: UploadLimits.compressedBytes, inflatedLimit: UploadLimits.inflatedBytes),
            answers: [
                .json(200, "What became of every entry", IngestSchemas.uploadAnswer),
                .problem(400, Problem.malformedJSON.name),
                .problem(403, Problem.accountNotKnown.name, Problem.accountNotActive.name),
                .problem(409, Problem.conflictingValue.name), .problem(413, Problem.tooManyEntries.name),
                Answer(
                    422, Problem.ofEntries.map { "`\($0.name)`" }.joined(separator: ", "),
                    contents: [.init(MediaType.problem, Problem.schema)]),
            ], isRateLimited: true, takesIdempotencyKey: true, usesReserve: true, brief: { try takeBriefly($0, $1) }
        ) { exchange in
            let origin = try origin(of: exchange)
            return try await IngestDoor.answering {
                if exchange.mediaType == MediaType.ndjson { return try await takeLines(exchange, origin) }
                return try await takeDocument(exchange, origin)
            }
        }
    }

    private func origin(of exchange: Exchange) throws -> UploadOrigin {
        let device = try IngestDoor.device(exchange)
        try IngestDoor.requireAcquisition(device)
        return UploadOrigin(
            device: device, receivedAt: exchange.receivedAt, trace: String(exchange.requestID.prefix(32)),
            idempotencyKey: exchange.mediaType == MediaType.json ? try exchange.idempotencyKey : nil)
    }

    /// A small document, which most uploads are.
    private func takeBriefly(_ exchange: Exchange, _ answer: BriefAnswer) throws -> Bool {
        guard exchange.mediaType == MediaType.json, let body = try exchange.briefBody() else { return false }
        let origin = try origin(of: exchange)
        let upload = try read(body, origin, after: limiter.take(origin.device.number))
        do {
            try uploads.take(upload, origin) { outcome in
                answer {
                    do {
                        return try Self.answer(try outcome())
                    } catch {
                        throw IngestDoor.refusal(of: error)
                    }
                }
            }
        } catch {
            throw IngestDoor.refusal(of: error)
        }
        return true
    }

    private func takeDocument(_ exchange: Exchange, _ origin: UploadOrigin) async throws -> HTTPAnswer {
        let wait = limiter.take(origin.device.number)
        let upload = try read(try await body(of: exchange, after: wait), origin, after: wait)
        return try Self.answer(await uploads.take(upload, origin))
    }

    /// - Parameter wait: until the device may come again; of one that has come too often no more is read than an urgent upload has.
    private func body(of exchange: Exchange, after wait: Duration?) async throws -> ByteBuffer {
        guard let wait else { return try await exchange.body() }
        do {
            return try await exchange.body(limit: UploadLimits.urgentBytes, inflatedLimit: UploadLimits.urgentBytes)
        } catch let problem as Problem where problem.status == 413 {
            throw Refusal(.tooManyRequests, retryAfter: wait)
        }
    }

    /// A device that sends its backlog too fast is refused that, and its values of now are taken.
    private func read(_ document: ByteBuffer, _ origin: UploadOrigin, after wait: Duration?) throws -> ReceivedUpload {
        guard let wait else { return try read(document, origin) }
        if document.readableBytes <= UploadLimits.urgentBytes {
            let upload = try read(document, origin)
            if upload.isUrgent(at: origin.receivedAt), urgent.take(origin.device.number) == nil { return upload }
        }
        throw Refusal(.tooManyRequests, retryAfter: wait)
    }

    private func read(_ document: ByteBuffer, _ origin: UploadOrigin) throws -> ReceivedUpload {
        do {
            return try document.withUnsafeReadableBytes { try uploads.read(document: $0, origin) }
        } catch let fault as UploadFault {
            throw fault.problem
        }
    }

    private static func answer(_ reply: UploadReply) throws(Problem) -> HTTPAnswer {
        switch reply {
        case .first(let answer): return .bytes(answer.json, contentType: MediaType.json)
        case .again(let json): return .bytes(json, contentType: MediaType.json).with(.idempotencyReplayed, "true")
        case .otherBody: throw Problem.idempotencyConflict
        }
    }

    private func takeLines(_ exchange: Exchange, _ origin: UploadOrigin) async throws -> HTTPAnswer {
        try limiter.admit(origin.device.number)
        var answer = UploadAnswer()
        answer.totals = (0, 0)
        var cutter = LineCutter()
        var taken = 0
        var chunks = try exchange.bodyChunks().makeAsyncIterator()
        while let chunk = try await chunks.next() {
            var at = 0
            while at < chunk.readableBytes {
                at = chunk.withUnsafeReadableBytes { cutter.add($0, from: at) }
                if cutter.isFull { taken += try await takePiece(cutter.take(), firstIndex: taken, origin, into: &answer) }
            }
            // A critical value does not wait for its sender's next line.
            if chunks.mustWait, cutter.hasLines {
                taken += try await takePiece(cutter.takeLines(), firstIndex: taken, origin, into: &answer)
            }
        }
        if !cutter.isEmpty { taken += try await takePiece(cutter.take(), firstIndex: taken, origin, into: &answer) }
        return .bytes(answer.json, contentType: MediaType.json)
    }

    /// Stores one piece; returns how many entries it held.
    private func takePiece(
        _ piece: [UInt8], firstIndex: Int, _ stream: UploadOrigin, into answer: inout UploadAnswer
    ) async throws -> Int {
        var origin = stream
        origin.receivedAt = .now
        let received = piece.withUnsafeBytes { uploads.read(lines: $0, firstIndex: firstIndex, origin) }
        if case .first(let part) = try await uploads.take(received, origin) { answer.add(part) }
        return received.scanned.count
    }
}

private enum UploadExamples {
    static let entries: JSONValue = [
        "sentAt": "2026-01-10T00:31:01.000Z",
        "entries": [
            [
                "type": "heart-rate", "at": "2026-01-10T00:31:00.000Z", "value": 72,
                "position": ["latitude": 45.5, "longitude": 9.25],
            ]
        ],
    ]
}
