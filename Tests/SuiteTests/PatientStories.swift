// What physicians, wards and their patients go through with one patient's data, as `requirements/scenarios.md` tells it.

import Contracts
import Foundation
import Sealing
import ServiceKit
import TestKit
import Testing

@testable import Consent
@testable import Operator
@testable import ThirdPartyGateway

extension Guest {
    /// Pairs a device by the digits on its display, in place of the scale.
    fileprivate func pair(_ model: String, measuring measures: [String]) async throws -> AddDevice.Reply {
        _ = try await suite.ask(RevokeDevice(device: scale.device))
        return try await suite.pair(model, measuring: measures, every: 60_000, of: scale.person, by: token)
    }

    /// What the app shows of one type, the first thousand.
    fileprivate func seen(_ type: String) async throws -> [String] {
        struct Entries: Decodable {
            struct Item: Decodable { var at: String }
            var items: [Item]
        }
        let said = try await suite.say("GET", suite.server + "/ingest/v1/entries?type=\(type)&limit=1000", as: token)
        return try said.decoded(as: Entries.self).items.map(\.at)
    }

    /// The messages in the app's inbox of one kind.
    func inbox(_ kind: String) async throws -> [String] {
        struct Inbox: Decodable {
            struct Item: Decodable { var kind, text: String }
            var items: [Item]
        }
        let said = try await suite.say("GET", suite.notifier + "/notify/v1/inbox", as: token)
        return said.status == 200 ? try said.decoded(as: Inbox.self).items.filter { $0.kind == kind }.map(\.text) : []
    }

    /// A request as the person reads it before answering.
    func shown(_ request: RequestID) async throws -> RequestItem {
        try await suite.say("GET", suite.consent + "/consent/v1/requests/\(request)", as: token).decoded()
    }

    /// Erases the account.
    fileprivate func leave() async throws {
        try #require(try await suite.erase(.account, as: token, password: Self.password).status == 202)
    }
}

@Suite("Stories of patients and those who treat them", .timeLimit(.minutes(5)))
struct PatientStories {
    private func metric(_ code: String) throws -> Metric {
        try #require(Metric(code: code))
    }

    @Test(
        "SC-01, ING-02, ING-05, SHR-10, SHR-20: a wearable records electrocardiogram and heart rate for two days by itself; the physician who is allowed to reads exactly that, at once"
    )
    func examination() async throws {
        try await Hospital.withRegistered { hospital in
            let patient = try await Guest(in: hospital.suite)
            let wearable = try await patient.pair("Holter", measuring: ["electrocardiogram", "heart-rate"])
            let end = Timestamp(milliseconds: Timestamp.now.milliseconds / 60_000 * 60_000)
            let begin = end - .seconds(48 * 3600)
            let cardiogram = try metric("electrocardiogram")
            let minutes = (0..<2880).map { begin + .seconds($0 * 60) }
            let beats = minutes.enumerated().map { Sample(type: .heartRate, at: $1, value: 55 + Double($0 % 40)) }
            let signal = minutes.enumerated().map { Sample(type: cardiogram, at: $1, value: Double($0 % 64) / 32 - 1) }
            for series in [beats, signal] {
                #expect(try await hospital.suite.upload(series, from: wearable).outcome.status == 200)
            }
            #expect(try await patient.seen("electrocardiogram") == minutes.prefix(1000).map(\.rfc3339))
            #expect(try await patient.seen("heart-rate") == minutes.prefix(1000).map(\.rfc3339))

            let request = try await hospital.ask(patient, ["electrocardiogram", "heart-rate"], from: begin, to: end)
            #expect(try await hospital.call("GET", "/requests/\(request)").json["isSubscription"] as? Bool == false)
            #expect(try await hospital.data(request, "heart-rate").problem == "not-entitled")
            try await hospital.allowed(patient, request)
            for (type, series) in [("heart-rate", beats), ("electrocardiogram", signal)] {
                let read = try await hospital.everything(request, type)
                #expect(read.map { $0["at"] as? String } == series.map { $0.at.rfc3339 })
                #expect(read.map { $0["value"] as? Double } == series.map(\.value))
            }
            #expect(try await hospital.call("GET", "/subscriptions/\(request)").status == 404, "SHR-13: what is past is delivered once")
        }
    }

    @Test(
        "SC-07, SHR-04, SHR-05, SHR-09, SHR-13 to SHR-15: a gynaecologist asks for nine months to come; the patient reads what before accepting, what is measured then is delivered, and over is over"
    )
    func pregnancy() async throws {
        try await Hospital.withRegistered(["TRACKME_SHR_DELIVER_HOURS": "0"]) { hospital in
            let patient = try await Guest(in: hospital.suite)
            let types = ["oxygen-saturation", "electrocardiogram", "heart-rate"]
            let gynaecologist = hospital.seen(by: try #require(try await hospital.logIn()))
            let from = Timestamp.now
            let answer = try await gynaecologist.call(
                "POST", "/requests", Hospital.form(patient.code, types, from: from, ["length": "P9M"]))
            #expect(answer.status == 201 && answer.json["isSubscription"] as? Bool == true, "\(answer.text)")
            let until = PeriodLength("P9M")?.end(from: from)?.rfc3339
            #expect(answer.json["to"] as? String == until)
            let request = try #require((answer.json["request"] as? String).flatMap { RequestID($0) })

            try await eventually("the patient is notified") {
                try await patient.inbox("request-received").contains { $0.contains("Ospedale Maggiore") && $0.contains("Your recovery") }
            }
            let shown = try await patient.shown(request)
            #expect(shown.requester.name == "Ospedale Maggiore" && shown.purpose == "Your recovery" && shown.isSubscription)
            #expect(Set(shown.types.map(\.code)) == Set(types) && shown.granularity == .seconds)
            #expect(shown.from == from.rfc3339 && shown.to == until)
            try await gynaecologist.allowed(patient, request)
            try await gynaecologist.told(request.description, "12.00 EUR")

            try await eventually("the subscription runs") {
                try await gynaecologist.call("GET", "/subscriptions/\(request)").json["state"] as? String == "running"
            }
            let measured = [(try metric("oxygen-saturation"), 97.0), (try metric("electrocardiogram"), 0.5), (.heartRate, 81)]
            let now = Timestamp.now
            let samples = measured.map { Sample(type: $0.0, at: now, value: $0.1) }
            #expect(try await hospital.suite.upload(samples, from: patient.scale).outcome.status == 200)
            try await eventually("what is measured is delivered") {
                let items = try await gynaecologist.items(request)
                return measured.allSatisfy { type, value in
                    items.contains { $0["type"] as? String == type.code && $0["value"] as? Double == value }
                }
            }

            // Nine months in a few seconds: of another type, since one open request per type and time is enough (SHR-18).
            let short = try await gynaecologist.ask(patient, ["weight"], from: .now, to: .now + .seconds(6))
            #expect(try await patient.answer(short, "accept") == 200)
            try await gynaecologist.becomes("ENDED", short)
            #expect(try await gynaecologist.data(short, "weight").problem == "not-entitled")
            #expect(try await gynaecologist.call("GET", "/subscriptions/\(short)/items").status != 200)
            try await gynaecologist.told(short.description)
            #expect(try await gynaecologist.status(request) == "APPROVED", "the nine months are not over")
        }
    }

    @Test(
        "SC-22, ORG-10, ORG-20, ORG-23: a ward's head nurse logs in with the ward's address and sees the patient's values, no device asked for; so does a colleague, at the same time"
    )
    func ward() async throws {
        try await Hospital.withRegistered { hospital in
            let patient = try await Guest(in: hospital.suite)
            try await patient.weigh(80.5)
            let request = try await hospital.ask(patient, ["weight", "heart-rate"])
            try await hospital.allowed(patient, request)

            #expect(try await hospital.logIn(Hospital.address, "not the password") == nil)
            let nurse = hospital.seen(by: try #require(try await hospital.logIn()))
            let acquired = try await nurse.call("GET", "/requests?show=acquired").items
            #expect(acquired.map { $0["request"] as? String } == [request.description])
            #expect(acquired.map { $0["fiscalCode"] as? String } == [patient.code])
            try await eventually("the patient's weight is seen") { try await nurse.values(request, "weight").contains(80.5) }

            let address = "giulia@ospedale.example"
            let invited = try await nurse.call("POST", "/members", ["email": address, "role": "analyst"])
            #expect(invited.status == 201, "\(invited.text)")
            let known = hospital
            let link = try await eventually("the invitation arrives") {
                known.mails(to: address).lazy.compactMap { $0.firstMatch(of: /invitation\/([A-Za-z0-9_-]+)/)?.1 }.first.map(String.init)
            }
            let chosen = try await hospital.suite.say(
                "POST", hospital.suite.consent + "/consent/v1/recoveries/password",
                ["token": link, "password": Guest.password, "passwordAgain": Guest.password, "invitation": true])
            #expect(chosen.status == 204)
            let colleague = hospital.seen(by: try #require(try await hospital.logIn(address, Guest.password)))
            try await eventually("the gateway knows the colleague") { try await colleague.call("GET", "/organisation").status == 200 }
            for member in [hospital, nurse, colleague] {
                #expect(try await member.call("GET", "/requests/\(request)").json["delivery"] as? String == "ready")
                #expect(try await member.values(request, "weight").contains(80.5))
            }
            // The colleague's role ends where the ward's money and members begin.
            #expect(try await colleague.call("GET", "/members").problem == "missing-right")
        }
    }

    @Test(
        "SC-25, ACC-30, ACC-31, SHR-15: a person deletes the profile: who was allowed is told and gets nothing more, who waited is answered, and the fiscal code is nobody's"
    )
    func departure() async throws {
        try await Hospital.withRegistered { hospital in
            let patient = try await Guest(in: hospital.suite)
            let running = try await hospital.ask(patient, ["weight"])
            try await hospital.allowed(patient, running)
            let waiting = try await hospital.ask(patient, ["heart-rate"])
            let known = hospital
            try await eventually("it runs") {
                try await known.call("GET", "/subscriptions/\(running)").json["state"] as? String == "running"
            }
            try await patient.weigh(80.5)
            try await eventually("the weight is delivered") {
                try await known.items(running).contains { $0["value"] as? Double == 80.5 }
            }

            try await patient.leave()
            let again = try await hospital.suite.say(
                "POST", hospital.suite.consent + "/consent/v1/sessions", ["login": patient.email, "password": Guest.password])
            #expect(again.status == 401 || again.status == 403)
            try await hospital.becomes("REVOKED", running)
            try await eventually("who waited is answered") { try await !["PENDING", "APPROVED"].contains(known.status(waiting)) }
            #expect(try await hospital.data(running, "weight").problem == "not-entitled")
            try await eventually("the subscription is over") {
                try await known.call("GET", "/subscriptions/\(running)/items").problem == "subscription-over"
            }
            try await hospital.told(running.description)
            try await hospital.told(waiting.description)
            try await eventually("nothing names the person any more") {
                let list = try await known.call("GET", "/requests")
                return list.items.count == 2 && !list.text.contains(patient.code)
            }
            try await eventually("the code is nobody's") {
                let form = Hospital.form(patient.code, ["weight"], from: .now, ["length": "P1D"])
                return try await known.call("POST", "/requests", form).problem == "no-such-person"
            }
        }
    }
}
