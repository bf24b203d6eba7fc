// The route for data in makers' own formats (ING-16): one path for all of them.

import Contracts
import HTTPKit
import NIOCore
import ServiceKit

struct MakerRoutes: Sendable {
    let uploads: Uploads
    let limiter: RateLimiter<Int64>

    var all: [Route] { [makers] + MakerSource.all.map(entries) }

    private var makers: Route {
        Route(
            .get, "/ingest/v1/makers", access: .anyone, summary: "Makers whose formats are understood",
            answers: [.json(200, "One for each", Page<MakerItem>.self)]
        ) { _ in
            try .json(Page(items: MakerSource.all.map { MakerItem($0) }, next: nil))
        }
    }

    private func entries(_ source: MakerSource) -> Route {
        Route(
            .post, "/ingest/v1/makers/\(source.name)/entries",
            as: "upload\(source.name.prefix(1).uppercased())\(source.name.dropFirst())Entries", access: .device,
            summary: "Delivers entries in \(source.name)'s format",
            description: """
                \(source.described). Judged, stored and answered like any other entries; items that are no measurements are passed over \
                and count for nothing. Sending again adds nothing.
                """,
            body: BodyShape(
                [.init(MediaType.json, source.schema, examples: [source.example])], limit: UploadLimits.compressedBytes,
                inflatedLimit: UploadLimits.inflatedBytes),
            answers: [
                .json(200, "What became of every entry", IngestSchemas.uploadAnswer),
                .problem(400, Problem.malformedJSON.name),
                .problem(403, Problem.accountNotKnown.name, Problem.accountNotActive.name),
                .problem(413, Problem.tooManyEntries.name), .problem(422, Problem.notEntries.name),
            ], isRateLimited: true, usesReserve: true
        ) { exchange in
            let device = try IngestDoor.device(exchange)
            try limiter.admit(device.number)
            try IngestDoor.requireAcquisition(device)
            let origin = UploadOrigin(
                device: device, receivedAt: exchange.receivedAt, trace: String(exchange.requestID.prefix(32)), idempotencyKey: nil)
            return try await IngestDoor.answering {
                let body = try await exchange.body()
                let received: ReceivedUpload
                do {
                    received = try body.withUnsafeReadableBytes { try uploads.read(source, document: $0, origin) }
                } catch let fault as UploadFault {
                    throw fault.problem
                }
                guard case .first(let answer) = try await uploads.take(received, origin) else { throw Problem.internal }
                return .bytes(answer.json, contentType: MediaType.json)
            }
        }
    }
}

/// A maker as programs see it.
struct MakerItem: Codable, Sendable, Documented {
    var name: String
    var described: String
    var metrics: [String]

    init(_ source: MakerSource) {
        (name, described, metrics) = (source.name, source.described, source.metrics.map(\.code))
    }

    static let schema = JSONSchema.object(
        .required("name", .string()), .required("described", .string(), "Where the format is documented."),
        .required("metrics", .array(of: IngestSchemas.metricCode))
    ).named("Maker")
}
