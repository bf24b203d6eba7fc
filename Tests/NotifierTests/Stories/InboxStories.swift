// What people see and choose: the inbox, its events, channels and push endpoints.

import Contracts
import Foundation
import HTTPKit
import Outbound
import ServiceKit
import TestKit
import Testing

@testable import Notifier

extension Stage {
    func post(
        _ notifier: Notifier, _ path: String, _ body: String, headers: [(String, String)]
    ) async throws -> OutboundResponse {
        var request = OutboundRequest.post("http://127.0.0.1:\(notifier.port)\(path)", Array(body.utf8), contentType: "application/json")
        request.headers += headers.map { (name: $0.0, value: $0.1) }
        return try await HTTPSender.anywhere().send(request)
    }

    func read<Value: Decodable>(_ response: OutboundResponse, as _: Value.Type = Value.self) throws -> Value {
        try JSONDecoder().decode(Value.self, from: Data(response.body))
    }
}

@Suite("The inbox and the channels")
struct InboxStories {
    private func announcement(_ person: PersonID, _ title: String, _ channels: Set<Channel> = [.inbox]) -> SendMessage {
        SendMessage(
            message: .random(), recipient: Recipient(person: person, mail: "anna@example.org"), channels: channels,
            template: .announcement, language: .italian, values: ["title": title, "text": "Testo di \(title)"])
    }

    @Test("SHR-04: a message is in the person's list at once, newest first, and in nobody else's")
    func list() async throws {
        try await Stage.playStarted { stage, notifier in
            let (anna, berta) = (PersonID.random(), PersonID.random())
            let token = try stage.token(anna)
            for number in 1...3 { try await stage.send(announcement(anna, "Numero \(number)")) }
            try await stage.send(announcement(berta, "Altro"))
            let page: Page<InboxMessage> = try stage.read(try await stage.call(notifier, "/notify/v1/inbox?limit=2", as: token))
            #expect(page.items.map(\.title) == ["Numero 3", "Numero 2"])
            #expect(page.items.first?.text == "Testo di Numero 3" && page.items.first?.kind == "announcement")
            let next = try #require(page.next)
            let rest: Page<InboxMessage> = try stage.read(
                try await stage.call(notifier, "/notify/v1/inbox?limit=2&after=\(next)", as: token))
            #expect(rest.items.map(\.title) == ["Numero 1"] && rest.next == nil)

            let first = try #require(page.items.first)
            let berta1 = try stage.token(berta)
            #expect(try await stage.call(notifier, "/notify/v1/inbox/\(first.message)/read", by: "POST", as: berta1).status == 404)
            #expect(try await stage.call(notifier, "/notify/v1/inbox/\(first.message)/read", by: "POST", as: token).status == 204)
            let left: UnreadCount = try stage.read(try await stage.call(notifier, "/notify/v1/inbox/unread", as: token))
            #expect(left.unread == 2)
            #expect(try await stage.call(notifier, "/notify/v1/inbox/read", by: "POST", as: token).status == 204)
            let none: UnreadCount = try stage.read(try await stage.call(notifier, "/notify/v1/inbox/unread", as: token))
            #expect(none.unread == 0)
        }
    }

    @Test(
        "ACC-14: only people have an inbox, and only their own",
        arguments: ["/notify/v1/inbox", "/notify/v1/channels", "/notify/v1/push-endpoints"])
    func access(path: String) async throws {
        try await Stage.playStarted { (stage, notifier) async throws in
            #expect(try await stage.call(notifier, path, as: nil).status == 401)
            #expect(try await stage.call(notifier, path, as: "nonsense").status == 401)
            #expect(try await stage.call(notifier, path, as: stage.token(.random(), kind: .operator)).status == 403)
            #expect(try await stage.call(notifier, path, as: stage.token(.random())).status == 200)
        }
    }

    @Test("SHR-04: an open app hears of messages as they come, and after a break of everything that it missed, once")
    func events() async throws {
        try await Stage.playStarted { stage, notifier in
            let person = PersonID.random()
            let token = try stage.token(person)
            try await stage.send(announcement(person, "Prima"))
            let client = HarnessClient(port: notifier.port)
            let stream = EventListener(try client.request("GET", "/notify/v1/inbox/events", token: token))
            try await eventually("the count") { stream.events.contains { $0.data == "{\"unread\":1}" } }
            #expect(!stream.events.contains { $0.data.contains("Prima") }, "a newcomer hears only what comes from now on")
            try await stage.send(announcement(person, "Seconda"))
            try await eventually("the message") {
                stream.events.contains { $0.name == "message" && $0.id == "2" && $0.data.contains("Seconda") }
            }
            stream.stop()
            try await stage.send(announcement(person, "Terza"))
            let again = EventListener(
                try client.request("GET", "/notify/v1/inbox/events", token: token, headers: ["Last-Event-ID": "1"]))
            @Sendable func missed() -> [EventListener.Event] { again.events.filter { $0.name == "message" } }
            try await eventually("what was missed") { missed().contains { $0.data.contains("Terza") } }
            #expect(missed().count == 2 && missed()[0].data.contains("Seconda"))
            again.stop()
        }
    }

    @Test("a person registers push endpoints, sees them and removes them; only an https address of the web is taken")
    func endpoints() async throws {
        try await Stage.playStarted { stage, notifier in
            let token = try stage.token(.random())
            func register(_ address: String) async throws -> OutboundResponse {
                try await stage.call(notifier, "/notify/v1/push-endpoints", by: "POST", as: token, "{\"address\":\"\(address)\"}")
            }
            let first = try await register("https://ntfy.example/anna")
            #expect(first.status == 201)
            let item: EndpointItem = try stage.read(first)
            #expect(try await register("https://ntfy.example/anna").status == 200)
            for address in ["http://ntfy.example/a", "https://u:p@ntfy.example/a", "https://", "file:///etc/passwd", "ftp://a/b", ""] {
                #expect(try await register(address).status == 422, "\(address)")
            }
            for number in 2...10 { #expect(try await register("https://ntfy.example/\(number)").status == 201) }
            #expect(try await register("https://ntfy.example/11").status == 409)
            let stranger = try stage.token(.random())
            #expect(try await stage.call(notifier, "/notify/v1/push-endpoints/\(item.endpoint)", by: "DELETE", as: stranger).status == 404)
            #expect(try await stage.call(notifier, "/notify/v1/push-endpoints/\(item.endpoint)", by: "DELETE", as: token).status == 204)
            let page: Page<EndpointItem> = try stage.read(try await stage.call(notifier, "/notify/v1/push-endpoints", as: token))
            #expect(page.items.count == 9 && !page.items.contains { $0.endpoint == item.endpoint })
        }
    }

    @Test("X4: a stolen token let a stranger's app get the pushes, with which alarms are answered; it asks for a fresh proof, and is told")
    func strangersEndpoint() async throws {
        try await Stage.play { stage in
            let peer = await ProviderPeer().open()
            let notifier = try await stage.start()
            let person = PersonID.random()
            let own = "http://127.0.0.1:\(peer.port)/topic"
            _ = try await notifier.parts.people.register(own, of: person, most: 10, at: .now)
            try await stage.send(announcement(person, "Prima"))
            let (fresh, stolen) = (try stage.token(person), try stage.token(person, proved: Timestamp.now - .seconds(600)))
            _ = try await stage.call(
                notifier, "/notify/v1/channels", by: "PUT", as: stolen, "{\"mail\":false,\"sms\":false,\"call\":false,\"push\":false}")
            func register(as token: String) async throws -> OutboundResponse {
                try await stage.call(
                    notifier, "/notify/v1/push-endpoints", by: "POST", as: token, "{\"address\":\"https://thief.example/topic-of-mine\"}")
            }
            let refused = try await register(as: stolen)
            #expect(refused.status == 401)
            #expect(String(decoding: refused.body, as: UTF8.self).contains("insufficient-user-authentication"))
            #expect(try await notifier.parts.people.endpoints(of: person).map(\.address) == [own])

            #expect(try await register(as: fresh).status == 201)
            #expect(try await register(as: fresh).status == 200)
            let page: Page<InboxMessage> = try stage.read(try await stage.call(notifier, "/notify/v1/inbox", as: fresh))
            #expect(page.items.map(\.kind) == ["push-endpoint-added", "announcement"], "a repetition is not told once more")
            let told = try #require(page.items.first)
            #expect(told.language == "it" && told.text.contains("thief.example") && !told.text.contains("topic-of-mine"))
            try await eventually("the person's own app hears of it, whatever was switched off") {
                peer.posts.contains { $0.headers["Title"] == HeaderText("Un'altra app riceve i tuoi messaggi").encoded(fold: " ") }
            }
            // The stranger's address has no server: a delivery to it would still wait.
            try await eventually("the new one was not tried") {
                try await stage.facts().contains { "\($0.message)" == told.message && $0.channel == .push && $0.state == .sent }
            }
            await notifier.stop()
            await peer.close()
        }
    }

    @Test("UI-09: a push message reaches every endpoint and tells strangers nothing; an endpoint that is gone is forgotten")
    func push() async throws {
        try await Stage.play { stage in
            let peer = await stage.provider()
            let notifier = try await stage.start()
            let person = PersonID.random()
            // Registered past the door, which takes https alone.
            let people = notifier.parts.people
            let address = "http://127.0.0.1:\(peer.port)/topic"
            _ = try await people.register(address, of: person, most: 10, at: .now)
            _ = try await people.register("http://127.0.0.1:\(peer.port)/nowhere", of: person, most: 10, at: .now)
            let message = announcement(person, "Segreto", [.push, .inbox])
            try await stage.send(message)
            try await eventually("it is sent") { try await stage.states(message)[.push] == .sent }
            let post = try await eventually("the push") { peer.posts.first { $0.path == "/topic" } }
            #expect(post.body == "Apri TrackMe per leggerlo.")
            #expect(post.headers["Title"] == HeaderText("Novità da TrackMe").encoded(fold: " "))
            #expect(!"\(post)".contains("Segreto"))
            try await eventually("the dead one is forgotten") { try await people.endpoints(of: person).map(\.address) == [address] }
        }
    }

    @Test("a person's push endpoint cannot make the service call inside its own network")
    func inside() async throws {
        try await Stage.play { stage in
            let peer = await stage.provider()
            let notifier = try await stage.start(["TRACKME_NOTIFY_PUSH_ANYWHERE": "false"])
            let person = PersonID.random()
            _ = try await notifier.parts.people.register("http://127.0.0.1:\(peer.port)/topic", of: person, most: 10, at: .now)
            let message = announcement(person, "x", [.push])
            try await stage.send(message)
            try await eventually("it is given up") { try await stage.states(message)[.push] == .failed }
            #expect(try await stage.facts().first?.reason == "endpoint-refused")
            #expect(peer.posts.isEmpty)
        }
    }

    @Test("a person chooses how news come; messages that protect the account come all the same")
    func choices() async throws {
        try await Stage.play { stage in
            let peer = MailPeer()
            let notifier = try await stage.start(["TRACKME_NOTIFY_SMTP_URL": peer.url])
            let person = PersonID.random()
            let token = try stage.token(person)
            let before: ChannelList = try stage.read(try await stage.call(notifier, "/notify/v1/channels", as: token))
            #expect(before.channels.first { $0.channel == "mail" }.map { $0.available && $0.chosen } == true)
            #expect(before.channels.first { $0.channel == "sms" }?.available == false)
            let broken = try await stage.call(
                notifier, "/notify/v1/channels", by: "PUT", as: token, "{\"mail\":\"no\",\"sms\":true,\"call\":true}")
            #expect(broken.status == 422)
            #expect(String(decoding: broken.body, as: UTF8.self).contains("/push"))
            let off = try await stage.call(
                notifier, "/notify/v1/channels", by: "PUT", as: token, "{\"mail\":false,\"sms\":true,\"call\":true,\"push\":true}")
            let after: ChannelList = try stage.read(off)
            #expect(after.channels.first { $0.channel == "mail" }?.chosen == false)
            let news = announcement(person, "Novità", [.mail, .inbox])
            try await stage.send(news)
            #expect(try await stage.states(news) == [.mail: .failed, .inbox: .delivered])
            #expect(try await stage.facts().first { $0.channel == .mail }?.reason == "switched-off")
            let security = passwordChanged(to: Recipient(person: person, mail: "anna@example.org"), [.mail])
            try await stage.send(security)
            try await eventually("it is sent") { try await stage.states(security) == [.mail: .sent] }
        }
    }
}
