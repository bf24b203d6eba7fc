// Asking one person over HTTP: what comes of a form, and what the door refuses.

import Contracts
import Foundation
import GRDB
import ServiceKit
import Storage
import TestKit
import Testing

@testable import ThirdPartyGateway

@Suite("Requests over HTTP")
struct RequestDoorTests {
    @Test(
        "SHR-01, SHR-02, INV-07: a valid form becomes one PENDING request, with who, what, when, how fine and why, and changes nothing else"
    )
    func opens() async throws {
        try await RequestHarness.runWithPerson { harness in
            let answer = try await harness.call(
                "POST", "/requests", harness.form(types: [.heartRate, .bodyTemperature], days: -3..<30, granularity: "hours"))
            #expect(answer.status == 201, "\(answer.text)")
            #expect(answer.json["status"] as? String == "PENDING")
            #expect(answer.json["fiscalCode"] as? String == RequestHarness.code)
            #expect(answer.json["delivery"] as? String == "waiting")
            #expect(answer.json["isSubscription"] as? Bool == true, "SHR-13: the period reaches into the future")
            #expect(answer.json["granularity"] as? String == "hours")
            #expect(answer.json["purpose"] as? String == "A study of sleep")
            #expect(Set(answer.json["types"] as? [String] ?? []) == ["heart-rate", "body-temperature"])
            #expect((answer.json["sharedTypes"] as? [String])?.isEmpty == true)
            #expect(answer.header("location") == "/thirdparty/v1/requests/\(answer.json["request"] as? String ?? "")")
            let listed = try await harness.call("GET", "/requests").items
            #expect(listed.count == 1)
            #expect(harness.world.asked.count == 1)
        }
    }

    @Test(
        "SHR-02, SHR-03, SHR-12, UI-14: each wrong field of a form is named, and nobody is asked",
        arguments: [
            ("/fiscalCode", "\"fiscalCode\":\"RSSMRA80A01H501X\""), ("/types", "\"types\":[]"), ("/types/0", "\"types\":[\"mood\"]"),
            ("/from", "\"from\":\"yesterday\""), ("/to", "\"to\":\"2001-01-01T00:00:00Z\""), ("/to", "\"to\":\"2999-01-01T00:00:00Z\""),
            ("/granularity", "\"granularity\":\"milliseconds\""), ("/purpose", "\"purpose\":\"  \""),
        ])
    func namesFields(pointer: String, member: String) async throws {
        try await RequestHarness.runWithPerson { harness in
            let name = member.prefix { $0 != ":" }
            let members = harness.form().dropFirst().dropLast().components(separatedBy: ",\"").enumerated().map { place, text in
                let whole = (place == 0 ? "" : "\"") + text
                return whole.hasPrefix(name) ? member : whole
            }
            let answer = try await harness.call("POST", "/requests", "{" + members.joined(separator: ",") + "}")
            #expect(answer.status == 422)
            #expect(answer.problem == "invalid-body")
            #expect(answer.pointers.contains(pointer), "\(answer.text)")
            #expect(harness.world.asked.isEmpty)
            #expect(!answer.text.contains("RSSMRA"))
        }
    }

    @Test("SHR-02: a ready-made length stands for the end of the period; both, or neither, is refused")
    func takesLengths() async throws {
        try await RequestHarness.runWithPerson { harness in
            func form(_ end: String) -> String {
                """
                {"fiscalCode":"rssmra80a01h501u","types":["heart-rate"],"from":"2026-01-31T10:00:00Z"\(end),"granularity":"seconds","purpose":"x"}
                """
            }
            let answer = try await harness.call("POST", "/requests", form(",\"length\":\"P1M\""))
            #expect(answer.status == 201, "\(answer.text)")
            #expect(answer.json["to"] as? String == "2026-02-28T10:00:00.000Z")
            for bad in ["", ",\"length\":\"P1M\",\"to\":\"2026-02-28T10:00:00Z\"", ",\"length\":\"soon\""] {
                #expect(try await harness.call("POST", "/requests", form(bad)).status == 422)
            }
        }
    }

    @Test("SHR-03, CON-15: an unknown code is told, back to its field; past the day's limit every code, known or not, gets the same 429")
    func tellsUnknownCodes() async throws {
        try await RequestHarness.runWithPerson { harness in
            for _ in 0..<RequestWorld.unknownPerDay {
                let answer = try await harness.call("POST", "/requests", harness.form("VRDLGI75C12F205U"))
                #expect(answer.status == 422, "\(answer.text)")
                #expect(answer.problem == "no-such-person")
                #expect(answer.pointers == ["/fiscalCode"])
            }
            let known = try await harness.call("POST", "/requests", harness.form())
            let unknown = try await harness.call("POST", "/requests", harness.form("VRDLGI75C12F205U"))
            #expect(known.status == 429 && unknown.status == 429)
            #expect(known.problem == "too-many-unknown-codes" && unknown.problem == known.problem)
            #expect(known.json["detail"] as? String == unknown.json["detail"] as? String)
            #expect(Int(known.header("retry-after") ?? "") ?? 0 > 0)
            #expect(try await harness.call("GET", "/requests").items.isEmpty, "nothing was opened")
        }
    }

    @Test("SHR-18, INV-05: an open request that covers a part is named; other types and other times go through")
    func namesTheCoveringRequest() async throws {
        try await RequestHarness.runWithPerson { harness in
            let first = try await harness.open(harness.form(days: -30 ..< -10))
            let second = try await harness.call("POST", "/requests", harness.form(days: -20 ..< -5))
            #expect(second.status == 409)
            #expect(second.problem == "open-request-covers-this")
            #expect((second.json["detail"] as? String)?.contains("/thirdparty/v1/requests/\(first)") == true)
            _ = try await harness.open(harness.form(types: [.glucose], days: -20 ..< -5))
            _ = try await harness.open(harness.form(days: -10 ..< -5))
            try await harness.become(.declined, first)
            _ = try await harness.open(harness.form(days: -30 ..< -10))
        }
    }

    @Test("SHR-22: the same form under its Idempotency-Key is asked once, another form under it is refused")
    func asksOnce() async throws {
        try await RequestHarness.runWithPerson { harness in
            let key = ["Idempotency-Key": "form-1"]
            let form = harness.form()
            let first = try await harness.call("POST", "/requests", form, headers: key)
            let again = try await harness.call("POST", "/requests", form, headers: key)
            #expect(first.status == 201 && again.status == 201, "\(again.text)")
            #expect(first.json["request"] as? String == again.json["request"] as? String)
            #expect(again.header("idempotency-replayed") == "true")
            #expect(harness.world.asked.count == 1)
            #expect(
                try await harness.call("POST", "/requests", harness.form(types: [.glucose]), headers: key).problem == "idempotency-conflict"
            )
        }
    }

    @Test("SHR-22: where consent is silent the form is kept and asked again after a restart, under the same question")
    func survivesARestart() async throws {
        try await withTemporaryFolder { folder in
            let (world, organisation) = (RequestWorld(), OrganisationID.random())
            _ = world.add(RequestHarness.code)
            world.silenceConsent(true)
            let list = try await RequestHarness.run(in: folder, world: world, of: organisation) { harness in
                let answer = try await harness.call("POST", "/requests", harness.form())
                #expect(answer.status == 202, "\(answer.text)")
                #expect(answer.json["sending"] as? Int == 1)
                #expect(answer.items.first?["outcome"] as? String == "sending")
                return answer.json["list"] as? String ?? ""
            }
            world.silenceConsent(false)
            try await RequestHarness.run(in: folder, world: world, of: organisation) { harness in
                let asking = Task { try await harness.parts.service.run() }
                defer { asking.cancel() }
                try await eventually("the form is asked") {
                    try await harness.call("GET", "/requests/lists/\(list)").json["sending"] as? Int == 0
                }
                let item = try #require(try await harness.call("GET", "/requests/lists/\(list)").items.first)
                #expect(item["outcome"] as? String == "opened")
                let request = try await harness.call("GET", "/requests/\(item["request"] as? String ?? "")")
                #expect(request.json["fiscalCode"] as? String == RequestHarness.code)
            }
            #expect(world.asked.count == 1)
        }
    }

    @Test("SHR-22: killed between consent's commit and its answer, the form is asked under the same id and opened once")
    func asksUnderTheSameID() async throws {
        try await RequestHarness.runWithPerson { harness in
            let id = try await harness.open(harness.form())
            let question = try #require(harness.world.asked.first?.question)
            // As if the answer had never been written down: the row is gone, the form waits again.
            let sealed = try harness.parts.service.vault.seal(
                RequestDraft(
                    form: try TypedForm(
                        types: ["heart-rate"], from: "2026-01-01T00:00:00Z", to: nil, length: "P1D", granularity: "minutes",
                        purpose: "A study of sleep"
                    ).read(fiscalCode: RequestHarness.code, at: harness.world.now), askedBy: "cli_x"),
                of: try #require(Self.bytes(question)))
            try await harness.opened.store.write { db in
                try db.execute(sql: "DELETE FROM requests")
                try db.execute(sql: "UPDATE request_intents SET outcome = NULL, request = NULL, form = ?", arguments: [Data(sealed)])
            }
            let waiting = try await harness.opened.store.read { db in try PendingRequestStore().waiting(db, limit: 10) }
            let settled = try await harness.parts.service.askNow(try #require(waiting.first).batch)
            #expect(settled?.outcome == .opened)
            #expect(settled?.request == id)
            #expect(harness.world.asked.map(\.question) == [question, question])
        }
    }

    private static func bytes(_ hex: String) -> [UInt8]? {
        let digits = Array(hex.utf8)
        guard digits.count == 32 else { return nil }
        return stride(from: 0, to: 32, by: 2).compactMap { UInt8(String(decoding: digits[$0..<$0 + 2], as: UTF8.self), radix: 16) }
    }

    @Test("SHR-03: the fact may overtake the answer; the request is one, with its target")
    func takesFactsFirst() async throws {
        try await RequestHarness.runWithPerson { harness in
            let id = try await harness.open(harness.form())
            let particulars = try await harness.stored(id)?.particulars
            try await harness.opened.store.write { db in try db.execute(sql: "DELETE FROM requests") }
            try await harness.become(.pending, id)
            #expect(try await harness.stored(id)?.particulars == nil)
            try await harness.opened.store.write { db in
                if let particulars { try RequestStore().keep(db, particulars, isSubscription: false, of: id) }
            }
            try await harness.parts.sealer.takeAll()
            #expect(try await harness.call("GET", "/requests/\(id)").json["fiscalCode"] as? String == RequestHarness.code)
        }
    }

    @Test("ORG-11, ORG-19, ORG-23: others' requests do not exist, rights are asked for, a suspended organisation is refused")
    func keepsOthersOut() async throws {
        try await RequestHarness.runWithPerson { harness in
            let id = try await harness.open(harness.form())
            let stranger = OrganisationID.random()
            for (method, path) in [
                ("GET", "/requests/\(id)"), ("POST", "/requests/\(id)/end"), ("GET", "/requests/\(id)/data?type=heart-rate"),
                ("GET", "/requests/\(id)/files"),
            ] {
                #expect(try await harness.call(method, path, as: stranger).status == 404, "\(method) \(path)")
            }
            #expect(try await harness.call("GET", "/requests", as: stranger).items.isEmpty)
            #expect(try await harness.call("POST", "/requests", harness.form(), scope: "data").problem == "missing-right")
            #expect(try await harness.call("GET", "/requests/\(id)/data?type=heart-rate", scope: "requests").problem == "missing-right")
            harness.world.suspend(harness.organisation)
            #expect(try await harness.call("GET", "/requests").problem == "organisation-suspended")
        }
    }

    @Test("ORG-19: the data types that can be asked for are listed with names, units and LOINC codes")
    func listsTypes() async throws {
        try await RequestHarness.run { harness in
            let items = try await harness.call("GET", "/data-types").items
            #expect(items.count == Metric.all.count)
            #expect(items.first { $0["type"] as? String == "heart-rate" }?["loinc"] as? String == "8867-4")
        }
    }
}
