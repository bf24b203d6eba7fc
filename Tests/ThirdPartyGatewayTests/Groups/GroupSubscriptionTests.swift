// Subscriptions to groups over HTTP: opened and paid once, told window by window, ended.

import Contracts
import Foundation
import GRDB
import ServiceKit
import Storage
import TestKit
import Testing

@testable import ThirdPartyGateway

@Suite("Subscriptions to groups")
struct GroupSubscriptionTests {
    private static let prices = PriceList(
        currency: "EUR", perRequest: 1200, usual: PriceList.free.usual, taxBasisPoints: 2200,
        groups: .init(perRequest: 5000, perThousandEntries: 100))

    /// Of a period that goes on.
    private static let form = GroupHarness.form(to: "2026-12-01T00:00:00Z")

    @Test("ANO-13: a period that goes on is a subscription, paid once; its windows are told and fetched by their number, once it is paid")
    func opened() async throws {
        try await GroupHarness.run(prices: Self.prices) { harness in
            harness.world.subscribe()
            let answer = try await harness.call("POST", "/group-requests", Self.form).expect(status: 201)
            let id = try #require((answer.json["id"] as? String).flatMap { GroupRequestID($0) })
            #expect(harness.world.asked.map(\.form.subscribe) == [true])
            let subscription = answer.json["subscription"] as? [String: Any]
            #expect(subscription?["state"] as? String == "running" && subscription?["granularity"] as? String == "hour")
            #expect(answer.json["release"] == nil && answer.json["status"] as? String == "accepted")
            // 50 euro with 22 % tax, whatever the windows will hold.
            #expect((answer.json["price"] as? [String: Any])?["decimal"] as? String == "61.00")

            let path = "/group-requests/\(id)"
            #expect(try await harness.call("GET", path + "/windows").items.isEmpty)
            for (sequence, status) in [(1, GroupWindowStatus.released), (2, .withheld), (3, .released)] {
                try await harness.closes(id, sequence, status)
                // As after a restart.
                try await harness.closes(id, sequence, status)
            }
            let first = try await harness.call("GET", path + "/windows?limit=2")
            #expect(first.items.map { $0["window"] as? Int } == [1, 2])
            #expect(first.items.map { $0["status"] as? String } == ["released", "withheld"])
            let rest = try await harness.call("GET", path + "/windows?after=\(first.json["next"] as? String ?? "")")
            #expect(rest.items.map { $0["window"] as? Int } == [3] && rest.json["next"] is NSNull)

            #expect(try await harness.call("GET", path + "/entries?window=1").problem == "payment-outstanding")
            try await harness.pay(id)
            #expect(try await harness.call("GET", path + "/entries?window=1").items.count == 1)
            let table = try await harness.call("GET", path + "/entries?window=3", headers: ["Accept": "text/csv"])
            #expect(table.text.hasPrefix("id,type,from,to,age,sex,"), "\(table.text)")
            #expect(harness.world.reads.map(\.window) == [1, 3])
            for query in ["", "?window=2", "?window=4"] {
                #expect(try await harness.call("GET", path + "/entries" + query).problem == "group-not-released", "\(query)")
            }
            #expect(try await harness.call("GET", path + "/windows", as: .random()).status == 404)
        }
    }

    @Test("ANO-13: of each window webhooks are told once, and of a withheld one a mail goes to the organisation")
    func told() async throws {
        try await GroupHarness.run { harness in
            harness.world.subscribe()
            try await harness.addEndpoint()
            let id = try await harness.accepted(Self.form)
            for (sequence, status) in [(1, GroupWindowStatus.released), (2, .withheld), (2, .withheld)] {
                try await harness.closes(id, sequence, status)
            }
            let notices = try await harness.notices()
            #expect(notices.map(\.type) == [.windowReleased, .windowWithheld] && notices.map(\.window) == [1, 2])
            #expect(notices.allSatisfy { $0.groupRequest == id })
            let mails = try await harness.mails().filter { $0.template == .groupWindowWithheld }
            #expect(mails.count == 1 && mails.first?.values["window"] == "2" && mails.first?.values["request"] == "\(id)")
            // What is none of ours tells nobody anything.
            try await harness.closes(.random(), 1, .withheld)
            #expect(try await harness.notices().count == 2)
        }
    }

    @Test("A subscription is ended once, also while the anonymiser is silent, which is told when it is there again")
    func ended() async throws {
        try await GroupHarness.run { harness in
            harness.world.subscribe()
            let id = try await harness.accepted(Self.form)
            #expect(try await harness.call("POST", "/group-requests/\(id)/end", as: .random()).status == 404)
            harness.world.loseAnswers(true)
            for _ in 0..<2 {
                let answer = try await harness.call("POST", "/group-requests/\(id)/end").expect(status: 200)
                #expect((answer.json["subscription"] as? [String: Any])?["state"] as? String == "ended")
            }
            #expect(harness.world.ended.isEmpty)
            harness.world.loseAnswers(false)
            harness.workInBackground()
            try await eventually("the anonymiser is told") { !harness.world.ended.isEmpty }
            #expect(harness.world.ended.map(\.request) == [id])
            // What waited is withheld, and is told still.
            try await harness.closes(id, 1, .withheld)
            #expect(try await harness.call("GET", "/group-requests/\(id)/windows").items.count == 1)
        }
    }

    @Test("Ending what is no subscription changes nothing")
    func nothingToEnd() async throws {
        try await GroupHarness.run { harness in
            harness.world.release([.at(hour: 8)])
            let id = try await harness.accepted()
            let answer = try await harness.call("POST", "/group-requests/\(id)/end").expect(status: 200)
            #expect(answer.json["subscription"] == nil && answer.json["release"] != nil)
            #expect(harness.world.ended.isEmpty && harness.world.asked.map(\.form.subscribe) == [nil])
        }
    }

    @Test("With its organisation a subscription ends, and the anonymiser is told")
    func closed() async throws {
        try await GroupHarness.run { harness in
            harness.world.subscribe()
            let id = try await harness.accepted(Self.form)
            try await harness.closes(id, 1, .released)
            try await harness.opened.store.write { [organisation = harness.organisation] db in
                try GroupRequestStore().deleteAll(db, of: organisation)
            }
            harness.workInBackground()
            try await eventually("the anonymiser is told") { harness.world.ended.map(\.request) == [id] }
            let left = try await harness.opened.store.read { db in try Int.fetchOne(db, sql: "SELECT count(*) FROM group_windows") }
            #expect(left == 0)
        }
    }

    @Test("A square in a subscription was refused without a word of what to do: the refusal says which requests take it, in both languages")
    func area() async throws {
        try await GroupHarness.run { harness in
            harness.world.blame(.init(pointer: "/filters/area", code: "closed-days-only", numbers: []))
            let form = GroupHarness.form(
                filters: #"{"sex":["female"],"area":{"latitude":45.46,"longitude":9.19}}"#, to: "2026-12-01T00:00:00Z")
            let answer = try await harness.call("POST", "/group-requests", form)
            #expect(answer.status == 422 && answer.problem == "invalid-body" && answer.pointers == ["/filters/area"], "\(answer.text)")
            let error = (answer.json["errors"] as? [[String: Any]])?.first
            #expect(error?["code"] as? String == "closed-days-only")
            #expect((error?["detail"] as? String)?.contains("ask for each day by a request of its own") == true, "\(answer.text)")
            let italian = try await harness.call("POST", "/group-requests", form, headers: ["Accept-Language": "it"])
            #expect(italian.text.contains("chieda ogni giorno"), "\(italian.text)")
            #expect(harness.world.asked.allSatisfy { $0.form.subscribe == true && $0.form.area != nil })
        }
    }

    @Test("The period of a form is judged as of when it was sent, so that a repeated question is the same")
    func asOf() async throws {
        try await GroupHarness.run { harness in
            harness.world.subscribe()
            harness.world.loseAnswers(true)
            _ = try await harness.call("POST", "/group-requests", Self.form).expect(status: 503)
            harness.world.pass(.seconds(200 * 86_400))
            harness.world.loseAnswers(false)
            harness.workInBackground()
            try await eventually("it is accepted") {
                try await harness.call("GET", "/group-requests").items.first?["status"] as? String == "accepted"
            }
            #expect(Set(harness.world.asked.map(\.form.subscribe)) == [true])
        }
    }
}
