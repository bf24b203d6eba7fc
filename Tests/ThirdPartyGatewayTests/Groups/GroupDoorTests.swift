// Group requests over HTTP: what comes of a form, and that a refusal tells nothing of people.

import Contracts
import Foundation
import GRDB
import ServiceKit
import Storage
import TestKit
import Testing

@testable import ThirdPartyGateway

@Suite("Group requests over HTTP")
struct GroupDoorTests {
    @Test("ANO-01: an organisation asks for the data of a group by filters, and fetches what is released as JSON, NDJSON and CSV")
    func fetched() async throws {
        try await GroupHarness.run { harness in
            harness.world.release((0..<24).map { .at(hour: $0) })
            let answer = try await harness.call("POST", "/group-requests", GroupHarness.form(more: #","minIndividuals":2000"#))
            #expect(answer.status == 201, "\(answer.text)")
            let id = try #require(answer.json["id"] as? String)
            #expect(answer.header("location") == "/thirdparty/v1/group-requests/\(id)")
            #expect(answer.json["status"] as? String == "accepted" && answer.json["delivery"] as? String == "ready")
            #expect((answer.json["release"] as? [String: Any])?["entries"] as? Int == 24)
            let asked = try #require(harness.world.asked.first)
            #expect(asked.organisation == harness.organisation && "\(asked.request)" == id)
            #expect(asked.form.age == .init(from: 30, to: 50) && asked.form.residence == ["IT-MI"] && asked.form.minIndividuals == 2000)
            let path = "/group-requests/\(id)/entries"
            let first = try await harness.call("GET", path + "?limit=10")
            #expect(first.items.count == 10 && first.header("data-responsibility") != nil)
            #expect(first.items.first?["values"] as? [Double] == [61.5])
            let next = try #require(first.json["next"] as? String)
            let second = try await harness.call("GET", path + "?limit=1000&after=\(next)")
            #expect(second.items.count == 14 && second.json["next"] is NSNull)
            let lines = try await harness.call("GET", path, headers: ["Accept": "application/x-ndjson"])
            #expect(lines.text.split(separator: "\n").count == 24)
            let table = try await harness.call("GET", path, headers: ["Accept": "text/csv"])
            let records = table.text.components(separatedBy: "\r\n")
            #expect(records.count == 26 && records[0].hasPrefix("id,type,from,to,age,sex,value1,value1Error,"), "\(records[0])")
            #expect(records[1].contains(",heart-rate,2026-01-01T00:00:00.000Z,2026-01-01T01:00:00.000Z,30-39,female,61.5,,"))
            #expect(try await harness.call("GET", path, headers: ["Accept": "image/png"]).status == 406)
            #expect(try await harness.call("GET", "/group-requests").items.map { $0["id"] as? String } == [id])
        }
    }

    @Test("A release of more pages than one is streamed as a whole")
    func streamed() async throws {
        try await GroupHarness.run { harness in
            harness.world.release((0..<4500).map { .at(hour: $0 % 24) })
            let id = try await harness.accepted()
            let lines = try await harness.call("GET", "/group-requests/\(id)/entries", headers: ["Accept": "application/x-ndjson"])
            #expect(lines.text.split(separator: "\n").count == 4500)
            #expect(harness.world.reads.map(\.after) == [nil, "2000", "4000"])
        }
    }

    @Test("ANO-08: a refusal is the same bytes for its reason whatever was asked, tells no number, and its form can be read again")
    func refused() async throws {
        try await GroupHarness.run { harness in
            var (bodies, details): (Set<Data>, Set<String>) = ([], [])
            for reason in GroupRefusal.allCases {
                harness.world.refuse(reason)
                var ofReason: Set<Data> = []
                for (number, filters) in [#"{"age":{"from":30,"to":31}}"#, #"{"sex":["female"],"occupation":["student"]}"#].enumerated() {
                    let answer = try await harness.call("POST", "/group-requests", GroupHarness.form(filters: filters))
                    #expect(answer.status == 422 && answer.problem == "group-not-anonymisable", "\(answer.text)")
                    #expect(answer.header("content-type") == "application/problem+json")
                    #expect(answer.json["reason"] as? String == reason.rawValue)
                    #expect((answer.json["message"] as? String)?.contains("less restrictive") == true)
                    details.insert(try #require(answer.json["detail"] as? String))
                    ofReason.insert(answer.body)
                    let kept = try await harness.call("GET", answer.header("location")?.replacing("/thirdparty/v1", with: "") ?? "/")
                    #expect(kept.json["status"] as? String == "refused" && kept.json["delivery"] as? String == "closed")
                    let form = (kept.json["form"] as? [String: Any])?["filters"] as? [String: Any]
                    #expect(form?["age"] != nil || number == 1)
                }
                #expect(ofReason.count == 1)
                bodies.formUnion(ofReason)
            }
            #expect(bodies.count == GroupRefusal.allCases.count)
            // To loosen filters helps against one of them.
            #expect(details.count == GroupRefusal.allCases.count)
            for body in bodies {
                let text = String(decoding: body, as: UTF8.self).replacing("\"status\":422", with: "")
                let hasNumbers = text.contains(where: \.isNumber)
                #expect(!hasNumbers, "\(text)")
            }
            let italian = try await harness.call("POST", "/group-requests", GroupHarness.form(), headers: ["Accept-Language": "it"])
            #expect((italian.json["message"] as? String)?.contains("meno restrittivi") == true)
        }
    }

    @Test(
        "ANO-08: a refusal leaves on the next step of 50 ms after the request came, however long it was judged",
        arguments: [(0, 50), (1, 49), (49, 1), (50, 0), (73, 27), (1234, 16)])
    func onSteps(judging: Int, wait: Int) async throws {
        try await GroupHarness.run { harness in
            harness.world.refuse(.tooFewIndividuals, after: .milliseconds(judging))
            _ = try await harness.call("POST", "/group-requests", GroupHarness.form()).expect(status: 422)
            #expect(harness.world.pauses == [.milliseconds(wait)])
        }
    }

    @Test(
        "ANO-15: a form whose connection breaks before it was sent as a whole asks for nothing and is counted nowhere; sent again it is the first"
    )
    func broken() async throws {
        try await GroupHarness.run { harness in
            harness.world.release([.at(hour: 8)])
            let key = ["Idempotency-Key": "form-1"]
            let request = RawConnection.request(
                "POST", "/thirdparty/v1/group-requests", headers: key.merging(["Authorization": "Bearer \(harness.organisation)"]) { $1 },
                json: Data(GroupHarness.form().utf8))
            try await RawConnection.breakOff(request, port: harness.port)
            #expect(harness.world.asked.isEmpty)
            #expect(try await harness.call("GET", "/group-requests").items.isEmpty)
            let answer = try await harness.call("POST", "/group-requests", GroupHarness.form(), headers: key)
            #expect(answer.status == 201 && answer.header("idempotency-replayed") == nil, "\(answer.text)")
            #expect(harness.world.asked.count == 1)
        }
    }

    @Test(
        "ANO-15: an answer that got lost is told as to be fetched later, and asked for again under the same id: one request, and its key later gives the answer"
    )
    func lost() async throws {
        try await GroupHarness.run { harness in
            harness.world.release([.at(hour: 8)])
            harness.world.loseAnswers(true)
            let key = ["Idempotency-Key": "form-1"]
            let silent = try await harness.call("POST", "/group-requests", GroupHarness.form(), headers: key)
            #expect(silent.status == 503 && silent.problem == "group-answer-awaited", "\(silent.text)")
            #expect(Int(silent.header("retry-after") ?? "") ?? 0 > 0)
            #expect(try await harness.call("GET", "/group-requests").items.map { $0["status"] as? String } == ["sending"])
            harness.world.loseAnswers(false)
            let answer = try await harness.call("POST", "/group-requests", GroupHarness.form(), headers: key)
            #expect(answer.status == 201 && answer.header("idempotency-replayed") == "true", "\(answer.text)")
            #expect(Set(harness.world.asked.map(\.request)).count == 1 && Set(harness.world.asked.map(\.form)).count == 1)
            #expect(try await harness.call("GET", "/group-requests").items.count == 1)
            let other = try await harness.call("POST", "/group-requests", GroupHarness.form(filters: #"{"sex":["male"]}"#), headers: key)
            #expect(other.problem == "idempotency-conflict")
        }
    }

    @Test("The gateway said ready and nothing else while the anonymiser kept organisations waiting: so many requests wait, it says")
    func remarks() async throws {
        try await GroupHarness.run { harness in
            harness.world.release([.at(hour: 8)])
            harness.world.loseAnswers(true)
            _ = try await harness.call("POST", "/group-requests", GroupHarness.form()).expect(status: 503)
            #expect(await harness.parts.service.remarks().isEmpty, "an answer may take its time")
            harness.world.pass(.seconds(11))
            #expect(await harness.parts.service.remarks() == ["a group request waits for the anonymiser's answer"])
            harness.world.loseAnswers(false)
            harness.workInBackground()
            try await eventually("it has been answered") { await harness.parts.service.remarks().isEmpty }
        }
    }

    @Test("A form whose answer had not come when the process ended is asked about again after it has begun anew")
    func restarted() async throws {
        try await withTemporaryFolder { folder in
            let (world, organisation) = (GroupWorld(), OrganisationID.random())
            world.release([.at(hour: 8)])
            world.loseAnswers(true)
            try await GroupHarness.run(in: folder, world: world, of: organisation) { harness in
                _ = try await harness.call("POST", "/group-requests", GroupHarness.form()).expect(status: 503)
            }
            world.loseAnswers(false)
            try await GroupHarness.run(in: folder, world: world, of: organisation) { harness in
                harness.workInBackground()
                try await eventually("it is accepted") {
                    try await harness.call("GET", "/group-requests").items.first?["status"] as? String == "accepted"
                }
            }
            #expect(Set(world.asked.map(\.request)).count == 1)
        }
    }

    @Test("Another organisation's group request does not exist")
    func others() async throws {
        try await GroupHarness.run { harness in
            harness.world.release([.at(hour: 8)])
            let (id, other) = (try await harness.accepted(), OrganisationID.random())
            for path in ["/group-requests/\(id)", "/group-requests/\(id)/entries"] {
                #expect(try await harness.call("GET", path, as: other).status == 404)
            }
            #expect(try await harness.call("GET", "/group-requests", as: other).items.isEmpty)
            #expect(try await harness.call("GET", "/group-requests/\(GroupRequestID.random())").status == 404)
        }
    }

    @Test(
        "ANO-02, ANO-03, ANO-04: a form without a characteristic of the people, a reversed interval and a wrong period are named, and nobody is asked",
        arguments: [
            (#"{}"#, #"["heart-rate"]"#, "2026-01-02T00:00:00Z", "/filters", "nothing-chosen"),
            (#"{"area":{"latitude":45.46,"longitude":9.19}}"#, #"["heart-rate"]"#, "2026-01-02T00:00:00Z", "/filters", "nothing-chosen"),
            (#"{"weight":{"from":90,"to":60}}"#, #"["heart-rate"]"#, "2026-01-02T00:00:00Z", "/filters/weight", "reversed"),
            (#"{"sex":["female"]}"#, "[]", "2026-01-02T00:00:00Z", "/types", "nothing-chosen"),
            (#"{"sex":["female"]}"#, #"["heart-rate"]"#, "2025-01-02T00:00:00Z", "/to", "not-after"),
            (#"{"sex":["female"]}"#, #"["heart-rate"]"#, "soon", "/to", "not-a-time"),
            (#"{"sex":["female"],"fat":{"from":20}}"#, #"["heart-rate"]"#, "2026-01-02T00:00:00Z", "/filters/fat", "unknown-field"),
        ])
    func faulty(filters: String, types: String, to: String, pointer: String, code: String) async throws {
        try await GroupHarness.run { harness in
            let answer = try await harness.call("POST", "/group-requests", GroupHarness.form(filters: filters, types: types, to: to))
            #expect(answer.status == 422 && answer.problem == "invalid-body", "\(answer.text)")
            let errors = answer.json["errors"] as? [[String: Any]] ?? []
            #expect(errors.map { $0["pointer"] as? String } == [pointer], "\(answer.text)")
            #expect(errors.map { $0["code"] as? String } == [code], "\(answer.text)")
            #expect(harness.world.asked.isEmpty)
            #expect(try await harness.call("GET", "/group-requests").items.isEmpty)
        }
    }

    @Test("ANO-03: what the anonymiser finds wrong is told with its field, in both languages; an unknown place names its field")
    func blamed() async throws {
        try await GroupHarness.run { harness in
            harness.world.blame(
                .init(pointer: "/filters/residence/0", code: "unknown", numbers: []),
                .init(pointer: "/filters/weight/from", code: "not-a-multiple", numbers: [5, 60, 65]),
                .init(pointer: "/minIndividuals", code: "at-least", numbers: [1000]))
            let answer = try await harness.call("POST", "/group-requests", GroupHarness.form(more: #","minIndividuals":999"#))
            #expect(answer.status == 422 && answer.problem == "invalid-body", "\(answer.text)")
            #expect(answer.pointers == ["/filters/residence/0", "/filters/weight/from", "/minIndividuals"])
            #expect(answer.text.contains("60 or 65") && answer.text.contains("at least 1000"))
            let italian = try await harness.call("POST", "/group-requests", GroupHarness.form(), headers: ["Accept-Language": "it"])
            #expect(italian.text.contains("almeno 1000"))
            let kept = try await harness.call("GET", "/group-requests").items
            #expect(kept.allSatisfy { $0["status"] as? String == "invalid" && ($0["errors"] as? [Any])?.count == 3 })
        }
    }

    @Test("The catalogue and its places are told")
    func catalogue() async throws {
        try await GroupHarness.run { harness in
            let catalogue = try await harness.call("GET", "/group-catalogue").expect(status: 200)
            #expect(catalogue.json["minIndividuals"] as? Int == 1000)
            #expect(catalogue.json["closedThrough"] as? String == "2026-01-01T00:00:00.000Z")
            let places = try await harness.call("GET", "/group-catalogue/places?text=lomb").expect(status: 200)
            #expect(places.items.map { $0["code"] as? String } == ["IT-25"])
            #expect(try await harness.call("GET", "/group-catalogue/places").status == 400)
            #expect(try await harness.call("GET", "/group-catalogue/places?text=").status == 400)
        }
    }

    @Test("Forms lie sealed, and go with their organisation")
    func closed() async throws {
        try await GroupHarness.run { harness in
            harness.world.release([.at(hour: 8)])
            _ = try await harness.accepted(GroupHarness.form(filters: #"{"residence":["ZZ-CANARY"]}"#))
            #expect(try Data(harness.everyByte()).range(of: Data("ZZ-CANARY".utf8)) == nil)
            let (stores, organisation) = (harness.stores, harness.organisation)
            let closing = OrganisationClosingStore(
                members: MemberStore(key: stores.organisations.table.key), bills: stores.bills, subscriptions: stores.subscriptions)
            try await harness.opened.store.write { db in try closing.end(db, organisation) }
            let left = try await harness.opened.store.read { db in try Int.fetchOne(db, sql: "SELECT count(*) FROM group_requests") }
            #expect(left == 0)
        }
    }
}
