// The doors of ingest over HTTP: what may be asked, by whom, and which one call answers it.

import Contracts
import HTTPKit
import NIOCore
import ServiceKit
import Storage

struct IngestRoutes: Sendable {
    let uploads: Uploads
    let readings: Readings
    let people: People
    let limiter: RateLimiter<Int64>
    /// Of small uploads that say how somebody is now, from a device that has sent too much else.
    let urgent: RateLimiter<Int64>
    /// `ing.device_read_h`.
    let deviceReading: Duration

    var all: [Route] { [upload, entries, latest, coverage, metrics] }

    // MARK: Uploading

    private var upload: Route {
        Route(
            .post, "/ingest/v1/entries", as: "uploadEntries", access: .device, summary: "Delivers entries",
            description: """
                One entry, an array, or `{"entries":[…]}` with at most \(UploadLimits.entries) entries, or NDJSON of any length. What is \
                accepted is durable. Sending again adds nothing. In a list each entry is judged by itself; a document that is one entry \
                is refused as a whole. NDJSON is committed piece by piece, whole lines as soon as nothing more has come, so that a stream may \
                stay open; it needs no idempotency key.
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
            return try await Self.answering {
                if exchange.mediaType == MediaType.ndjson { return try await takeLines(exchange, origin) }
                return try await takeDocument(exchange, origin)
            }
        }
    }

    private func origin(of exchange: Exchange) throws -> UploadOrigin {
        let device = try Self.device(exchange)
        try Self.requireAcquisition(device)
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
                        return try Self.said(try outcome())
                    } catch {
                        throw Self.refusal(of: error)
                    }
                }
            }
        } catch {
            throw Self.refusal(of: error)
        }
        return true
    }

    private func takeDocument(_ exchange: Exchange, _ origin: UploadOrigin) async throws -> HTTPAnswer {
        let wait = limiter.take(origin.device.number)
        let upload = try read(try await body(of: exchange, after: wait), origin, after: wait)
        return try Self.said(await uploads.take(upload, origin))
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

    /// A device that sends its backlog too fast is refused that, and is heard as to how its person is now.
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

    private static func said(_ reply: UploadReply) throws(Problem) -> HTTPAnswer {
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

    // MARK: Reading

    private static let period: [Parameter] = [
        .query("type", IngestSchemas.metricCode, required: true, "Code of the metric."),
        .query("from", .time, "Beginning of the period, included; everything unless told."),
        .query("to", .time, "End of the period, not included; now unless told."),
    ]

    private var entries: Route {
        Route(
            .get, "/ingest/v1/entries", access: .owner, summary: "One's own entries of one metric",
            description: """
                In order of time. With a granularity other than `raw`, sums over whole minutes, hours or UTC days that have entries; the \
                period is widened to whole ones. `Accept: application/x-ndjson` streams everything, one item a line, without pages. \
                Entries that are stored and cannot be read any more are passed over and named in `damaged`, in a stream of lines by one more \
                line at its end.
                """,
            parameters: Self.period + [
                .query("granularity", .oneOf(Granularity.allCases.map(\.rawValue)), "`raw` unless told; positions have no other."), .limit,
                .after,
            ],
            answers: [
                .problem(403, Problem.readingEnded.name),
                Answer(
                    200, "Entries, or stretches",
                    contents: [
                        .init(
                            MediaType.json,
                            .any(of: IngestSchemas.page(of: IngestSchemas.storedEntry), IngestSchemas.page(of: IngestSchemas.stretch))),
                        .init(MediaType.ndjson, .any(of: IngestSchemas.storedEntry, IngestSchemas.stretch)),
                    ]),
            ]
        ) { exchange in
            let reader = try await reader(exchange)
            let period = try Self.period(exchange)
            let granularity = try exchange.queryChoice("granularity", of: Granularity.self) ?? .raw
            guard granularity == .raw || period.metric.definition.shape != .position else {
                throw OwnDataDoor.invalid("granularity", .notForPositions)
            }
            let list = EntryList(readings: readings, period: period, granularity: granularity, reader: reader)
            let after = try exchange.cursor(Int64.init)
            let limit = try exchange.pageLimit
            return try await Self.answering {
                if try exchange.preferred(of: [MediaType.json, MediaType.ndjson]) == MediaType.ndjson {
                    return list.stream(after: after)
                }
                return .bytes(try await list.page(after: after, limit: limit), contentType: MediaType.json)
            }
        }
    }

    private var latest: Route {
        Route(
            .get, "/ingest/v1/latest", as: "getLatestEntries", access: .owner, summary: "The newest entry of each metric",
            answers: [
                .json(200, "One entry per metric that has any", IngestSchemas.page(of: IngestSchemas.storedEntry)),
                .problem(403, Problem.readingEnded.name),
            ]
        ) { exchange in
            let reader = try await reader(exchange)
            return try await Self.answering {
                var json = JSONBytes()
                let items = try await readings.latest(of: reader)
                json.page(items, next: nil, damaged: reader.damaged) { $0.write(to: &$1) }
                return .bytes(json.bytes, contentType: MediaType.json)
            }
        }
    }

    /// Days over which coverage is computed at most: it looks at every entry.
    private static let coverageDays: Int64 = 400

    private var coverage: Route {
        Route(
            .get, "/ingest/v1/coverage", access: .owner, summary: "How complete a series is",
            description: """
                An entry covers one and a half times the interval that its device declared. Periods of at most \(Self.coverageDays) days.
                """,
            parameters: Self.period,
            answers: [.json(200, "Share and longest gap", IngestSchemas.coverage), .problem(403, Problem.readingEnded.name)],
            yields: .statistics
        ) { exchange in
            let reader = try await reader(exchange)
            _ = try exchange.required("from", exchange.queryTime("from"))
            let period = try Self.period(exchange)
            guard !period.range.isEmpty, Int64(period.range.count) <= Self.coverageDays * Granularity.dayWidth else {
                throw OwnDataDoor.invalid("to", .periodTooLong(days: Int(Self.coverageDays), from: "from"))
            }
            return try await Self.answering {
                let coverage = try await readings.coverage(period, of: reader)
                return try .json(CoverageAnswer(coverage, period, damaged: DamagedItem.all(of: reader.damaged)))
            }
        }
    }

    private var metrics: Route {
        Route(
            .get, "/ingest/v1/metrics", access: .anyone, summary: "Everything that can be measured",
            answers: [.json(200, "The registry", IngestSchemas.page(of: IngestSchemas.metric))]
        ) { _ in
            try .json(Page(items: Metric.all.map { MetricItem($0.definition) }, next: nil))
        }
    }
}

// MARK: What requests say

extension IngestRoutes {
    static func device(_ exchange: Exchange) throws(Problem) -> KnownDevice {
        guard let device = exchange.caller.context as? KnownDevice else { throw .unauthorised }
        return device
    }

    /// ING-10: says why nothing of the device's person is recorded at all.
    static func requireAcquisition(_ device: KnownDevice) throws(Problem) {
        if let bar = device.bar { throw bar.problem }
    }

    /// The person who asks, or whose device does.
    private func reader(_ exchange: Exchange) async throws -> Reader {
        if let device = exchange.caller.context as? KnownDevice {
            let isAlone = people.registry.household(of: device.person)?.devices.count == 1
            let reach = DeviceReach(
                only: isAlone ? nil : device.number, since: (exchange.receivedAt - deviceReading).milliseconds)
            return Reader(person: device.person, number: device.personNumber, reach: reach)
        }
        let person = try exchange.person
        do {
            return try await people.reader(of: person)
        } catch is KeyDestroyed {
            throw Refusal(.unavailable, retryAfter: .seconds(1))
        }
    }

    private static func period(_ exchange: Exchange) throws(Problem) -> ReadingPeriod {
        let metric = try exchange.required(
            "type", exchange.query("type", orElse: .notAMetric(listedAt: "/ingest/v1/metrics")) { Metric(code: $0) })
        let from = try exchange.queryTime("from")?.milliseconds ?? 0
        let to = try exchange.queryTime("to")?.milliseconds ?? (exchange.receivedAt + UploadLimits.furthestFuture).milliseconds
        guard from <= to else { throw OwnDataDoor.invalid("to", .before("from")) }
        return ReadingPeriod(metric: metric, range: from..<to)
    }

    static func answering(_ work: () async throws -> HTTPAnswer) async throws -> HTTPAnswer {
        do {
            return try await work()
        } catch {
            throw refusal(of: error)
        }
    }

    /// A key is gone for the moment in which a person's data are erased while the account goes on; of an erased account there are no tokens.
    static func refusal(of error: any Error) -> any Error {
        error is KeyDestroyed ? Refusal(.unavailable, retryAfter: .seconds(1)) : error
    }
}

private enum UploadExamples {
    static let entries: JSONValue = [
        [
            "type": "heart-rate", "at": "2026-01-10T00:31:00.000Z", "value": 72,
            "position": ["latitude": 45.5, "longitude": 9.25],
        ]
    ]
}
