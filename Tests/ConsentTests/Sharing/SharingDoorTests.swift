// What a person does over HTTP, and what the doors refuse.

import Contracts
import Foundation
import GRDB
import HTTPKit
import ServiceKit
import Storage
import TestKit
import Testing

@testable import Consent

/// The routes behind a real server; the token of a person is the person's id.
private struct Door: Sendable {
    let port: Int

    static func run<Value: Sendable>(_ harness: SharingHarness, _ body: (Door) async throws -> Value) async throws -> Value {
        let server = HTTPServer(
            .init(title: "Consent", version: "1", summary: "Test.", prefix: "consent"), routes: harness.parts.routes, port: 0,
            health: Health(missing: { [] }, metrics: { "" }),
            authenticate: { credentials, _ in
                guard let person = PersonID(credentials.bearer) else { throw Problem.notForThisAccount }
                return .person(person, .random())
            }, logger: harness.runtime.logger)
        let serving = Task { try await server.run() }
        defer { serving.cancel() }
        return try await body(Door(port: await server.boundPort))
    }

    func call(_ method: String, _ path: String, _ person: PersonID?, _ body: String? = nil) async throws -> HarnessAnswer {
        let client = HarnessClient(port: port)
        return try await client.send(
            client.request(
                method, "/consent/v1\(path)", token: person?.description, body: body.map { Data($0.utf8) },
                type: body == nil ? nil : "application/json"))
    }
}

@Suite("Sharing over HTTP")
struct SharingDoorTests {
    private static let code = "RSSMRA80A01H501U"

    @Test("ACC-20, SHR-05: the person sees every request ever received, with who asks, what for, types, period, step and outcome")
    func requestsReceived() async throws {
        try await SharingHarness.run(with: Self.code) { harness, person in
            let past = try await harness.open(harness.form(Self.code, by: .random(), days: -60..<(-30), purpose: "The past"))
            _ = try await harness.answer(past, of: person.person, accept: false)
            let form = harness.form(Self.code, by: .random(), types: [.position, .heartRate], granularity: .hours)
            let waiting = try await harness.open(form)
            try await Door.run(harness) { door in
                let all = try await door.call("GET", "/requests", person.person)
                #expect(all.status == 200 && all.items.map { $0["request"] as? String } == ["\(waiting)", "\(past)"])
                let item = try #require(all.items.first)
                #expect(item["purpose"] as? String == form.purpose && item["granularity"] as? String == "hours")
                #expect((item["requester"] as? [String: Any])?["name"] as? String == form.organisationName)
                #expect(item["types"] as? [String] == ["heart-rate", "position"] && item["isSubscription"] as? Bool == true)
                #expect(item["from"] as? String == form.from.rfc3339 && item["to"] as? String == form.to.rfc3339)
                #expect(item["status"] as? String == "PENDING" && item["answeredAt"] == nil)
                #expect(all.items[1]["status"] as? String == "DECLINED" && all.items[1]["isSubscription"] as? Bool == false)
                #expect(all.items[1]["answeredAt"] as? String == harness.world.now.rfc3339)
                let pending = try await door.call("GET", "/requests?show=pending", person.person)
                #expect(pending.items.map { $0["request"] as? String } == ["\(waiting)"])
                let wrong = try await door.call("GET", "/requests?show=all", person.person)
                #expect(wrong.status == 400 && wrong.pointers == ["query:show"])
                let page = try await door.call("GET", "/requests?limit=1", person.person)
                let next = try #require(page.json["next"] as? String)
                let rest = try await door.call("GET", "/requests?limit=1&after=\(next)", person.person)
                #expect(rest.items.map { $0["request"] as? String } == ["\(past)"] && rest.json["next"] is NSNull)
                let one = try await door.call("GET", "/requests/\(past)", person.person)
                #expect(one.status == 200 && one.json["purpose"] as? String == "The past")
                let foreign = try await door.call("GET", "/requests/\(past)", harness.addPerson("OTHER").person)
                #expect(foreign.status == 404)
                #expect(try await door.call("GET", "/requests", nil).status == 401)
            }
        }
    }

    @Test("SHR-06, SHR-07: accept and refuse by POST; twice, too late, unreadable and somebody else's answers are told apart")
    func answers() async throws {
        try await SharingHarness.run(with: Self.code) { harness, person in
            let id = try await harness.open(harness.form(Self.code, by: .random()))
            try await Door.run(harness) { door in
                let path = "/requests/\(id)/answer"
                for body in ["{}", #"{"answer":"perhaps"}"#, #"{"answer":"accept","more":1}"#] {
                    let wrong = try await door.call("POST", path, person.person, body)
                    #expect(wrong.problem == "invalid-body" && wrong.status == 422 && !wrong.pointers.isEmpty, "\(body)")
                }
                #expect(try await harness.request(id).status == .pending)
                #expect(try await door.call("POST", path, harness.addPerson("OTHER").person, #"{"answer":"accept"}"#).status == 404)
                let accepted = try await door.call("POST", path, person.person, #"{"answer":"accept"}"#)
                #expect(accepted.status == 200 && accepted.json["status"] as? String == "APPROVED")
                #expect(accepted.json["sharedTypes"] as? [String] == ["heart-rate"])
                #expect(try await door.call("POST", path, person.person, #"{"answer":"accept"}"#).status == 200)
                let other = try await door.call("POST", path, person.person, #"{"answer":"refuse"}"#)
                #expect(other.status == 409 && other.problem == "already-answered")
                #expect((other.json["detail"] as? String)?.contains("first answer stands") == true)
                let late = try await harness.open(harness.form(Self.code, by: .random()))
                harness.world.pass(.seconds(86_400))
                let refused = try await door.call("POST", "/requests/\(late)/answer", person.person, #"{"answer":"accept"}"#)
                #expect(refused.status == 409 && refused.problem == "no-longer-open")
                let child = try await harness.addPerson("CHILD", isChild: true)
                let asked = try await harness.open(harness.form("CHILD", by: .random()))
                let young = try await door.call("POST", "/requests/\(asked)/answer", child.person, #"{"answer":"accept"}"#)
                #expect(young.status == 403 && young.problem == "guardian-must-answer")
            }
        }
    }

    @Test(
        "ACC-21, SHR-16: the policy shows who may see what and until when; a grant is withdrawn by type and wholly, told that copies stay (CON-21)"
    )
    func policy() async throws {
        try await SharingHarness.run(with: Self.code) { harness, person in
            let form = harness.form(Self.code, by: .random(), types: [.heartRate, .position])
            let grant = try #require(try await harness.grant(form, to: person.person).grant)
            try await Door.run(harness) { door in
                let before = try await door.call("GET", "/policy", person.person)
                let shown = try #require((before.json["grants"] as? [[String: Any]])?.first)
                #expect(shown["grant"] as? String == "\(grant.id)" && shown["to"] as? String == form.to.rfc3339)
                #expect((shown["requester"] as? [String: Any])?["name"] as? String == form.organisationName)
                let one = try await door.call("DELETE", "/grants/\(grant.id)/types/position", person.person)
                let rest = one.json["request"] as? [String: Any]
                #expect(one.status == 200 && rest?["sharedTypes"] as? [String] == ["heart-rate"])
                #expect((one.json["note"] as? String)?.contains("stays with the recipient") == true)
                #expect(try await door.call("DELETE", "/grants/\(grant.id)/types/position", person.person).status == 200)
                #expect(try await door.call("DELETE", "/grants/\(grant.id)/types/weight", person.person).status == 404)
                #expect(try await door.call("DELETE", "/grants/\(grant.id)/types/nothing", person.person).status == 404)
                #expect(try await door.call("DELETE", "/grants/\(grant.id)", harness.addPerson("OTHER").person).status == 404)
                let whole = try await door.call("DELETE", "/grants/\(grant.id)", person.person)
                #expect((whole.json["request"] as? [String: Any])?["status"] as? String == "REVOKED")
                #expect(try await door.call("DELETE", "/grants/\(grant.id)", person.person).status == 200)
                let after = try await door.call("GET", "/policy", person.person)
                #expect((after.json["grants"] as? [Any])?.isEmpty == true)
                let ended = try await harness.grant(harness.form(Self.code, by: form.organisation), to: person.person)
                _ = try await harness.parts.service.end(EndRequest(organisation: form.organisation, request: ended.id), harness.context())
                let over = try await door.call("DELETE", "/grants/\(try #require(ended.grant).id)", person.person)
                #expect(over.status == 409 && over.problem == "grant-not-in-force")
            }
        }
    }

    @Test("ANO-09, ACC-21: anonymous sharing is off for every type, is switched on and off one by one, and outlives a restart")
    func anonymous() async throws {
        try await withTemporaryFolder { folder in
            let world = SharingWorld()
            let person = try await SharingHarness.run(in: folder, world: world) { harness in
                let person = try await harness.addPerson(Self.code)
                try await Door.run(harness) { door in
                    let first = try await door.call("GET", "/policy", person.person)
                    let offered = first.json["anonymous"] as? [[String: Any]] ?? []
                    #expect(offered.count == Metric.all.count && offered.allSatisfy { $0["shared"] as? Bool == false })
                    let on = try await door.call("PUT", "/policy/anonymous/heart-rate", person.person, #"{"shared":true}"#)
                    #expect(on.status == 200 && on.json["shared"] as? Bool == true)
                    _ = try await door.call("PUT", "/policy/anonymous/weight", person.person, #"{"shared":true}"#)
                    _ = try await door.call("PUT", "/policy/anonymous/weight", person.person, #"{"shared":false}"#)
                    #expect(try await door.call("PUT", "/policy/anonymous/nothing", person.person, #"{"shared":true}"#).status == 404)
                    let wrong = try await door.call("PUT", "/policy/anonymous/weight", person.person, #"{"shared":"yes"}"#)
                    #expect(wrong.problem == "invalid-body" && wrong.pointers == ["/shared"])
                    _ = try await door.call("PUT", "/policy/anonymous/heart-rate", person.person, #"{"shared":true}"#)
                    #expect(
                        world.choices.map(\.metric.code) == ["heart-rate", "weight", "weight"], "each change is recorded once (ACC-32)")
                }
                return person
            }
            try await SharingHarness.run(in: folder, world: world) { harness in
                let chosen = try await harness.parts.policy.anonymous(of: person.person)
                #expect(chosen.filter(\.value.isShared).map(\.key) == [.heartRate])
            }
        }
    }

    @Test(
        "SHR-24: each access that a holder of data told of is shown once to its person, with who, what and when, after a day by the hour; to nobody else"
    )
    func accesses() async throws {
        try await SharingHarness.run(with: Self.code) { harness, person in
            let form = harness.form(Self.code, by: .random())
            let grant = try #require(try await harness.grant(form, to: person.person).grant)
            let table = AccessStore(beside: harness.opened.store)
            func tell(of reader: PersonID) async throws {
                let read = DataRead(
                    grant: grant.id, organisation: form.organisation, metric: .heartRate, from: form.from, to: form.from + .seconds(60),
                    count: 60)
                let header = StreamHeader(
                    stream: "ingest.accesses", epoch: "e", sequence: 1, head: 1, type: DataRead.type, subject: "\(reader)",
                    at: harness.world.now, trace: "")
                let event = StreamEvent(header: header, payload: Array(try JSONEncoder().encode(read)))
                try await harness.accesses.write { db in try table.apply(db, event) }
            }
            for _ in 1...3 { try await tell(of: person.person) }
            // What is told of somebody who was erased meanwhile leaves no row behind.
            try await tell(of: .random())
            let rows = try await harness.accesses.read { db in
                try ["accesses", "access_people", "access_grants"].map { try Int.fetchOne(db, sql: "SELECT count(*) FROM \($0)") }
            }
            #expect(rows == [3, 1, 1])
            let other = try await harness.addPerson("OTHER").person
            try await Door.run(harness) { door in
                let mine = try await door.call("GET", "/accesses", person.person)
                let item = try #require(mine.items.first)
                #expect(mine.items.count == 3 && item["name"] as? String == form.organisationName && item["count"] as? Int == 60)
                #expect(item["type"] as? String == "heart-rate" && item["at"] as? String == harness.world.now.rfc3339)
                #expect(item["from"] as? String == form.from.rfc3339 && item["purpose"] as? String == form.purpose)
                #expect(item["reads"] as? Int == nil)
                let first = try await door.call("GET", "/accesses?limit=2", person.person)
                let next = try #require(first.json["next"] as? String)
                let last = try await door.call("GET", "/accesses?limit=2&after=\(next)", person.person)
                #expect(first.items.count == 2 && last.items.count == 1)
                #expect(last.json["next"] as? String == nil)
                #expect(try await door.call("GET", "/accesses?after=nowhere", person.person).status == 400)
                #expect(try await door.call("GET", "/accesses", other).items.isEmpty)

                let hour = Timestamp(milliseconds: harness.world.now.milliseconds / 3_600_000 * 3_600_000)
                harness.world.pass(.seconds(24 * 3600 + 1))
                try await harness.parts.accesses.fold()
                let folded = try await door.call("GET", "/accesses", person.person)
                let sum = try #require(folded.items.first)
                #expect(folded.items.count == 1 && sum["reads"] as? Int == 3 && sum["count"] as? Int == 180)
                #expect(sum["at"] as? String == hour.rfc3339 && sum["name"] as? String == form.organisationName)
                let end = form.from + .seconds(60)
                #expect(sum["from"] as? String == form.from.rfc3339 && sum["to"] as? String == end.rfc3339)
                #expect(try await door.call("GET", "/accesses", other).items.isEmpty)
            }
        }
    }

    @Test("ACC-32: the person reads the signed receipts, newest first, and anybody the key that proves them")
    func receipts() async throws {
        try await SharingHarness.run(with: Self.code) { harness, person in
            _ = try await harness.grant(harness.form(Self.code, by: .random()), to: person.person)
            try await Door.run(harness) { door in
                let mine = try await door.call("GET", "/receipts", person.person)
                #expect(mine.items.map { $0["event"] as? String } == ["given", "requested"])
                let text = try #require(mine.items.first?["signed"] as? String)
                #expect(try ReceiptReading(text, harness).event["event_state"] as? String == "given")
                let keys = try await door.call("GET", "/receipt-keys", nil)
                let key = try #require((keys.json["keys"] as? [[String: Any]])?.first)
                #expect(key["crv"] as? String == "Ed25519" && key["kid"] as? String == harness.parts.receipts.service.keyID)
                let other = try await door.call("GET", "/receipts", harness.addPerson("OTHER").person)
                #expect(other.items.isEmpty)
            }
        }
    }
}
