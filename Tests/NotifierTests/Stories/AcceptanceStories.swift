// What the notifier takes upon itself, and what it says about it.

import Contracts
import Foundation
import GRDB
import Outbound
import ServiceKit
import Storage
import TestKit
import Testing

@testable import Notifier

/// A message about nothing in particular.
func passwordChanged(
    to recipient: Recipient, _ channels: Set<Channel>, name: String = "Anna", notAfter: Timestamp? = nil
) -> SendMessage {
    SendMessage(
        message: .random(), recipient: recipient, channels: channels, template: .passwordChanged, language: .english,
        values: ["name": name, "time": "2026-01-10T00:31:00.000Z"], notAfter: notAfter)
}

@Suite("Taking messages")
struct AcceptanceStories {
    @Test("NFR-24: a mail leaves at once, and its sender hears that it was sent")
    func mail() async throws {
        try await Stage.play { stage in
            let peer = MailPeer()
            try await stage.start(["TRACKME_NOTIFY_SMTP_URL": peer.url])
            let message = passwordChanged(to: Recipient(person: .random(), mail: "anna@example.org"), [.mail])
            try await stage.send(message)
            let mail = try await eventually("the mail") { peer.mails.first }
            #expect(mail.to == ["RCPT TO:<anna@example.org>"])
            #expect(mail.header("Subject") == "Your password was changed")
            #expect(mail.header("Message-ID") == "<\(message.message)@suite.example>")
            #expect(mail.text.hasPrefix("Hello Anna,"))
            try await eventually("it is sent") { try await stage.states(message) == [.mail: .sent] }
            #expect(try await stage.facts() == [MessageSettled(message: message.message, channel: .mail, state: .sent, reason: nil)])
        }
    }

    @Test("the same message again is accepted in silence and sent once; another one of its id is a conflict")
    func idempotent() async throws {
        try await Stage.play { stage in
            let peer = MailPeer()
            try await stage.start(["TRACKME_NOTIFY_SMTP_URL": peer.url])
            let message = passwordChanged(to: Recipient(person: nil, mail: "anna@example.org"), [.mail])
            for _ in 0..<3 { try await stage.send(message) }
            try await eventually("it is sent") { try await stage.states(message) == [.mail: .sent] }
            try await stage.send(message)
            var other = message
            other.values["name"] = "Berta"
            do {
                try await stage.send(other)
                Issue.record("another message was taken under the same id")
            } catch let failure as Failure {
                #expect(failure.code == .conflict && !failure.reason.contains("Berta"))
            }
            let last = passwordChanged(to: Recipient(person: nil, mail: "zoe@example.org"), [.mail])
            try await stage.send(last)
            try await eventually("the last is sent") { try await stage.states(last) == [.mail: .sent] }
            #expect(peer.mails.count == 2)
        }
    }

    @Test("what cannot be meant is refused, and only its sender may ask after a message")
    func refused() async throws {
        try await Stage.play { stage in
            try await stage.start()
            let message = passwordChanged(to: Recipient(person: nil, mail: "a@example.org"), [.mail])
            await #expect(throws: Failure.self) { try await stage.states(message) }
            var gap = message
            gap.values["time"] = nil
            do {
                try await stage.send(gap)
                Issue.record("a gap was taken")
            } catch let failure as Failure {
                #expect(failure.code == .invalid && failure.reason.contains("time"))
            }
            await #expect(throws: Failure.self) { try await stage.states(message) }
        }
    }

    @Test("a recipient who cannot be reached that way is reported as failed, with the reason, on that channel alone")
    func unreachable() async throws {
        try await Stage.play { stage in
            let peer = MailPeer(["RCPT": .reply("550 5.1.1 nobody")])
            try await stage.start(["TRACKME_NOTIFY_SMTP_URL": peer.url])
            let message = passwordChanged(to: Recipient(person: .random(), mail: "gone@example.org"), [.mail, .sms, .push, .inbox])
            try await stage.send(message)
            try await eventually("all is settled") { try await stage.facts().count == 4 }
            let facts = Dictionary(uniqueKeysWithValues: try await stage.facts().map { ($0.channel, $0) })
            #expect(facts[.mail]?.state == .failed && facts[.mail]?.reason == "address-refused")
            #expect(facts[.sms]?.reason == "no-channel" && facts[.push]?.reason == "no-channel")
            #expect(facts[.inbox]?.state == .delivered)
        }
    }

    @Test("with nothing configured messages are taken and wait, readiness says so, and they go out once a server is there")
    func unconfigured() async throws {
        try await Stage.playStarted { stage, idle in
            #expect(try await stage.call(idle, "/health/ready", as: nil).status == 200)
            let message = passwordChanged(to: Recipient(person: .random(), mail: "anna@example.org"), [.mail])
            try await stage.send(message)
            #expect(try await stage.states(message) == [.mail: .queued])
            try await eventually("it says that mail waits") {
                let answer = try await stage.call(idle, "/health/ready", as: nil)
                return answer.status == 200 && String(decoding: answer.body, as: UTF8.self).contains("no provider for mail is configured")
            }
            await idle.stop()
            let peer = MailPeer()
            try await stage.start(["TRACKME_NOTIFY_SMTP_URL": peer.url])
            try await eventually("the mail") { peer.mails.count == 1 }
        }
    }

    @Test("a message whose time is over is given up and reported")
    func expired() async throws {
        try await Stage.play { stage in
            let peer = MailPeer()
            peer.close()
            try await stage.start(["TRACKME_NOTIFY_SMTP_URL": peer.url])
            let message = passwordChanged(
                to: Recipient(person: nil, mail: "anna@example.org"), [.mail], notAfter: .now + .milliseconds(300))
            try await stage.send(message)
            try await eventually("it is given up") {
                try await stage.facts() == [MessageSettled(message: message.message, channel: .mail, state: .failed, reason: "expired")]
            }
        }
    }

    @Test("nothing personal is readable in any file, before and after a message was sent")
    func sealed() async throws {
        try await Stage.play { stage in
            let peer = MailPeer()
            let notifier = try await stage.start(["TRACKME_NOTIFY_SMTP_URL": peer.url])
            let recipient = Recipient(person: .random(), mail: "canary@example.org", phone: "+393330004711")
            let sent = passwordChanged(to: recipient, [.mail, .inbox], name: "Canarina")
            let waiting = passwordChanged(to: recipient, [.sms], name: "Canarina")
            let nobodys = passwordChanged(to: Recipient(person: nil, phone: "+393330004711"), [.sms], name: "Canarina")
            for message in [sent, waiting, nobodys] { try await stage.send(message) }
            try await eventually("it is sent") { try await stage.states(sent)[.mail] == .sent }
            #expect(peer.mails.first?.text.contains("Canarina") == true)
            try expectUnreadable(stage.folder)
            await notifier.stop()
            try expectUnreadable(stage.folder)
        }
    }

    private func expectUnreadable(_ folder: URL) throws {
        let files = try #require(FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil))
        for case let file as URL in files {
            guard let bytes = try? Data(contentsOf: file) else { continue }
            for word in ["anarina", "canary@example", "3330004711", "Y2FuYXJ5QGV4YW1wbGU"] {
                #expect(bytes.range(of: Data(word.utf8)) == nil, "\(word) in \(file.lastPathComponent)")
            }
        }
    }

    @Test("S8: an erasure deleted a person's whole inbox in one transaction, while messages of rescue waited: 500 rows at a time")
    func forgottenInSlices() async throws {
        try await Stage.playStarted { stage, notifier in
            let (person, other) = (PersonID.random(), PersonID.random())
            let database = notifier.parts.opened.store
            try await database.write { db in
                for number in 1...1200 {
                    for owner in [person, other] {
                        try db.execute(
                            sql: "INSERT INTO inbox (person, number, message, sealed, at) VALUES (?, ?, ?, x'00', ?)",
                            arguments: [owner, number, MessageID.random(), Timestamp.now])
                    }
                }
            }
            var steps: [Int] = []
            repeat {
                steps.append(try await database.write { [store = notifier.parts.store] db in try store.forget(db, person) })
            } while steps.last != 0
            #expect(steps == [500, 500, 200, 0])
            #expect(try await database.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM inbox") } == 1200)
        }
    }

    @Test("CON-02: a person's messages are gone with the person, and nothing more is taken for them")
    func forgotten() async throws {
        try await Stage.playStarted { stage, notifier in
            let (person, other) = (PersonID.random(), PersonID.random())
            let message = passwordChanged(to: Recipient(person: person, mail: "a@example.org"), [.mail, .inbox])
            let others = passwordChanged(to: Recipient(person: other, mail: "b@example.org"), [.mail, .inbox])
            for message in [message, others] { try await stage.send(message) }
            let store = notifier.parts.store
            // A copy of the keys that is under way keeps the log from being emptied: then whoever destroys it asks again.
            try await eventually("the person's key is destroyed") {
                do {
                    try await notifier.parts.opened.keys.destroyKey(of: person)
                    return true
                } catch StoreError.busy {
                    return false
                }
            }
            #expect(try await notifier.parts.opened.store.write { try store.forget($0, person) } == 2)
            await #expect(throws: Failure.self) { try await stage.states(message) }
            #expect(try await stage.states(others)[.inbox] == .delivered)
            #expect(try await notifier.parts.people.inboxPage(of: person, before: .max, limit: 10).isEmpty)
            do {
                try await stage.send(passwordChanged(to: Recipient(person: person), [.inbox]))
                Issue.record("something was stored about an erased person")
            } catch let failure as Failure {
                #expect(failure.code == .conflict)
            }
        }
    }
}

@Suite("Urgent messages")
struct UrgencyStories {
    private func alert(_ phone: String) -> SendMessage {
        SendMessage(
            message: .random(), recipient: Recipient(person: nil, phone: phone), channels: [.sms, .call], template: .sosContactAlert,
            language: .english,
            values: [
                "name": "Anna", "time": "2026-01-10T00:31:00.000Z", "place": "45.46420,9.19000", "link": "https://suite.example/sos/c/x",
            ])
    }

    @Test("SOS-22: an alarm goes before everything that waits, takes no place from it, and no limit of messages an hour holds it back")
    func first() async throws {
        try await Stage.playStarted { stage, notifier in
            let store = notifier.parts.store
            let phone = "+39333123456"
            for _ in 0..<5 { try await stage.send(passwordChanged(to: Recipient(person: nil, phone: phone), [.sms])) }
            var alerts: [SendMessage] = []
            for _ in 0..<3 {
                alerts.append(alert(phone))
                try await stage.send(alerts[alerts.count - 1])
            }
            let now = Timestamp.now
            #expect(try await store.nextDue(on: .sms, urgentOnly: true) != nil)
            let claims = try await store.claim(.sms, order: ["gateway"], limit: 4, others: 4, perHour: 1, at: now)
            #expect(Set(claims.prefix(3).map(\.id.message)) == Set(alerts.map(\.message)))
            #expect(claims.map(\.isUrgent) == [true, true, true, false])
            #expect(try await store.claim(.sms, order: ["gateway"], limit: 4, others: 0, perHour: 9, at: now).isEmpty)
            #expect(try await store.nextDue(on: .sms, urgentOnly: true) == nil)
            let others = try await store.claim(.sms, order: ["gateway"], limit: 9, others: 9, perHour: 3, at: now)
            #expect(others.count == 2, "alarms are not counted to the limit of the others")
        }
    }

    @Test("SOS-22: after the clock went back an alarm that had just been taken waited until it had caught up, and so did other messages")
    func clockWentBack() async throws {
        try await Stage.playStarted { stage, notifier in
            let store = notifier.parts.store
            let phone = "+39333123456"
            func claim(at now: Timestamp) async throws -> [MessageID] {
                try await store.claim(.sms, order: ["gateway"], limit: 9, others: 9, perHour: 1, at: now).map(\.id.message)
            }
            let earlier = passwordChanged(to: Recipient(person: nil, phone: phone), [.sms])
            try await stage.send(earlier)
            #expect(try await claim(at: .now) == [earlier.message])
            let (alarm, later) = (alert(phone), passwordChanged(to: Recipient(person: nil, phone: phone), [.sms]))
            for message in [alarm, later] { try await stage.send(message) }
            let pace = Pace(backoff: Backoff(.seconds(2), upTo: .seconds(120)), unknown: .seconds(30), receipt: .seconds(86_400))
            let minute = Timestamp.now - .seconds(60)
            try await store.hasten(pace, at: minute)
            #expect(try await claim(at: minute) == [alarm.message])
            let back = Timestamp.now - .seconds(3 * 3600)
            #expect(try await claim(at: back).isEmpty)
            try await store.hasten(pace, at: back)
            #expect(try await claim(at: back) == [later.message], "what lies ahead is not counted to the hour's limit")
        }
    }

    @Test(
        "SOS-22: the gateway gets the text with its link and the call with words that can be read aloud; a push of a prompt leads to its page"
    )
    func words() async throws {
        try await Stage.play { stage in
            let gateway = await stage.provider()
            let notifier = try await stage.start([
                "TRACKME_NOTIFY_GATEWAY_URL": "http://127.0.0.1:\(gateway.port)/gateway", "TRACKME_NOTIFY_SMS_ORDER": "gateway",
            ])
            try await stage.send(alert("+39333123456"))
            try await eventually("text and call") { gateway.posts.count == 2 }
            let bodies = try gateway.posts.map { try JSONDecoder().decode(GatewayBody.self, from: Data($0.body.utf8)) }
            #expect(bodies.first { $0.channel == "sms" }?.text.contains("https://suite.example/sos/c/x") == true)
            #expect(bodies.first { $0.channel == "call" }?.text.hasPrefix("Emergency.") == true)
            #expect(bodies.first { $0.channel == "call" }?.text.contains("https:") == false)

            let anna = PersonID.random()
            _ = try await notifier.parts.people.register("http://127.0.0.1:\(gateway.port)/topic", of: anna, most: 10, at: .now)
            try await stage.send(
                SendMessage(
                    message: .random(), recipient: Recipient(person: anna), channels: [.push], template: .sosPrompt, language: .italian,
                    values: ["time": "2026-01-10T00:31:00.000Z", "link": "https://suite.example/sos/v1/prompt/page/x"]))
            let push = try await eventually("the push") { gateway.posts.first { $0.path.hasSuffix("/topic") } }
            #expect(push.headers["Click"] == "https://suite.example/sos/v1/prompt/page/x" && push.headers["Priority"] == "urgent")
        }
    }
}
