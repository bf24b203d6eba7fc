// What an organisation does with group requests over HTTP: it asks, pays, and reads what was released.

import Contracts
import Foundation
import TestKit
import Testing

/// One entry of a release, as JSON has it.
struct ReleasedEntry: Decodable, Sendable {
    var id: String?
    var type: String
    var from: String
    var classes: [String: String]
    var values: [Double]
    var place: String?
    var individuals: Int

    /// Of the day, in UTC.
    var hour: Int? { Timestamp(rfc3339: from).map { Int($0.milliseconds / 3_600_000 % 24) } }
}

extension Hospital {
    /// Five euro for each group, and ten cents for a thousand entries.
    static let groupPrices = PriceList(
        currency: "EUR", perRequest: 1200, usual: .init(seconds: 0, minutes: 0, hours: 0),
        groups: .init(perRequest: 500, perThousandEntries: 10))

    /// Asks once, and again under the same key for an answer that is not there yet.
    /// - Parameters:
    ///   - filters: JSON.
    ///   - end: of the period; the day's own unless told.
    ///   - further: fields of the form, each with a comma before it.
    func askForGroup(
        _ filters: String, types: [String] = ["heart-rate"], on day: GroupDay, until end: Timestamp? = nil,
        by granularity: String = "day", _ further: String = ""
    ) async throws -> HarnessAnswer {
        let types = types.map { "\"\($0)\"" }.joined(separator: ",")
        let period = #""from":"\#(day.begin.rfc3339)","to":"\#((end ?? day.end).rfc3339)","granularity":"\#(granularity)""#
        let form = #"{"filters":\#(filters),"types":[\#(types)],\#(period)\#(further)}"#
        let key = "group-\(UInt64.random(in: 0 ... .max))"
        return try await eventually("the group request is answered", within: .seconds(90)) {
            let client = HarnessClient(port: port)
            let answer = try await client.send(
                client.request(
                    "POST", "/thirdparty/v1/group-requests", token: token, body: Data(form.utf8), type: "application/json",
                    headers: ["Idempotency-Key": key]))
            return answer.status == 503 ? nil : answer
        }
    }

    /// Whether the group cannot be anonymised, because it is too small.
    func isTooSmall(_ answer: HarnessAnswer) -> Bool {
        answer.status == 422 && answer.problem == "group-not-anonymisable" && answer.json["reason"] as? String == "TOO_FEW_INDIVIDUALS"
    }

    /// By the operator, who has got the transfer.
    func payForGroup(_ answer: HarnessAnswer) async throws {
        let payment = try #require((answer.json["payment"] as? String).flatMap { PaymentID($0) }, "\(answer.text)")
        _ = try await suite.ask(MarkPaid(payment: payment))
        let path = "/group-requests/\(answer.json["id"] as? String ?? "")"
        try await eventually("what was paid may be fetched") {
            try await call("GET", path).json["delivery"] as? String == "ready"
        }
    }

    /// All of a release at once, or a page.
    func fetchGroup(_ request: HarnessAnswer, as type: String = "application/json", _ query: String = "") async throws -> HarnessAnswer {
        try await HarnessClient(port: port).ask(
            "GET", "/thirdparty/v1/group-requests/\(request.json["id"] as? String ?? "")/entries" + query, token: token,
            headers: ["Accept": type])
    }

    /// To be stopped.
    func listenToWindows(of request: HarnessAnswer) throws -> EventListener {
        EventListener(
            try HarnessClient(port: port).request(
                "GET", "/thirdparty/v1/group-requests/\(request.json["id"] as? String ?? "")/windows/events", token: token))
    }

    /// As NDJSON.
    func entries(_ request: HarnessAnswer, _ query: String = "") async throws -> [ReleasedEntry] {
        let answer = try await fetchGroup(request, as: "application/x-ndjson", query).expect(status: 200)
        return try answer.text.split(separator: "\n").map { try JSONDecoder().decode(ReleasedEntry.self, from: Data($0.utf8)) }
    }
}

extension HarnessAnswer {
    /// Of an accepted group request.
    var released: [String: Any] { json["release"] as? [String: Any] ?? [:] }
}
