// Handing mail to a real server that behaves well and badly.

import Contracts
import Foundation
import Logging
import TestKit
import Testing

@testable import Outbound

private func sender(_ url: String, isEncrypted: Bool = false) -> MailSender {
    var settings = OutboundSettings()
    settings.policy = .anywhere
    let server = MailServer(url: url, greeting: "suite.example", isEncrypted: isEncrypted)
    return MailSender(server, settings, logger: Running.quiet)
}

private func mail(_ text: String = "Hello\r\n", timeout: Duration = .seconds(20)) throws -> OutboundMail {
    let from = try #require(MailAddress("trackme@suite.example"))
    let to = try #require(MailAddress("anna@example.org"))
    return OutboundMail(sender: from, recipient: to, data: Array(text.utf8), timeout: timeout)
}

/// Why it failed; nil where it did not.
private func failure(_ url: String, _ mail: OutboundMail, isEncrypted: Bool = false) async -> MailError? {
    do {
        try await sender(url, isEncrypted: isEncrypted).send(mail)
        return nil
    } catch {
        return error
    }
}

@Suite("Mail sender")
struct MailSenderTests {
    @Test("NFR-24: a mail arrives byte for byte, with the envelope that was asked for")
    func arrives() async throws {
        let peer = MailPeer()
        let text = "Subject: x\r\n\r\nfirst\r\n.dotted\r\n..twice\r\nlast\r\n"
        try await sender(peer.url).send(try mail(text))
        let taken = try #require(peer.mails.first)
        #expect(taken.from == "MAIL FROM:<trackme@suite.example>")
        #expect(taken.to == ["RCPT TO:<anna@example.org>"])
        #expect(taken.data.replacing("\r\n..", with: "\r\n.") == text)
        #expect(peer.verbs.first == "EHLO")
        #expect(peer.mails.count == 1)
    }

    @Test("a large mail whose lines all begin with a full stop arrives whole")
    func large() async throws {
        let peer = MailPeer()
        let text = String(repeating: ".0123456789\r\n", count: 20_000)
        try await sender(peer.url).send(try mail(text))
        #expect(peer.mails.first?.data == text.replacing("\r\n.", with: "\r\n..").replacing(/^\./, with: ".."))
    }

    @Test(
        "a reply that is no yes is told apart: for now, or for good",
        arguments: [
            ("MAIL", "451 4.3.0 later", MailError.postponed(code: 451)), ("RCPT", "450 4.2.1 later", .postponed(code: 450)),
            ("RCPT", "550 5.1.1 nobody", .refused(code: 550)), ("DATA", "452 4.3.1 full", .postponed(code: 452)),
            ("DATA", "554 5.5.1 no", .refused(code: 554)), ("END", "451 4.7.1 later", .postponed(code: 451)),
            ("END", "554 5.7.1 spam", .refused(code: 554)),
        ])
    func replies(verb: String, reply: String, expected: MailError) async throws {
        let peer = MailPeer([verb: .reply(reply)])
        #expect(await failure(peer.url, try mail()) == expected)
        #expect(peer.mails.isEmpty)
    }

    @Test(
        "a server that refuses us altogether has refused no mail: it may be sent again",
        arguments: [
            ("GREETING", "554 5.7.1 not you"), ("GREETING", "421 4.3.2 closing"), ("EHLO", "554 5.5.1 no"),
            ("MAIL", "530 5.7.0 authenticate first"),
        ])
    func refusedUs(verb: String, reply: String) async throws {
        let peer = MailPeer([verb: .reply(reply), "HELO": .reply(reply)])
        let error = await failure(peer.url, try mail())
        switch error {
        case .notSent, .postponed: break
        default: Issue.record("was \(String(describing: error))")
        }
    }

    @Test(
        "a server that wants another log-in says so in a word of its own: it is not the mail that is malformed",
        arguments: ["530 5.7.0 authenticate first", "535 5.7.8 not with that password"])
    func logInWanted(reply: String) async throws {
        let peer = MailPeer(["MAIL": .reply(reply)])
        #expect(await failure(peer.url, try mail()) == .notSent(.logInRefused))
        #expect(OutboundError.logInRefused.isRetriable)
    }

    @Test(
        "a connection that ends before the data was handed over has sent nothing",
        arguments: ["GREETING", "EHLO", "MAIL", "RCPT", "DATA"])
    func brokenBefore(verb: String) async throws {
        let peer = MailPeer([verb: .hangUp, "HELO": .hangUp])
        guard case .notSent = await failure(peer.url, try mail()) else {
            Issue.record("not known to be unsent")
            return
        }
    }

    @Test("a connection that ends, or falls silent, after the data is unknown: it may have been taken")
    func unknown() async throws {
        for turn in [MailPeer.Turn.hangUp, .silence] {
            let peer = MailPeer(["END": turn])
            #expect(await failure(peer.url, try mail(timeout: .milliseconds(700))) == .unknown)
            #expect(peer.verbs.contains("DATA"))
        }
    }

    @Test("a server that says no good-bye does not hold up the good news, and a slow mail holds up no other")
    func farewell() async throws {
        let peer = MailPeer(["END": .silence])
        let sender = sender(peer.url)
        let slow = try mail(timeout: .seconds(600))
        let stuck = Task { try await sender.send(slow) }
        try await eventually("the slow one has handed everything over") { peer.verbs.contains("END") }
        peer.become(["QUIT": .silence])
        try await sender.send(try mail())
        #expect(peer.mails.count == 1)
        stuck.cancel()
        await #expect(throws: MailError.unknown) { try await stuck.value }
    }

    @Test("nobody listening, or nobody answering, has sent nothing")
    func unreachable() async throws {
        let closed = RudeServer.closedPort()
        #expect(await failure("smtp://127.0.0.1:\(closed)", try mail()) == .notSent(.connect))
        let silent = MailPeer(["GREETING": .silence])
        #expect(await failure(silent.url, try mail(timeout: .milliseconds(300))) == .notSent(.timeout))
        #expect(silent.verbs.isEmpty)
    }

    @Test("a server without STARTTLS is told nothing where encryption is required")
    func encryption() async throws {
        let peer = MailPeer()
        #expect(await failure(peer.url, try mail(), isEncrypted: true) == .notSent(.tls))
        #expect(!peer.verbs.contains("MAIL"))
    }

    @Test("an address of a server that holds anything but host and port, or a log-in in the clear, is never connected to")
    func servers() {
        for url in ["smtp://a@b", "smtp://host/path", "http://host", "smtp://", "smtp://ho st", "smtp://host\r\nX", "smtp://host?x"] {
            #expect(!MailServer(url: url, greeting: "a").isWellFormed, "\(url)")
        }
        #expect(MailServer(url: "smtps://[::1]:465", greeting: "a.example").isWellFormed)
        #expect(!MailServer(url: "smtp://host", greeting: "a b").isWellFormed)
        let credentials = MailServer.Credentials(name: "a", password: "b")
        #expect(!MailServer(url: "smtp://host", greeting: "a", isEncrypted: false, credentials: credentials).isWellFormed)
        #expect(!"\(MailServer(url: "smtp://host", greeting: "a", credentials: credentials))\(credentials)".contains("b)"))
    }

    @Test("whether a request over HTTP was handed over is known when nothing comes back")
    func handedOver() async throws {
        var settings = OutboundSettings()
        settings.policy = .anywhere
        let sender = HTTPSender(settings, logger: Running.quiet)
        let nobody = await sender.attempt(.post("http://127.0.0.1:\(RudeServer.closedPort())/", [1], contentType: "text/plain"))
        #expect(!nobody.wasHandedOver)
        let silent = RudeServer { _ = $0.readRequest() }
        let lost = await sender.attempt(.post(silent.url, [1], contentType: "text/plain"))
        #expect(lost.wasHandedOver)
        #expect(throws: OutboundError.self) { try lost.outcome.get() }
        let echo = RudeServer.echo()
        let fine = await sender.attempt(.post(echo.url, [1], contentType: "text/plain"))
        #expect(fine.wasHandedOver && (try? fine.outcome.get().status) == 200)
    }
}
