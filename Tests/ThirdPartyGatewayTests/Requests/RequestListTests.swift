// Several people asked at once, the console's lists, and watching them live.

import Contracts
import Foundation
import GRDB
import HTTPKit
import ServiceKit
import Storage
import TestKit
import Testing

@testable import ThirdPartyGateway

@Suite("Lists of requests")
struct RequestListTests {
    private static let other = "VRDLGI75C12F205U"

    private static func settled(_ harness: RequestHarness, _ list: String) async throws -> [[String: Any]] {
        let asking = Task { try await harness.parts.service.run() }
        defer { asking.cancel() }
        try await eventually("the list is settled") {
            try await harness.call("GET", "/requests/lists/\(list)").json["sending"] as? Int == 0
        }
        return try await harness.call("GET", "/requests/lists/\(list)").items
    }

    @Test("SHR-19: a list in JSON asks each person by itself: one opens, one is unknown, one is covered")
    func sendsLists() async throws {
        try await RequestHarness.runWithPerson { harness in
            let third = "BNCNNA90D41L219R"
            _ = harness.world.add(third)
            let covered = try await harness.open(harness.form(third))
            let form = harness.form().replacing(
                "\"fiscalCode\":\"\(RequestHarness.code)\"",
                with: "\"fiscalCodes\":[\"\(RequestHarness.code)\",\"\(Self.other)\",\"\(third)\"]"
            )
            let answer = try await harness.call("POST", "/requests/lists", form)
            #expect(answer.status == 202, "\(answer.text)")
            #expect(answer.json["persons"] as? Int == 3)
            let items = try await Self.settled(harness, answer.json["list"] as? String ?? "")
            #expect(items.map { $0["outcome"] as? String } == ["opened", "no-such-person", "open-request-covers-this"])
            #expect(items[2]["request"] as? String == covered.description)
            #expect(items[1]["detail"] != nil)
            // Decided on its own: the acceptance of one changes nothing of the other.
            let opened = try #require((items[0]["request"] as? String).flatMap { RequestID($0) })
            try await harness.become(.approved, opened)
            #expect(try await harness.stored(covered)?.request.status == .pending)
        }
    }

    @Test("SHR-19: a CSV has one form a line; a wrong line is named by its number and nothing is sent")
    func sendsTables() async throws {
        try await RequestHarness.runWithPerson { harness in
            _ = harness.world.add(Self.other)
            let table = """
                fiscalCode,types,from,to,granularity,purpose
                \(RequestHarness.code),heart-rate weight,2026-01-01T00:00:00Z,P3M,hours,"Sleep, and more"
                \(Self.other),distance,2026-01-01T00:00:00Z,2026-02-01T00:00:00Z,minutes,Walking
                """
            let answer = try await harness.call("POST", "/requests/lists", table, type: "text/csv")
            #expect(answer.status == 202, "\(answer.text)")
            let items = try await Self.settled(harness, answer.json["list"] as? String ?? "")
            #expect(items.map { $0["outcome"] as? String } == ["opened", "opened"])
            // Several are asked at once, in any order.
            let asked = Dictionary(grouping: harness.world.asked, by: \.form.purpose).mapValues { $0.map(\.form.types.count) }
            #expect(asked == ["Sleep, and more": [2], "Walking": [1]])
            let wrong = try await harness.call(
                "POST", "/requests/lists",
                table.replacing("distance", with: "mood").replacing("2026-01-01T00:00:00Z,P3M", with: "then,P3M"),
                type: "text/csv")
            #expect(wrong.status == 422)
            #expect(Set(wrong.pointers) == ["/line/2/from", "/line/3/types"], "\(wrong.text)")
            let headless = try await harness.call("POST", "/requests/lists", "code\nx\n", type: "text/csv")
            #expect(headless.pointers == ["/line/1"])
            #expect(harness.world.asked.count == 2)
        }
    }

    @Test("SHR-19: a list of nobody, of too many or with the same twice is refused")
    func boundsLists() throws {
        let form = TypedForm(
            types: ["heart-rate"], from: "2026-01-01T00:00:00Z", to: nil, length: "P1D", granularity: "hours", purpose: "x")
        let now = Timestamp(milliseconds: 1_790_000_000_000)
        #expect(throws: FormFaults.self) { try PersonList(form, fiscalCodes: [], at: now) }
        #expect(throws: FormFaults.self) {
            try PersonList(form, fiscalCodes: [RequestHarness.code, RequestHarness.code.lowercased()], at: now)
        }
        #expect(throws: FormFaults.self) {
            try PersonList(form, fiscalCodes: Array(repeating: RequestHarness.code, count: PersonList.most + 1), at: now)
        }
        #expect(try PersonList(form, fiscalCodes: [RequestHarness.code, Self.other], at: now).forms.count == 2)
    }

    @Test("ORG-17, ORG-18: the console lists target, month, status and subscription, pages and filters, and what was acquired apart")
    func listsAndFilters() async throws {
        try await RequestHarness.runWithPerson { harness in
            let old = try await harness.open(harness.form(days: -30 ..< -1))
            let flowing = try await harness.open(harness.form(types: [.glucose], days: -1..<30))
            let refused = try await harness.open(harness.form(types: [.distance]))
            try await harness.become(.approved, old)
            try await harness.become(.declined, refused)
            let all = try await harness.call("GET", "/requests").items
            #expect(all.map { $0["request"] as? String } == [refused, flowing, old].map(\.description))
            #expect(all.allSatisfy { $0["fiscalCode"] as? String == RequestHarness.code })
            #expect(all.map { $0["delivery"] as? String } == ["closed", "waiting", "payment-outstanding"])
            func found(_ query: String) async throws -> [String] {
                try await harness.call("GET", "/requests?\(query)").items.compactMap { $0["request"] as? String }
            }
            #expect(try await found("status=DECLINED") == [refused.description])
            #expect(try await found("subscription=true") == [flowing.description])
            #expect(try await found("type=heart-rate") == [old.description])
            #expect(try await found("month=\(harness.world.now.rfc3339.prefix(7))").count == 3)
            #expect(try await found("month=2001-01").isEmpty)
            #expect(try await found("show=acquired").isEmpty, "not paid")
            try await harness.pay(old)
            #expect(try await found("show=acquired") == [old.description])
            let page = try await harness.call("GET", "/requests?limit=2")
            #expect(page.items.count == 2)
            let next = try await harness.call("GET", "/requests?limit=2&after=\(page.json["next"] as? String ?? "")")
            #expect(next.items.count == 1)
            #expect(next.json["next"] is NSNull)
            for bad in ["status=OPEN", "month=13", "month=2026-13", "type=mood", "limit=0"] {
                #expect(try await harness.call("GET", "/requests?\(bad)").status == 400, "\(bad)")
            }
        }
    }

    @Test("SHR-20: whoever polls with the ETag is told that nothing has changed, and sees each change")
    func pollsWithTags() async throws {
        try await RequestHarness.runWithPerson { harness in
            let id = try await harness.open(harness.form())
            let first = try await harness.call("GET", "/requests/\(id)")
            let tag = try #require(first.header("etag"))
            let again = try await harness.call("GET", "/requests/\(id)", headers: ["If-None-Match": tag])
            #expect(again.status == 304 && again.body.isEmpty)
            try await harness.become(.approved, id)
            let changed = try await harness.call("GET", "/requests/\(id)", headers: ["If-None-Match": tag])
            #expect(changed.status == 200)
            #expect(changed.json["status"] as? String == "APPROVED")
            #expect(changed.header("etag") != tag)
        }
    }

    @Test("SHR-08, SHR-09, SHR-20: watched live, each request comes as it is after each change; who reconnects misses no last state")
    func watchesLive() async throws {
        try await RequestHarness.runWithPerson { harness in
            let id = try await harness.open(harness.form())
            let repository = harness.parts.repository
            let last = try await repository.lastChange()
            let feed = try #require(
                RequestFeed(of: harness.organisation, seen: last, repository: repository, watchers: harness.parts.watchers))
            let coming = Task { try await feed.next() }
            try await harness.become(.approved, id)
            let first = try #require(try await coming.value)
            #expect(first.request.status == .approved)
            try await harness.pay(id)
            try await harness.become(.revoked, id)
            let anew = try #require(
                RequestFeed(of: harness.organisation, seen: first.stored.change, repository: repository, watchers: harness.parts.watchers))
            let final = try #require(try await anew.next())
            #expect(final.request.status == .revoked)
            #expect(final.stored.change > first.stored.change)
            let strangers = try #require(RequestFeed(of: .random(), seen: 0, repository: repository, watchers: harness.parts.watchers))
            let nothing = Task { try await strangers.next() }
            nothing.cancel()
            // Whether it waited or was looking when it was called off.
            switch await nothing.result {
            case .success(let found): #expect(found == nil)
            case .failure(let error): #expect(error is CancellationError)
            }
            #expect(try await harness.call("GET", "/requests/events", headers: ["Last-Event-ID": "soon"]).status == 400)
        }
    }

    @Test("SHR-20: an organisation has so many event streams open and no more")
    func boundsStreams() async throws {
        try await RequestHarness.run { harness in
            func feed(of organisation: OrganisationID) -> RequestFeed? {
                RequestFeed(of: organisation, seen: 0, repository: harness.parts.repository, watchers: harness.parts.watchers)
            }
            var open: [RequestFeed] = []
            while open.count <= 20, let more = feed(of: harness.organisation) { open.append(more) }
            #expect(open.count == 20)
            #expect(feed(of: .random()) != nil, "others listen as ever")
            open.removeLast()
            #expect(feed(of: harness.organisation) != nil)
        }
    }
}
