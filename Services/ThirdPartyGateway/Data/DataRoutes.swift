// The door to the data themselves: pages in the form that the caller likes (SHR-20, ORG-20).

import Contracts
import HTTPKit
import HTTPTypes

struct DataRoutes: Sendable {
    /// Values of one page.
    static let most = 10_000
    private static let usual = 1000

    let service: DataService
    let admit: Admit

    var all: [Route] { [page] }

    private var page: Route {
        Route(
            .get, "/thirdparty/v1/requests/{request}/data", access: .organisation, scopes: [Right.dataRead.rawValue],
            summary: "Data of an accepted and paid request",
            description: """
                Needs `data:read`. \
                One type, oldest first, one value for each second, minute or hour of the request's granularity that holds any and is over: \
                the mean of a number, the first position. `Link` with `rel="next"` names the following page in every form; in JSON \
                `next` is the cursor. The header `\(ResponsibilityNotice.header)` reminds of who answers for the data. What is stored and \
                cannot be read any more is passed over; its times are named by `damaged` in JSON, in the last line of NDJSON, in the \
                `damaged` elements of XML, in an OperationOutcome of FHIR, and by the header `\(DamageNotice.header)` with every form. \
                Each page is recorded, and the person can see it.
                """,
            parameters: [
                RequestRoutes.requestID, .query("type", RequestSchemas.metricCode, required: true, "One of the request's `sharedTypes`."),
                .query("from", .time, "Included; the period's beginning unless told."),
                .query("to", .time, "Not included; the period's end unless told."),
                .query("format", .oneOf(DataFormat.allCases.map(\.rawValue)), "Instead of `Accept`."),
                .query("limit", .integer(in: 1...Self.most), "Values at most; \(Self.usual) unless told."), .after,
            ],
            answers: [
                Answer(
                    200, "One page",
                    contents: [.init(MediaType.json, DataPage.schema, examples: [Examples.dataPage])]
                        + DataFormat.allCases.filter { $0 != .json }.map { .init($0.mediaType, $0 == .fhir ? .anything : .string()) }
                ).sending(.dataResponsibility, .dataDamaged, .link),
                .noAdmission, .problem(402, Problem.paymentOutstanding.name), .problem(403, Problem.notEntitled.name),
                .problem(404, "not-found"), .problem(406, "not-acceptable"), .problem(503, Problem.dataInPreparation.name),
            ]
        ) { exchange in
            let standing = try await admit(exchange, .dataRead)
            let id: RequestID = try exchange.identifier("request")
            let type = try exchange.required(
                "type", exchange.query("type", orElse: .notAMetric(listedAt: "/thirdparty/v1/data-types")) { Metric(code: $0) })
            let format = try Self.format(exchange)
            let (from, to) = (try exchange.queryTime("from"), try exchange.queryTime("to"))
            let limit = try exchange.queryInteger("limit", in: 1...Self.most) ?? Self.usual
            let after = try exchange.cursor { Int64($0) }
            return try await Self.answering {
                guard let opened = try await service.open(id, of: standing.id, type: type, from: from, to: to) else { throw Problem.absent }
                let reply = try await service.page(opened, after: after.map(String.init), limit: limit)
                return Self.answer(reply, opened.access, format, limit: limit)
            }
        }
    }

    /// The parameter `format`, else what `Accept` prefers.
    static func format(_ exchange: Exchange, of offered: [DataFormat] = DataFormat.allCases) throws(Problem) -> DataFormat {
        let named = try exchange.query("format", orElse: .notAnOption(offered.map(\.rawValue))) { name in
            DataFormat(rawValue: name).flatMap { offered.contains($0) ? $0 : nil }
        }
        if let named { return named }
        return DataFormat(mediaType: try exchange.preferred(of: offered.map(\.mediaType))) ?? .json
    }

    /// Turns what the service refuses into problems.
    static func answering<Value: Sendable>(_ body: () async throws -> Value) async throws -> Value {
        do {
            return try await body()
        } catch let refusal as DataAccess.Refusal {
            throw refusal.problem
        } catch let refusal as DataRefusal {
            throw refusal.problem
        }
    }

    private static func answer(_ reply: ReadSamples.Reply, _ access: DataAccess, _ format: DataFormat, limit: Int) -> HTTPAnswer {
        let damaged = reply.damaged ?? []
        let bytes =
            format == .json
            ? DataPage.bytes(reply)
            : format.bytes(
                reply.columns.samples, of: access.request,
                without: damaged.map { DamagedEntries(type: access.type, from: $0.from, to: $0.to) })
        var answer = HTTPAnswer.bytes(bytes, contentType: format.mediaType).with(.dataResponsibility, ResponsibilityNotice.text)
        if let text = DamageNotice.text(damaged) { answer = answer.with(.dataDamaged, text) }
        guard let next = reply.next else { return answer }
        let link =
            "</thirdparty/v1/requests/\(access.request)/data?type=\(access.type.code)&from=\(access.from.rfc3339)&to=\(access.to.rfc3339)"
            + "&limit=\(limit)&after=\(next)&format=\(format.rawValue)>; rel=\"next\""
        return answer.with(.link, link)
    }
}

extension HTTPField.Name {
    static let dataResponsibility = known(ResponsibilityNotice.header)
    static let dataDamaged = known(DamageNotice.header)
}

extension AnswerHeader {
    static let dataResponsibility = AnswerHeader(
        .dataResponsibility, .string(), always: true, "Reminds of who answers for the data from now on (ORG-21).")
    static let dataDamaged = AnswerHeader(
        .dataDamaged, .string(),
        "There where something is stored and cannot be read any more: its times, `from/to` in ISO 8601, separated by commas.")
}

/// A page in JSON, written by hand since it may hold 10,000 values.
enum DataPage {
    static let schema = JSONSchema.object(
        .required(
            "items",
            .array(
                of: .object(
                    .required("type", RequestSchemas.metricCode), .required("at", .time, "The step's beginning."),
                    .optional("value", .number()), .optional("unit", .string(), "UCUM."),
                    .optional(
                        "position",
                        .object(
                            .required("latitude", .number()), .required("longitude", .number()), .optional("altitude", .number()),
                            .optional("accuracy", .number())))))),
        .required("next", .string().nullable()),
        .optional(
            "damaged", .array(of: .object(.required("from", .time), .required("to", .time))),
            "There where what was measured between these times is stored and cannot be read any more."),
        .required("reminder", .string(), "Who answers for the data from now on.")
    ).named("DataPage")

    static func bytes(_ reply: ReadSamples.Reply) -> [UInt8] {
        var json = JSONBytes(capacity: 256 + reply.columns.count * (reply.columns.positions.isEmpty ? 96 : 192))
        json.literal("{\"items\":[")
        json.exported(reply.columns)
        json.literal("],\"next\":")
        if let next = reply.next { json.string(next) } else { json.literal("null") }
        for (place, period) in (reply.damaged ?? []).enumerated() {
            json.literal(place == 0 ? ",\"damaged\":[{\"from\":\"" : ",{\"from\":\"")
            json.append(period.from.rfc3339)
            json.literal("\",\"to\":\"")
            json.append(period.to.rfc3339)
            json.literal("\"}")
        }
        if reply.damaged?.isEmpty == false { json.byte("]") }
        json.literal(",\"reminder\":")
        json.string(ResponsibilityNotice.text)
        json.literal("}")
        return json.bytes
    }
}
