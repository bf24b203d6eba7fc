// What the gateway says over HTTP of data files.

import Contracts
import HTTPKit

/// What is to be written.
struct NewDataFile: Codable, Sendable {
    var format: String
    var types: [String]?
    var from: String?
    var to: String?

    /// All that the request shares unless told.
    /// - Throws: `invalid-body`, naming each field.
    func order(for request: MadeRequest) throws(Problem) -> DataFileOrder {
        var faults: [Problem.FieldError] = []
        func time(_ text: String?, _ field: String) -> Timestamp? {
            guard let text else { return nil }
            let read = Timestamp(rfc3339: text)
            if read == nil { faults.append(.init(pointer: "/\(field)", .notATime)) }
            return read
        }
        let (from, to) = (time(self.from, "from"), time(self.to, "to"))
        for (place, code) in (types ?? []).enumerated() where Metric(code: code) == nil {
            faults.append(.init(pointer: "/types/\(place)", .notAMetric(listedAt: "/thirdparty/v1/data-types")))
        }
        let format = DataFormat(rawValue: self.format)
        if format == nil { faults.append(.init(pointer: "/format", .notAnOption(DataFormat.allCases.map(\.rawValue)))) }
        guard faults.isEmpty, let format else { throw .invalidBody(faults) }
        let chosen = types.map { Set($0.compactMap { Metric(code: $0) }) } ?? Set(request.types)
        return DataFileOrder(
            format: format, types: chosen.sorted { $0.number < $1.number }, from: from ?? request.from, to: to ?? request.to)
    }
}

extension NewDataFile {
    /// Where this body says what may be refused.
    func pointers(of type: Metric) -> DataAccess.Refusal.Pointers {
        let place = (types ?? []).firstIndex(of: type.code)
        return DataAccess.Refusal.Pointers(type: place.map { "/types/\($0)" } ?? "/types", from: "/from", to: "/to")
    }
}

/// A file job; once it is done, this is the manifest of its files.
struct DataFileItem: Codable, Sendable {
    enum State: String, Codable, CaseIterable, Sendable {
        case open, done, failed, removed
        /// The person allows it no longer, wholly or one of its data types: that is all that is told of it.
        case withdrawn

        init(_ state: DataFileState) {
            switch state {
            case .open: self = .open
            case .done: self = .done
            case .failed: self = .failed
            case .removed: self = .removed
            }
        }
    }

    var file: JobID
    var request: RequestID
    var state: State
    var format: DataFormat
    var types: [Metric]?
    var from: String?
    var to: String?
    var createdAt: String
    var expiresAt: String?
    var parts: [DataFilePart]
    var damaged: [Damaged]?
    var fault: String?
    var reminder: String

    init(_ job: DataFileJob, of made: MadeRequest, expiresAt: Timestamp?) {
        (file, request, format, createdAt) = (job.job, job.request, job.order.format, job.createdAt.rfc3339)
        (parts, reminder) = ([], ResponsibilityNotice.text)
        guard made.status != .revoked, job.order.types.allSatisfy(made.types.contains) else {
            state = .withdrawn
            return
        }
        state = State(job.state)
        (types, from, to) = (job.order.types, job.order.from.rfc3339, job.order.to.rfc3339)
        self.expiresAt = expiresAt?.rfc3339
        parts = job.state == .done ? job.parts : []
        damaged = job.damaged.isEmpty ? nil : job.damaged.map { Damaged(type: $0.type, from: $0.from.rfc3339, to: $0.to.rfc3339) }
        fault = job.fault
    }

    struct Damaged: Codable, Sendable {
        var type: Metric
        var from: String
        var to: String
    }
}

// MARK: Their shapes

extension NewDataFile: Documented {
    static var schema: JSONSchema {
        .object(
            .required("format", .oneOf(DataFormat.allCases.map(\.rawValue))),
            .optional(
                "types", .array(of: RequestSchemas.metricCode, count: 1...Metric.all.count).nullable(), "All that is shared unless told."),
            .optional("from", .time.nullable(), "Included; the period's beginning unless told."),
            .optional("to", .time.nullable(), "Not included; the period's end unless told.")
        ).named("NewDataFile")
    }
}

extension DataFilePart: Documented {
    static var schema: JSONSchema {
        .object(
            .required("name", .string()), .required("mediaType", .string()), .required("bytes", .integer(in: 0...Int.max)),
            .required("values", .integer(in: 0...Int.max)), .required("sha256", .string(pattern: "^[0-9a-f]{64}$"))
        ).named("DataFilePart")
    }
}

extension DataFileItem: Documented {
    static var schema: JSONSchema {
        .object(
            .required("file", .identifier(Job.self)), .required("request", .identifier(DataRequest.self)),
            .required(
                "state", .oneOf(DataFileItem.State.allCases.map(\.rawValue)),
                """
                `open`: in preparation. `removed`: expired, removed by you, or the request is over. `withdrawn`: the person allows it no longer, \
                wholly or one of its data types; then nothing is told of what was written.
                """),
            .required("format", .oneOf(DataFormat.allCases.map(\.rawValue))),
            .optional("types", .array(of: RequestSchemas.metricCode), "Absent once it is withdrawn, as `from` and `to`."),
            .optional("from", .time), .optional("to", .time, "Not included."), .required("createdAt", .time),
            .optional("expiresAt", .time, "When its files will be gone."),
            .required("parts", .array(of: DataFilePart.schema), "Empty until it is done."),
            .optional(
                "damaged",
                .array(of: .object(.required("type", RequestSchemas.metricCode), .required("from", .time), .required("to", .time))),
                "There where something is stored and cannot be read any more: the files lack it. Their last one names it too, but in CSV."),
            .optional("fault", .string(), "Why there is none."), .required("reminder", .string(), "Who answers for the data.")
        ).named("DataFile")
    }
}
