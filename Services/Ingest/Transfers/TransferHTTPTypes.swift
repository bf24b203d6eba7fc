// HTTP bodies of exports and imports.

import Contracts
import HTTPKit

/// What a person wants to take along.
struct NewExport: Codable, Sendable, Documented {
    var format: String
    var types: [String]?
    var from: String?
    var to: String?

    static let schema = JSONSchema.object(
        .required("format", .oneOf(ExchangeFormat.allCases.map(\.rawValue)), "`gpx` holds positions alone."),
        .optional("types", .array(of: IngestSchemas.metricCode, count: 1...Metric.all.count).nullable(), "All unless told."),
        .optional("from", .time.nullable(), "Included; the beginning unless told."),
        .optional("to", .time.nullable(), "Not included; the moment of asking unless told.")
    ).named("NewExport")

    /// - Throws: `invalid-body`, naming each field.
    func request(now: Timestamp) throws(Problem) -> TransferRequest {
        var errors: [Problem.FieldError] = []
        func time(_ text: String?, _ field: String) -> Int64? {
            guard let text else { return nil }
            let read = Timestamp(rfc3339: text)
            if read == nil { errors.append(.init(pointer: "/\(field)", .notATime)) }
            return read?.milliseconds
        }
        let (from, to) = (time(from, "from"), time(to, "to"))
        if let from, let to, from > to { errors.append(.init(pointer: "/to", .before("from"))) }
        for (place, code) in (types ?? []).enumerated() where Metric(code: code) == nil {
            errors.append(.init(pointer: "/types/\(place)", .notAMetric(listedAt: "/ingest/v1/metrics")))
        }
        guard let format = ExchangeFormat(rawValue: format) else {
            errors.append(.init(pointer: "/format", .notAnOption(ExchangeFormat.allCases.map(\.rawValue))))
            throw .invalidBody(errors)
        }
        guard errors.isEmpty else { throw .invalidBody(errors) }
        return TransferRequest(format: format, types: types.map { Array(Set($0)).sorted() }, from: from, to: to)
    }
}

struct ProgressItem: Codable, Sendable {
    var done: Int
    var total: Int

    static let schema = JSONSchema.object(
        .required("done", .integer(in: 0...Int(Int32.max))), .required("total", .integer(in: 0...Int(Int32.max)), "About so many.")
    ).named("Progress")
}

/// An export as its person sees it; the files are its manifest.
struct ExportItem: Codable, Sendable, Documented {
    var id: String
    var state: String
    var format: String
    var types: [String]?
    var from: String?
    var to: String?
    var createdAt: String
    var expiresAt: String?
    var progress: ProgressItem?
    var files: [ExportedFile]
    var damaged: [DamagedItem]?
    var fault: String?

    init(_ export: Export, progress: TransferProgress?, expiresAt: Timestamp?) {
        let (row, request) = (export.row, export.request)
        id = row.job.description
        state = Self.state(row.state, isWorking: progress != nil)
        (format, types) = (request.format.rawValue, request.types)
        from = request.from.map { Timestamp(milliseconds: $0).rfc3339 }
        to = request.to.map { Timestamp(milliseconds: $0).rfc3339 }
        createdAt = row.createdAt.rfc3339
        self.expiresAt = expiresAt?.rfc3339
        self.progress = progress.map { ProgressItem(done: $0.done, total: $0.total) }
        files = export.result?.files ?? []
        damaged = export.result?.damaged
        fault = export.result?.fault
    }

    static func state(_ state: TransferState, isWorking: Bool) -> String {
        switch state {
        case .open: isWorking ? "running" : "waiting"
        case .done: "done"
        case .failed: "failed"
        case .removed: "removed"
        }
    }

    static let states = JSONSchema.oneOf(["waiting", "running", "done", "failed", "removed"])

    static let schema = JSONSchema.object(
        .required("id", .identifier(Job.self)), .required("state", states, "`removed`: expired, or by the person."),
        .required("format", .oneOf(ExchangeFormat.allCases.map(\.rawValue))), .optional("types", .array(of: .string())),
        .optional("from", .time), .optional("to", .time), .required("createdAt", .time),
        .optional("expiresAt", .time, "When the files will be gone."), .optional("progress", ProgressItem.schema, "While it is written."),
        .required(
            "files",
            .array(
                of: .object(
                    .required("name", .string()), .required("mediaType", .string()), .required("bytes", .integer(in: 0...Int(Int32.max))),
                    .required("entries", .integer(in: 0...Int(Int32.max))),
                    .required("sha256", .string(pattern: "^[0-9a-f]{64}$"), "Of the file as it is downloaded."))),
            "The manifest; empty until the export is done."), .damaged, .optional("fault", .string(), "Why it failed, for people.")
    ).named("Export")
}

/// An import as its person sees it.
struct ImportItem: Codable, Sendable, Documented {
    struct Rejected: Codable, Sendable {
        var index: Int
        var line: Int?
        var type: String
        var detail: String
    }

    var id: String
    var state: String
    var format: String
    var createdAt: String
    var progress: ProgressItem?
    var accepted: Int
    var duplicates: Int
    var rejectedCount: Int
    var rejected: [Rejected]
    var fault: String?

    init(_ job: Import, progress: TransferProgress?) {
        let result = job.result ?? ImportResult()
        (id, format, createdAt) = (job.row.job.description, job.request.format.rawValue, job.row.createdAt.rfc3339)
        state = ExportItem.state(job.row.state, isWorking: progress != nil)
        self.progress = progress.map { ProgressItem(done: $0.done, total: $0.total) }
        (accepted, duplicates, rejectedCount, fault) = (result.accepted, result.duplicates, result.rejectedCount, result.fault)
        rejected = result.rejected.map {
            Rejected(index: $0.index, line: $0.line, type: Problem.prefix + $0.name, detail: $0.detail)
        }
    }

    static let schema: JSONSchema = {
        let count = JSONSchema.integer(in: 0...Int(Int32.max))
        return JSONSchema.object(
            .required("id", .identifier(Job.self)), .required("state", ExportItem.states),
            .required("format", .oneOf(ExchangeFormat.allCases.map(\.rawValue))), .required("createdAt", .time),
            .optional("progress", ProgressItem.schema, "While it is worked on."), .required("accepted", count, "New entries, now durable."),
            .required("duplicates", count, "Stored before, word for word."), .required("rejectedCount", count),
            .required(
                "rejected",
                .array(
                    of: .object(
                        .required("index", count, "Place among the file's entries, from 0."),
                        .optional("line", count, "In the file, from 1."), .required("type", .string(pattern: "^\(Problem.prefix)[a-z-]+$")),
                        .required("detail", .string()))), "The first \(ImportLimits.named)."),
            .optional("fault", .string(), "Why nothing could be taken, for people.")
        ).named("Import")
    }()
}
