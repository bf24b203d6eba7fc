// How messages come through when the systems on the way fail: nothing is lost, and nothing goes out twice that was known to be taken.

import Contracts
import Foundation
import HTTPKit
import Outbound
import Sealing
import ServiceKit
import Storage
import TestKit
import Testing

@testable import Notifier

@Suite("Delivering messages")
struct DeliveryStories {
    private static let number = "+393331234567"

    private func kannels(_ stage: Stage, _ first: Int, _ second: Int? = nil) throws -> [String: String] {
        let password = try stage.secret("let-me-in", named: "kannel.password")
        var settings = [
            "TRACKME_NOTIFY_KANNEL_URL": "http://127.0.0.1:\(first)/cgi-bin/sendsms", "TRACKME_NOTIFY_KANNEL_PASSWORD": password,
        ]
        if let second {
            settings["TRACKME_NOTIFY_KANNEL2_URL"] = "http://127.0.0.1:\(second)/cgi-bin/sendsms"
            settings["TRACKME_NOTIFY_KANNEL2_PASSWORD"] = password
        }
        return settings
    }

    @Test("with the mail server down nothing is lost, and every mail arrives once when it is back, also through a restart")
    func mailServerDown() async throws {
        try await Stage.play { stage in
            let peer = MailPeer()
            peer.close()
            var notifier = try await stage.start(["TRACKME_NOTIFY_SMTP_URL": peer.url])
            let messages = (0..<30).map { passwordChanged(to: Recipient(person: nil, mail: "p\($0)@example.org"), [.mail]) }
            for message in messages.prefix(15) { try await stage.send(message) }
            await notifier.stop()
            notifier = try await stage.start(["TRACKME_NOTIFY_SMTP_URL": peer.url])
            for message in messages.suffix(15) { try await stage.send(message) }
            peer.reopen()
            try await eventually("all are sent") { try await stage.facts().count == 30 }
            #expect(try await stage.facts().allSatisfy { $0.state == .sent })
            #expect(Set(peer.mails.compactMap { $0.header("Message-ID") }) == Set(messages.map { "<\($0.message)@suite.example>" }))
            #expect(peer.mails.count == 30)
        }
    }

    @Test("a server that says \"later\" is asked again until it takes the mail")
    func postponed() async throws {
        try await Stage.play { stage in
            let peer = MailPeer(["RCPT": .reply("450 4.2.0 greylisted")])
            try await stage.start(["TRACKME_NOTIFY_SMTP_URL": peer.url])
            let message = passwordChanged(to: Recipient(person: nil, mail: "anna@example.org"), [.mail])
            try await stage.send(message)
            try await eventually("it was tried twice") { peer.verbs.count { $0 == "RCPT" } >= 2 }
            peer.become([:])
            try await eventually("it is sent") { try await stage.states(message) == [.mail: .sent] }
            #expect(peer.mails.count == 1)
        }
    }

    @Test("an unknown outcome is tried again as the same mail, so that a repetition can be told")
    func unknown() async throws {
        try await Stage.play { stage in
            let peer = MailPeer(["END": .hangUp])
            try await stage.start(["TRACKME_NOTIFY_SMTP_URL": peer.url])
            let message = passwordChanged(to: Recipient(person: nil, mail: "anna@example.org"), [.mail])
            try await stage.send(message)
            try await eventually("the data came") { peer.verbs.contains("DATA") }
            #expect(try await stage.states(message) == [.mail: .queued])
            peer.become([:])
            let mail = try await eventually("the mail") { peer.mails.first }
            #expect(mail.header("Message-ID") == "<\(message.message)@suite.example>")
        }
    }

    @Test("a killed notifier treats the attempt that was under way as unknown, not as never made")
    func interrupted() async throws {
        try await Stage.play { stage in
            let peer = MailPeer(["END": .silence])
            var notifier = try await stage.start(["TRACKME_NOTIFY_SMTP_URL": peer.url])
            let message = passwordChanged(to: Recipient(person: nil, mail: "anna@example.org"), [.mail])
            try await stage.send(message)
            try await eventually("the attempt is under way") { peer.verbs.contains("DATA") }
            // What a kill leaves behind: begun, without an outcome.
            let id = DeliveryID(message.message, .mail)
            let begun = try await notifier.parts.store.store.read { try DeliveryStore().find($0, id) }
            #expect(begun?.begunAt != nil && begun?.attempts == 1)
            peer.close()
            await notifier.stop()
            peer.become([:])
            peer.reopen()
            notifier = try await stage.start(["TRACKME_NOTIFY_SMTP_URL": peer.url])
            try await eventually("it is sent") { try await stage.states(message) == [.mail: .sent] }
            let after = try await notifier.parts.store.store.read { try DeliveryStore().find($0, id) }
            #expect((after?.attempts ?? 0) >= 2)
        }
    }

    @Test("SOS-22: Kannel is told of UCS-2 where a name has no form in the alphabet, and not where it has one in Latin letters")
    func scripts() async throws {
        try await Stage.play { stage in
            let peer = await stage.provider()
            try await stage.start(try kannels(stage, peer.port))
            for (name, said, coding) in [("田中太郎", "田中太郎", "2"), ("Иван", "Ivan", "0")] {
                let seen = peer.posts.count
                let time = "2026-01-10T00:31:00.000Z"
                try await stage.send(
                    SendMessage(
                        message: .random(), recipient: Recipient(person: nil, phone: Self.number), channels: [.sms],
                        template: .sosContactFalseAlarm, language: .english, values: ["name": name, "time": time]))
                let post = try await eventually("the SMS") { peer.posts.dropFirst(seen).first }
                #expect(post.body == "TrackMe: false alarm. \(said) has called off the emergency of 10 January 2026, 00:31 UTC.")
                #expect(post.headers["X-Kannel-Coding"] == coding)
            }
        }
    }

    @Test("an SMS goes to Kannel with its number, text and report address, and a delivery report makes it delivered")
    func kannel() async throws {
        try await Stage.play { stage in
            let peer = await stage.provider()
            let notifier = try await stage.start(try kannels(stage, peer.port))
            let message = passwordChanged(to: Recipient(person: nil, phone: Self.number), [.sms])
            try await stage.send(message)
            let post = try await eventually("the SMS") { peer.posts.first }
            #expect(post.headers["X-Kannel-To"] == Self.number)
            #expect(post.headers["X-Kannel-Username"] == "trackme" && post.headers["X-Kannel-Password"] == "let-me-in")
            #expect(post.headers["X-Kannel-Coding"] == "0")
            #expect(post.body.hasPrefix("TrackMe: your password was changed on 10 January 2026"))
            try await eventually("it is sent") { try await stage.states(message) == [.sms: .sent] }
            #expect(try await stage.facts().isEmpty, "a report may still come")

            let report = try #require(post.headers["X-Kannel-DLR-Url"])
            let path = try #require(report.components(separatedBy: "/notify/").last).replacing("%d", with: "1")
            let forged = path.replacing(/token=[0-9a-f]+/, with: "token=" + String(repeating: "0", count: 32))
            #expect(try await stage.call(notifier, "/notify/" + forged, as: nil).status == 404)
            #expect(try await stage.call(notifier, "/notify/" + path.replacing("status=1", with: "status=99"), as: nil).status == 422)
            #expect(try await stage.states(message) == [.sms: .sent])
            for _ in 0..<2 { #expect(try await stage.call(notifier, "/notify/" + path, as: nil).status == 202) }
            #expect(try await stage.states(message) == [.sms: .delivered])
            #expect(try await stage.facts() == [MessageSettled(message: message.message, channel: .sms, state: .delivered, reason: nil)])
        }
    }

    @Test("NFR-20: with the mail server down an SMS goes out meanwhile, and the mail once it is back")
    func oneIsDown() async throws {
        try await Stage.play { stage in
            let (mail, provider) = (MailPeer(), await stage.provider())
            mail.close()
            let settings = try kannels(stage, provider.port).merging(["TRACKME_NOTIFY_SMTP_URL": mail.url]) { $1 }
            try await stage.start(settings)
            let message = passwordChanged(to: Recipient(person: nil, mail: "anna@example.org", phone: Self.number), [.mail, .sms])
            try await stage.send(message)
            try await eventually("the SMS is sent") { try await stage.states(message) == [.mail: .queued, .sms: .sent] }
            #expect(provider.posts.count == 1 && mail.mails.isEmpty)
            mail.reopen()
            try await eventually("the mail is sent") { try await stage.states(message) == [.mail: .sent, .sms: .sent] }
            #expect(provider.posts.count == 1 && mail.mails.count == 1)
        }
    }

    @Test("NFR-20: when the first provider is down the second gets the SMS at once, and it is sent once")
    func failOver() async throws {
        try await Stage.play { stage in
            let down = await stage.provider()
            let second = await stage.provider()
            await down.close()
            try await stage.start(try kannels(stage, down.port, second.port))
            let message = passwordChanged(to: Recipient(person: nil, phone: Self.number), [.sms])
            try await stage.send(message)
            try await eventually("it is sent") { try await stage.states(message) == [.sms: .sent] }
            #expect(second.posts.count == 1 && down.posts.isEmpty)
        }
    }

    @Test("when a network rejects an SMS the other provider is asked, and when both refuse it is given up")
    func rejected() async throws {
        try await Stage.play { stage in
            let first = await stage.provider()
            let second = await stage.provider()
            second.answer(400)
            let notifier = try await stage.start(try kannels(stage, first.port, second.port))
            let message = passwordChanged(to: Recipient(person: nil, phone: Self.number), [.sms])
            try await stage.send(message)
            let report = try await eventually("the first SMS") { first.posts.first?.headers["X-Kannel-DLR-Url"] }
            try await eventually("it is sent") { try await stage.states(message) == [.sms: .sent] }
            let path = "/notify/" + (report.components(separatedBy: "/notify/").last ?? "").replacing("%d", with: "16")
            #expect(try await stage.call(notifier, path, as: nil).status == 202)
            try await eventually("it is given up") { try await stage.states(message) == [.sms: .failed] }
            #expect(first.posts.count == 1 && second.posts.count == 1)
            #expect(try await stage.facts().first?.reason == "number-refused")
        }
    }

    @Test("a call goes out as a signed request, and a signed receipt makes it delivered; an unsigned one is refused")
    func gateway() async throws {
        try await Stage.play { stage in
            let peer = await stage.provider()
            let secret = WebhookSecret.random()
            let notifier = try await stage.start([
                "TRACKME_NOTIFY_GATEWAY_URL": "http://127.0.0.1:\(peer.port)/gateway",
                "TRACKME_NOTIFY_GATEWAY_SECRET": try stage.secret(secret.text, named: "gateway-test.secret"),
            ])
            let message = passwordChanged(to: Recipient(person: nil, phone: Self.number), [.call])
            try await stage.send(message)
            let post = try await eventually("the request") { peer.posts.first }
            let body = try JSONDecoder().decode(GatewayBody.self, from: Data(post.body.utf8))
            #expect(body.channel == "call" && body.to == Self.number && body.id == "\(message.message)")
            let signature = WebhookSignature(
                id: post.headers[WebhookSignature.idHeader] ?? "", timestamp: post.headers[WebhookSignature.timestampHeader] ?? "",
                signatures: post.headers[WebhookSignature.signatureHeader] ?? "")
            try signature.verify(body: Array(post.body.utf8), secrets: [secret], now: .now)
            try await eventually("it is sent") { try await stage.states(message) == [.call: .sent] }

            let receipt = "{\"message\":\"\(message.message)\",\"channel\":\"call\",\"receipt\":\"delivered\"}"
            #expect(try await stage.call(notifier, "/notify/v1/receipts", by: "POST", as: nil, receipt).status == 401)
            #expect(try await stage.states(message) == [.call: .sent])
            try await postSigned(receipt, secret, to: notifier, stage, expecting: 204)
            try await postSigned("{}", secret, to: notifier, stage, expecting: 422)
            #expect(try await stage.states(message) == [.call: .delivered])
        }
    }

    private func postSigned(
        _ body: String, _ secret: WebhookSecret, to notifier: Stage.Notifier, _ stage: Stage, expecting status: Int
    ) async throws {
        let signature = try WebhookSignature.sign(id: "rcpt-1", at: .now, body: Array(body.utf8), secrets: [secret])
        let headers = [
            (WebhookSignature.idHeader, signature.id), (WebhookSignature.timestampHeader, signature.timestamp),
            (WebhookSignature.signatureHeader, signature.signatures),
        ]
        #expect(try await stage.post(notifier, "/notify/v1/receipts", body, headers: headers).status == status)
    }

    @Test("one address gets no more than its share in an hour; what is more waits and is not lost")
    func flood() async throws {
        try await Stage.play { stage in
            let peer = MailPeer()
            try await stage.start(["TRACKME_NOTIFY_SMTP_URL": peer.url, "TRACKME_NOTIFY_PER_RECIPIENT_HOUR": "3"])
            let flood = (0..<6).map { _ in passwordChanged(to: Recipient(person: nil, mail: "anna@example.org"), [.mail]) }
            for message in flood { try await stage.send(message) }
            let other = passwordChanged(to: Recipient(person: nil, mail: "berta@example.org"), [.mail])
            try await stage.send(other)
            try await eventually("others are not held up") { try await stage.states(other) == [.mail: .sent] }
            try await eventually("three are sent") { peer.mails.count == 4 }
            var states: [DeliveryState] = []
            for message in flood { try await states.append(stage.states(message)[.mail] ?? .failed) }
            #expect(states.count { $0 == .sent } == 3 && states.count { $0 == .queued } == 3)
        }
    }
}
