// What a stranger was told wrongly once: fields that are blamed, events that are whole, times that move, ends that say why.

import Contracts
import Foundation
import HTTPKit
import ServiceKit
import Storage
import TestKit
import Testing

@testable import ThirdPartyGateway

@Suite("What is said is so")
struct PlainWordsTests {
    @Test("UI-14: a page beyond the period's end blames `to`, one before its beginning `from`; a file of another type blames its place")
    func pointers() async throws {
        try await RequestHarness.runWithPerson { harness in
            let path = "/requests/\(try await harness.granted(harness.form()))"
            let late = try await harness.call("GET", path + "/data?type=heart-rate&to=2090-01-01T00:00:00Z")
            #expect(late.status == 403 && late.pointers == ["query:to"], "\(late.text)")
            let early = try await harness.call("GET", path + "/data?type=heart-rate&from=1990-01-01T00:00:00Z")
            #expect(early.status == 403 && early.pointers == ["query:from"], "\(early.text)")
            for (body, pointer) in [
                (#"{"format":"csv","types":["body-temperature"]}"#, "/types/0"),
                (#"{"format":"csv","types":["heart-rate","body-temperature"]}"#, "/types/1"),
                (#"{"format":"csv","to":"2090-01-01T00:00:00Z"}"#, "/to"), (#"{"format":"csv","from":"1990-01-01T00:00:00Z"}"#, "/from"),
            ] {
                let refused = try await harness.call("POST", path + "/files", body)
                #expect(refused.status == 403 && refused.pointers == [pointer], "\(refused.text)")
            }
        }
    }

    @Test("UI-14: faults of a table are named by their column, a length by the column `to` that it stands in")
    func columns() {
        let table = """
            fiscalCode,types,from,to,granularity,purpose
            \(RequestHarness.code),heart-rate mood joy,2026-01-01T00:00:00Z,P3X,hours,Sleep

            """
        do {
            _ = try PersonList(csv: Array(table.utf8), at: .now)
            Issue.record("it was taken")
        } catch {
            #expect(error.faults.map(\.pointer) == ["/line/2/types", "/line/2/to"])
        }
    }

    @Test("SHR-08: a request whose fact has overtaken its answer is not shown in events before it is whole")
    func wholeEvents() async throws {
        try await RequestHarness.run { harness in
            let person = harness.world.add(RequestHarness.code)
            let repository = harness.parts.repository
            let feed = try #require(
                RequestFeed(of: harness.organisation, seen: 0, repository: repository, watchers: harness.parts.watchers))
            let coming = Task { try await feed.next() }
            let early = RequestState(
                request: .random(), organisation: harness.organisation, status: .pending, types: [.heartRate],
                from: harness.world.now - .seconds(86_400), to: harness.world.now, granularity: .minutes, grant: nil,
                changedAt: harness.world.now, answerBy: harness.world.now + .seconds(86_400), receipt: nil)
            try await harness.hear(early, of: person)
            let id = try await harness.open(harness.form())
            let shown = try #require(try await coming.value)
            #expect(shown.request.id == id && shown.particulars?.fiscalCode == RequestHarness.code)
            #expect(shown.particulars?.purpose.isEmpty == false)
        }
    }

    @Test("PAY-04: `changedAt` moves when a payment makes a request `ready`")
    func changedAt() async throws {
        try await RequestHarness.runWithPerson { harness in
            let id = try await harness.open(harness.form())
            try await harness.become(.approved, id)
            let before = try await harness.call("GET", "/requests/\(id)")
            harness.world.pass(.seconds(5))
            try await harness.pay(id)
            let after = try await harness.call("GET", "/requests/\(id)")
            #expect(before.json["delivery"] as? String == "payment-outstanding" && after.json["delivery"] as? String == "ready")
            #expect(after.json["changedAt"] as? String == after.json["paidAt"] as? String)
            #expect(before.json["changedAt"] as? String != after.json["changedAt"] as? String)
        }
    }

    @Test("SHR-15: an event stream says why a subscription is over, also where the end of the grant is heard before its reason")
    func reasons() async throws {
        try await FeedHarness.runWithFeed { harness, feed in
            let events = try #require(SubscriptionEvents(of: feed, after: 0, service: harness.service))
            guard case .heartbeat = try await events.next() else {
                Issue.record("the head comes first")
                return
            }
            let coming = Task { try await events.next() }
            try await harness.say(feed, active: false)
            try await harness.end(feed, .ended)
            guard case .over(let why) = try await coming.value else {
                Issue.record("it is over")
                return
            }
            #expect(why == .ended)
            let stopped = try await harness.feed(feed.request)
            #expect(FeedRefusal.over(.ended).problem(of: stopped).detail == "You stopped the subscription.")
            let other = try await harness.subscribe(ahead: .seconds(60))
            harness.world.clock.advance(.seconds(61))
            try await harness.end(other, .ended)
            #expect(FeedRefusal.over(.ended).problem(of: try await harness.feed(other.request)).detail == "The period is over.")
        }
    }

    @Test("ORG-02, UI-14: a short password is named together with everything else that is wrong")
    func passwords() throws {
        func pointers(_ password: String) throws -> [String] {
            let form = OrganisationHarness.form { form in
                form["vatNumber"] = "00743110158"
                form["password"] = password
                form["passwordAgain"] = password
            }
            do {
                let value = try JSONTree(Array(JSONSerialization.data(withJSONObject: form)))
                _ = try OrganisationForm.check(value, version: OrganisationConditions.version, in: .italy, at: .now)
                return []
            } catch OrganisationFormFault.fields(let faults) {
                return faults.map(\.pointer)
            }
        }
        #expect(try pointers("short") == ["/vatNumber", "/password"])
        #expect(try pointers(String(repeating: "è", count: 129)) == ["/vatNumber", "/password"])
        #expect(try pointers("otto car") == ["/vatNumber"])
    }
}
