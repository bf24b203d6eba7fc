// A third party's program and a subscription: pages, events and webhooks over real sockets, from the upload to the withdrawal.

import Contracts
import Foundation
import GRDB
import Sealing
import ServiceKit
import Storage
import Synchronization
import TestKit
import Testing

@testable import ThirdPartyGateway

@Suite("Subscriptions: stories")
struct SubscriptionStories {
    @Test(
        "SHR-14, ORG-19: what a person's devices upload reaches the third party as a page, as events and as a signed webhook, the same on all three ways"
    )
    func threeWays() async throws {
        try await SubscriptionStage.run { stage in
            let organisation = OrganisationID.random()
            let endpoint = try await stage.addEndpoint(organisation)
            let (scope, person) = try await stage.subscribe(organisation)
            let path = "/subscriptions/\(scope.request)"
            let ear = EventListener(try stage.prepared("GET", path + "/events", organisation))
            defer { ear.stop() }
            try await eventually("the ear hears the head", isTrue: { ear.events.first?.name == "heartbeat" })
            #expect(ear.events.first?.data.contains(#""head":0"#) == true)
            try await stage.upload(scope, person, [60, 61, 62])
            try await eventually("all three ways have it") {
                let page: SubscriptionStage.Page? = try? await stage.request("GET", path + "/items", as: organisation).decoded()
                return page?.head == 3 && ear.ids == ["1", "2", "3"] && stage.hook.numbers.count == 3
            }
            let text = String(decoding: try await stage.request("GET", path + "/items", as: organisation).body, as: UTF8.self)
            for event in ear.events where event.name == "item" { #expect(text.contains(event.data)) }
            let posts = stage.hook.received("subscription.items")
            for post in posts {
                try post.verify(secret: endpoint.secret ?? "")
                let keys: PublishedKeys = try await stage.request("GET", "/webhook-keys", as: nil).decoded()
                try post.verify(key: keys.keys[0].webhook)
                #expect(throws: SealingError.self) { try post.verify(secret: WebhookSecret.random().text) }
            }
            #expect(stage.hook.numbers == [1, 2, 3])
            #expect(stage.hook.received.first?.message == nil || stage.hook.received.first?.message?.type == "endpoint.verification")
        }
    }

    @Test("SHR-14: who comes back goes on after the number that was seen last, by page and by Last-Event-ID, and misses nothing")
    func comingBack() async throws {
        try await SubscriptionStage.run { stage in
            let organisation = OrganisationID.random()
            let (scope, person) = try await stage.subscribe(organisation)
            let path = "/subscriptions/\(scope.request)"
            try await stage.upload(scope, person, (0..<20).map(Double.init))
            try await eventually("it is read") {
                let item: SubscriptionItem? = try? await stage.request("GET", path, as: organisation).decoded()
                return item?.head == 20
            }
            var (after, seen): (String?, [Int64]) = ("0", [])
            while let from = after {
                let page: SubscriptionStage.Page = try await stage.request("GET", path + "/items?limit=7&after=\(from)", as: organisation)
                    .decoded()
                seen += page.items.map(\.number)
                after = page.next
            }
            #expect(seen == Array(1...20))
            let ear = EventListener(try stage.prepared("GET", path + "/events", organisation, nil, ["Last-Event-ID": "17"]))
            defer { ear.stop() }
            try await eventually("the rest is heard", isTrue: { ear.ids.count >= 3 })
            #expect(ear.ids == ["18", "19", "20"])
            #expect(try await stage.request("GET", path + "/items?after=x", as: organisation).problem == "invalid-parameter")
            let strange = try stage.prepared("GET", path + "/events", organisation, nil, ["Last-Event-ID": "x"])
            _ = strange
            #expect(try await stage.request("GET", path + "/items", as: .random()).status == 404, "somebody else's object is 404")
            #expect(try await stage.request("GET", path + "/items", as: nil).status == 401)
        }
    }

    @Test("SHR-14: a page may wait for what is new, and comes as soon as it is there; a withdrawal ends the waiting")
    func waitingPage() async throws {
        try await SubscriptionStage.run { stage in
            let organisation = OrganisationID.random()
            let (scope, person) = try await stage.subscribe(organisation)
            let path = "/subscriptions/\(scope.request)/items"
            async let waiting = stage.request("GET", path + "?after=0&wait=30", as: organisation)
            try await stage.upload(scope, person, [60])
            let page: SubscriptionStage.Page = try await waiting.decoded()
            #expect(page.items.map(\.number) == [1] && page.head == 1)
            let atOnce: SubscriptionStage.Page = try await stage.request("GET", path + "?after=1", as: organisation).decoded()
            #expect(atOnce.items.isEmpty, "who does not ask to wait is answered at once")
            #expect(try await stage.request("GET", path + "?wait=31", as: organisation).problem == "invalid-parameter")
            async let ended = stage.request("GET", path + "?after=1&wait=30", as: organisation)
            try await stage.sayGrant(scope, person, active: false, version: 2)
            #expect(try await ended.status == 410)
        }
    }

    @Test("a number above the head, as a damaged memory has, was answered 200 and empty for ever: it is refused, not the head itself")
    func numberAhead() async throws {
        try await SubscriptionStage.run { stage in
            let organisation = OrganisationID.random()
            let (scope, person) = try await stage.subscribe(organisation)
            let path = "/subscriptions/\(scope.request)"
            let early = try await stage.request("GET", path + "/items?after=1", as: organisation)
            #expect(early.status == 400 && early.problem == "cursor-ahead", "before the first item")
            try await stage.upload(scope, person, [60])
            try await eventually("an item is there") {
                let page: SubscriptionStage.Page? = try? await stage.request("GET", path + "/items", as: organisation).decoded()
                return page?.head == 1
            }
            for after in ["2", "99999999999999999"] {
                let page = try await stage.request("GET", path + "/items?after=\(after)&wait=30", as: organisation)
                #expect(page.status == 400 && page.problem == "cursor-ahead")
                let events = try await stage.request("GET", path + "/events", as: organisation, headers: ["Last-Event-ID": after])
                #expect(events.status == 400 && events.problem == "cursor-ahead")
            }
            let page: SubscriptionStage.Page = try await stage.request("GET", path + "/items?after=1", as: organisation).decoded()
            #expect(page.items.isEmpty && page.head == 1, "who has everything waits for more")
        }
    }

    @Test("ORG-11: an event stream that is open ends soon after its token does, and a page that was waited for is refused")
    func tokenEnds() async throws {
        try await SubscriptionStage.run { stage in
            let organisation = OrganisationID.random()
            let (scope, person) = try await stage.subscribe(organisation)
            let path = "/subscriptions/\(scope.request)"
            let ear = EventListener(try stage.prepared("GET", path + "/events", organisation))
            defer { ear.stop() }
            try await stage.upload(scope, person, [60])
            try await eventually("the ear hears", isTrue: { ear.ids == ["1"] })
            async let waiting = stage.request("GET", path + "/items?after=1&wait=30", as: organisation)
            let feed = try #require(try await stage.opened.store.read { db in try FeedStore().find(db, scope.request) })
            try await eventually("both listen", isTrue: { stage.parts.subscriptions.hub.watchers(of: feed.number) == 2 })
            stage.requests.withdrawn.withLock { _ = $0.insert(organisation) }
            try await eventually("the stream ends", isTrue: { ear.isOver })
            try await stage.upload(scope, person, [61], ending: .now + .seconds(1))
            #expect(try await waiting.status == 401)
            #expect(ear.ids == ["1"])
            try await eventually("the seats are free", isTrue: { stage.parts.subscriptions.hub.watchers(of: feed.number) == 0 })
        }
    }

    @Test("SHR-16, SHR-15: a withdrawal ends pages, events and webhooks, and a signed grant.revoked says so")
    func withdrawal() async throws {
        try await SubscriptionStage.run { stage in
            let organisation = OrganisationID.random()
            let endpoint = try await stage.addEndpoint(organisation)
            let (scope, person) = try await stage.subscribe(organisation)
            let path = "/subscriptions/\(scope.request)"
            try await stage.upload(scope, person, [60])
            try await eventually("an item is there", isTrue: { !stage.hook.received("subscription.items").isEmpty })
            let ear = EventListener(try stage.prepared("GET", path + "/events", organisation))
            defer { ear.stop() }
            try await eventually("the ear hears", isTrue: { ear.ids == ["1"] })
            try await stage.sayGrant(scope, person, active: false, version: 2)
            try await eventually("the ear hears the end", isTrue: { ear.events.last?.name == "over" })
            #expect(try await stage.request("GET", path + "/items", as: organisation).problem == "subscription-over")
            try await stage.opened.store.write { db in try stage.parts.repository.end(db, scope.request, .revoked) }
            try await eventually("grant.revoked arrives", isTrue: { !stage.hook.received("grant.revoked").isEmpty })
            let told = try #require(stage.hook.received("grant.revoked").first)
            try told.verify(secret: endpoint.secret ?? "")
            #expect(told.message?.data.subscription == scope.request && told.message?.data.reason == "revoked")
            let count = stage.hook.received("subscription.items").count
            try await stage.upload(scope, person, [61, 62])
            let item: SubscriptionItem = try await stage.request("GET", path, as: organisation).decoded()
            #expect(item.state == "over" && item.ending == "revoked" && item.head == 1)
            #expect(stage.hook.received("subscription.items").count == count)
        }
    }

    @Test("SHR-25: a third party stops a subscription by itself; consent is asked, and asking again changes nothing")
    func stopping() async throws {
        try await SubscriptionStage.run { stage in
            let organisation = OrganisationID.random()
            let (scope, _) = try await stage.subscribe(organisation)
            let path = "/subscriptions/\(scope.request)"
            #expect(try await stage.request("DELETE", path, as: .random()).status == 404)
            #expect(try await stage.request("DELETE", path, as: organisation).status == 202)
            #expect(stage.requests.ended.withLock { $0 } == [scope.request])
            try await stage.opened.store.write { db in try stage.parts.repository.end(db, scope.request, .ended) }
            #expect(try await stage.request("DELETE", path, as: organisation).status == 202)
            #expect(stage.requests.ended.withLock { $0.count } == 1)
        }
    }
}

@Suite("Webhooks: the doors")
struct EndpointStories {
    @Test("an endpoint is registered once per Idempotency-Key, shows its secret once, and gets nothing before it has passed the handshake")
    func registration() async throws {
        try await SubscriptionStage.run { stage in
            let organisation = OrganisationID.random()
            let body = #"{"url":"\#(await stage.hook.url)","description":"mine"}"#
            let first = try await stage.request("POST", "/endpoints", as: organisation, body, headers: ["Idempotency-Key": "k1"])
            let again = try await stage.request("POST", "/endpoints", as: organisation, body, headers: ["Idempotency-Key": "k1"])
            let (one, two): (EndpointItem, EndpointItem) = (try first.decoded(), try again.decoded())
            #expect(first.status == 201 && one.secret?.hasPrefix("whsec_") == true && one.state == "unverified")
            #expect(two.id == one.id && two.secret == one.secret && again.headers["idempotency-replayed"] == "true")
            let path = "/endpoints/\(one.id)"
            let shown: EndpointItem = try await stage.request("GET", path, as: organisation).decoded()
            #expect(shown.secret == nil && shown.description == "mine")
            let (scope, person) = try await stage.subscribe(organisation)
            try await stage.upload(scope, person, [60])
            stage.hook.set(echoes: false)
            #expect(try await stage.request("POST", path + "/verification", as: organisation).problem == "endpoint-not-verified")
            #expect(stage.hook.received.count == 1)
            try stage.hook.received[0].verify(secret: one.secret ?? "")
            stage.hook.set()
            let active: EndpointItem = try await stage.request("POST", path + "/verification", as: organisation).decoded()
            #expect(active.state == "active")
            try await eventually("the feed has it") {
                let item: SubscriptionItem? = try? await stage.request("GET", "/subscriptions/\(scope.request)", as: organisation).decoded()
                return item?.head == 1
            }
            try await stage.upload(scope, person, [70], ending: .now + .seconds(1))
            try await eventually("what comes next is pushed", isTrue: { !stage.hook.received("subscription.items").isEmpty })
        }
    }

    @Test("somebody else's endpoint is 404, a bad address names its field, an eleventh endpoint is refused, a removed one gets nothing")
    func limits() async throws {
        try await SubscriptionStage.run { stage in
            let organisation = OrganisationID.random()
            let endpoint = try await stage.addEndpoint(organisation)
            for (method, path) in [
                ("GET", ""), ("DELETE", ""), ("POST", "/verification"), ("POST", "/secret"), ("GET", "/dead-letters"),
                ("POST", "/dead-letters/\(MessageID.random())/resend"),
            ] {
                #expect(try await stage.request(method, "/endpoints/\(endpoint.id)\(path)", as: .random()).status == 404)
            }
            let bad = try await stage.request("POST", "/endpoints", as: organisation, #"{"url":"gopher://example.org/"}"#)
            let problem: Problem = try bad.decoded()
            #expect(bad.status == 422 && problem.errors?.first?.pointer == "/url")
            for _ in 0..<9 {
                let body = #"{"url":"\#(await stage.hook.url)"}"#
                #expect(try await stage.request("POST", "/endpoints", as: organisation, body).status == 201)
            }
            let eleventh = try await stage.request("POST", "/endpoints", as: organisation, #"{"url":"\#(await stage.hook.url)"}"#)
            #expect(eleventh.problem == "too-many-endpoints")
            #expect(try await stage.request("DELETE", "/endpoints/\(endpoint.id)", as: organisation).status == 204)
            #expect(try await stage.request("GET", "/endpoints/\(endpoint.id)", as: organisation).status == 404)
        }
    }

    @Test("verifying an endpoint again skips nothing of a subscription that began while it failed")
    func verifiedAgain() async throws {
        try await SubscriptionStage.run { stage in
            let organisation = OrganisationID.random()
            let endpoint = try await stage.addEndpoint(organisation)
            stage.hook.set(status: 503)
            let (first, somebody) = try await stage.subscribe(organisation)
            try await stage.upload(first, somebody, [60])
            try await eventually("a message waits", isTrue: { !stage.hook.received("subscription.items").isEmpty })
            let (second, another) = try await stage.subscribe(organisation)
            try await stage.upload(second, another, [70, 71, 72])
            try await eventually("the second has items") {
                let path = "/subscriptions/\(second.request)"
                let item: SubscriptionItem? = try? await stage.request("GET", path, as: organisation).decoded()
                return item?.head == 3
            }
            _ = try await stage.request("POST", "/endpoints/\(endpoint.id)/verification", as: organisation)
            stage.hook.set()
            try await eventually("all of both arrives") {
                let batches = stage.hook.received("subscription.items").flatMap { $0.message?.data.batches ?? [] }
                return Set(batches.filter { $0.subscription == second.request }.flatMap(\.items).map(\.number)) == [1, 2, 3]
                    && batches.contains { $0.subscription == first.request }
            }
        }
    }

    @Test("an organisation cannot make handshakes a flood against an address that it names")
    func handshakes() async throws {
        try await SubscriptionStage.run { stage in
            let organisation = OrganisationID.random()
            let endpoint = try await stage.addEndpoint(organisation)
            var refused: SubscriptionStage.Reply?
            for _ in 0..<100 where refused == nil {
                let reply = try await stage.request("POST", "/endpoints/\(endpoint.id)/verification", as: organisation)
                if reply.status != 200 { refused = reply }
            }
            #expect(refused?.status == 429 && refused?.headers["retry-after"] != nil)
            let stranger = OrganisationID.random()
            let other = try await stage.addEndpoint(stranger)
            let item: EndpointItem = try await stage.request("GET", "/endpoints/\(other.id)", as: stranger).decoded()
            #expect(item.state == "active", "others are not held up by it")
        }
    }

    @Test("after a rotation messages carry both signatures; a dead letter is listed, and sent again on demand")
    func rotationAndLetters() async throws {
        try await SubscriptionStage.run { stage in
            let organisation = OrganisationID.random()
            let endpoint = try await stage.addEndpoint(organisation)
            let fresh: EndpointSecretItem = try await stage.request("POST", "/endpoints/\(endpoint.id)/secret", as: organisation).decoded()
            let (scope, person) = try await stage.subscribe(organisation)
            try await stage.upload(scope, person, [60])
            try await eventually("a message arrives", isTrue: { !stage.hook.received("subscription.items").isEmpty })
            let post = try #require(stage.hook.received("subscription.items").first)
            try post.verify(secret: fresh.secret)
            try post.verify(secret: endpoint.secret ?? "")
            stage.hook.set(status: 410)
            try await stage.upload(scope, person, [70], ending: .now + .seconds(1))
            let path = "/endpoints/\(endpoint.id)"
            try await eventually("the endpoint is gone") {
                let item: EndpointItem? = try? await stage.request("GET", path, as: organisation).decoded()
                return item?.state == "gone" && item?.health.waiting == 1
            }
            // As if it had been tried for three days.
            try await stage.opened.store.write { db in try db.execute(sql: "UPDATE webhook_messages SET is_dead = 1") }
            let letters: Page<DeadLetterItem> = try await stage.request("GET", path + "/dead-letters", as: organisation).decoded()
            let letter = try #require(letters.items.first)
            #expect(letter.lastOutcome == "status 410" && letter.parts.first?.subscription == scope.request.description)
            let resend = path + "/dead-letters/\(letter.id)/resend"
            #expect(try await stage.request("POST", resend, as: organisation).problem == "endpoint-not-active")
            stage.hook.set()
            _ = try await stage.request("POST", path + "/verification", as: organisation)
            #expect(try await stage.request("POST", resend, as: organisation).status == 202)
            try await eventually("it comes under its old id", isTrue: { stage.hook.received.filter { $0.id == letter.id }.count == 2 })
            #expect(try await stage.request("POST", resend, as: organisation).status == 404)
        }
    }
}
