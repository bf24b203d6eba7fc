// The acceptance scenarios of people, through all services: registered, logged in, paired, seen, changed, replaced.

import Contracts
import Foundation
import ServiceKit
import TestKit
import Testing

@testable import Operator

/// Somebody with an account who is logged in, as an app sees it.
private struct Resident: Sendable {
    let client: PeopleClient
    let login: DemoPerson
    let token: String

    init(in suite: StorySuite, changing changes: [String: String] = [:]) async throws {
        client = PeopleClient(consent: suite.consent, ingest: suite.server, authorities: nil)
        login = DemoPerson.random()
        let terms = try await client.call("GET", .consent, "/consent/v1/terms").expecting(200, "terms").text("version") ?? ""
        let form = login.form(acceptedTerms: terms).merging(changes) { $1 }
        _ = try await client.call("POST", .consent, "/consent/v1/accounts", body: form).expecting(201, "registering")
        token = try await Resident.logIn(client, login.email, login.password).expecting(200, "log-in").text("accessToken") ?? ""
    }

    static func logIn(_ client: PeopleClient, _ email: String, _ password: String) async throws -> PeopleReply {
        try await client.call("POST", .consent, "/consent/v1/sessions", body: ["login": email, "password": password])
    }

    func ask(_ method: String, _ path: String, _ body: (any Sendable)? = nil) async throws -> PeopleReply {
        let service: PeopleClient.Service = path.hasPrefix("/consent") ? .consent : .ingest
        return try await client.call(method, service, path, token: token, body: body)
    }

    /// The wearable's side and the person's.
    func pair(_ model: String, _ measures: [String], kind: String = "wearable", replacing old: String? = nil) async throws -> Paired {
        let offered: [String: Any] = ["model": model, "kind": kind, "measures": measures, "intervalMs": 1000]
        let offer = try await client.call("POST", .ingest, "/ingest/v1/pairings", body: offered).expecting(201, "offer")
        let path = "/ingest/v1/pairings/\(offer.text("pairing") ?? "")"
        var typed = ["number": offer.text("number") ?? "", "name": model]
        if let old { typed["replaces"] = old }
        let confirmation = typed
        let paired = try await eventually("ingest knows the account, and \(model) is paired") {
            let reply = try await ask("POST", "\(path)/confirmation", confirmation)
            return reply.status == 200 ? reply : nil
        }
        let polled = try await client.call("POST", .ingest, "\(path)/poll", body: ["secret": offer.text("secret") ?? ""])
            .expecting(200, "token")
        return Paired(device: paired.text("device") ?? "", token: polled.text("token") ?? "")
    }

    /// Nil where the upload was refused as a whole.
    func upload(_ entries: [(String, Double, Timestamp)], by device: Paired) async throws -> (status: Int, accepted: Double?) {
        let body = entries.map { ["type": $0.0, "value": $0.1, "at": $0.2.rfc3339] as [String: Any] }
        let reply = try await client.call("POST", .ingest, "/ingest/v1/entries", token: device.token, body: body)
        return (reply.status, reply.number("accepted"))
    }

    func latest(_ metric: String) async throws -> Double? {
        let items = try await ask("GET", "/ingest/v1/latest").expecting(200, "latest").list("items")
        return (items.first { $0["type"] as? String == metric }?["value"] as? NSNumber)?.doubleValue
    }
}

private struct Paired: Sendable {
    var device: String
    var token: String
}

@Suite("People's scenarios through all services")
struct PeopleStories {
    private static let day = Duration.seconds(86_400)

    @Test("SC-43, SC-21, ACC-10, ACC-11: registered in the app, these credentials work, the watch is paired and its data are seen")
    func firstDay() async throws {
        try await StorySuite.with { suite in
            let anna = try await Resident(in: suite)
            #expect(try await Resident.logIn(anna.client, anna.login.email, "another password").status == 401)
            let watch = try await anna.pair("watch", ["heart-rate"])
            #expect(try await anna.upload([("heart-rate", 71, .now)], by: watch).accepted == 1)
            #expect(try await anna.latest("heart-rate") == 71)
            // Weight and height of the form are entries too (table ACC-F).
            _ = try await eventually("the weight of the form is an entry") { try await anna.latest("weight") }
            #expect(try await anna.ask("GET", "/ingest/v1/health-status").text("status") != nil)
        }
    }

    @Test("SC-23, ACC-18, ACC-19: the new occupation is in the profile; a fixed field is refused by name and nothing changes")
    func occupation() async throws {
        try await StorySuite.with { suite in
            let anna = try await Resident(in: suite, changing: ["occupation": "student"])
            _ = try await anna.ask("PATCH", "/consent/v1/profile", ["occupation": "employed"]).expecting(200, "change")
            #expect(try await anna.ask("GET", "/consent/v1/profile").text("occupation") == "employed")
            let refused = try await anna.ask("PATCH", "/consent/v1/profile", ["birthDate": "1951-01-01"])
            #expect(refused.status == 422)
            #expect(refused.list("errors").first?["pointer"] as? String == "/birthDate")
            #expect(try await anna.ask("GET", "/consent/v1/profile").text("birthDate") == anna.login.birthDate)
        }
    }

    @Test("SC-26, ACC-24, ING-20: the new watch delivers, and the old one no longer does")
    func newWatch() async throws {
        try await StorySuite.with { suite in
            let anna = try await Resident(in: suite)
            let old = try await anna.pair("old watch", ["heart-rate"])
            #expect(try await anna.upload([("heart-rate", 70, .now)], by: old).accepted == 1)
            let new = try await anna.pair("new watch", ["heart-rate"], replacing: old.device)
            #expect(try await anna.upload([("heart-rate", 80, .now)], by: old).status == 401)
            #expect(try await anna.upload([("heart-rate", 72, .now)], by: new).accepted == 1)
            #expect(try await anna.latest("heart-rate") == 72)
        }
    }

    @Test("SC-44, ACC-25, ACC-26, ACC-34: heart rate from the watch, position from the phone, and each from its device only")
    func divided() async throws {
        try await StorySuite.with { suite in
            let anna = try await Resident(in: suite)
            let watch = try await anna.pair("watch", ["heart-rate", "steps"].filter { Metric(code: $0) != nil })
            let phone = try await anna.pair("phone", ["heart-rate", "position"], kind: "phone")
            let choice: [String: [[String: any Sendable]]] = [
                "devices": [
                    ["device": watch.device, "tracked": ["heart-rate"]], ["device": phone.device, "tracked": ["position"]],
                ]
            ]
            _ = try await anna.ask("PUT", "/ingest/v1/tracking", choice).expecting(200, "tracking")
            #expect(try await anna.upload([("heart-rate", 90, .now)], by: phone).accepted == 0)
            #expect(try await anna.upload([("heart-rate", 65, .now)], by: watch).accepted == 1)
            #expect(try await anna.latest("heart-rate") == 65)
        }
    }

    @Test("SC-09, SC-45, MYD-03, MYD-05: two types by week over months, then one type by day, are exactly the recorded values")
    func charts() async throws {
        try await StorySuite.with { suite in
            let anna = try await Resident(in: suite)
            let meter = try await anna.pair("meter", ["glucose", "heart-rate"])
            let start = Timestamp.now - Self.day * 100
            let entries = (0..<90).flatMap { day in
                let at = start + Self.day * day
                return [("glucose", 90 + Double(day % 7), at), ("heart-rate", 60, at)]
            }
            #expect(try await anna.upload(entries, by: meter).accepted == 180)
            let period = "from=\(start.rfc3339)&type=glucose"
            for (granularity, types) in [("week", "&type=heart-rate"), ("day", "")] {
                let answer = try await anna.ask("GET", "/ingest/v1/series?\(period)\(types)&granularity=\(granularity)")
                let series = try answer.expecting(200, "series").list("series")
                #expect(series.count == (types.isEmpty ? 1 : 2))
                for (place, one) in series.enumerated() {
                    let points = one["points"] as? [[String: Any]] ?? []
                    func numbers(_ name: String) -> [Double] { points.compactMap { ($0[name] as? NSNumber)?.doubleValue } }
                    // A day has one value, which is its least, mean and largest; weeks together have the sum of all.
                    let recorded = entries.filter { $0.0 == (place == 0 ? "glucose" : "heart-rate") }.map(\.1)
                    let counts = numbers("count")
                    let sum = zip(counts, numbers("mean")).reduce(0) { $0 + $1.0 * $1.1 }
                    #expect(counts.reduce(0, +) == 90 && abs(sum - recorded.reduce(0, +)) < 0.001, "\(granularity)")
                    #expect(numbers("min").min() == recorded.min() && numbers("max").max() == recorded.max())
                    #expect(counts.allSatisfy { $0 <= (granularity == "day" ? 1 : 7) })
                    if granularity == "day" { #expect(numbers("mean") == recorded) }
                }
            }
        }
    }

    @Test("SC-33, MYD-07, MYD-08: the summary says in range, and the details have last week's and month's heart rate")
    func details() async throws {
        try await StorySuite.with { suite in
            let anna = try await Resident(in: suite)
            let watch = try await anna.pair("watch", ["heart-rate"])
            let entries = (0..<30).map { ("heart-rate", 70.0 + Double($0 % 5), Timestamp.now - Self.day * $0) }
            #expect(try await anna.upload(entries, by: watch).accepted == 30)
            let status = try await anna.ask("GET", "/ingest/v1/health-status").expecting(200, "status")
            #expect(status.text("status") == "all-in-range")
            let statistics = try await anna.ask("GET", "/ingest/v1/statistics?type=heart-rate").expecting(200, "statistics")
            for (span, days, mean) in [("week", 7, 71.571), ("month", 30, 72.0)] {
                let parameters = (statistics.object[span] as? [String: Any])?["parameters"] as? [[String: Any]]
                let heart = try #require(parameters?.first { $0["type"] as? String == "heart-rate" })
                #expect(heart["daysWithData"] as? Int == days && heart["count"] as? Int == days, "\(span)")
                #expect(
                    abs((heart["mean"] as? Double ?? 0) - mean) < 0.001 && heart["min"] as? Double == 70 && heart["max"] as? Double == 74)
            }
        }
    }
}
