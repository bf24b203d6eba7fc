// What a mail looks like on the wire, and that nothing in it can become what it is not.

import Contracts
import Foundation
import Testing

@testable import Outbound

private func message(subject: String = "Hello", text: String = "Text\n", name: String = "TrackMe") throws -> MailMessage {
    MailMessage(
        id: "msg_01", at: Timestamp(milliseconds: 1_768_005_060_000), from: try #require(MailAddress("trackme@suite.example")),
        fromName: name, to: try #require(MailAddress("anna@example.org")), subject: subject, text: text, language: "it")
}

private func head(_ message: MailMessage) -> [String] {
    let text = String(decoding: message.encoded(), as: UTF8.self)
    return text.components(separatedBy: "\r\n\r\n")[0].replacing("\r\n ", with: " ").components(separatedBy: "\r\n")
}

@Suite("Mail messages")
struct MailMessageTests {
    @Test("NFR-24: a mail has the headers of RFC 5322, and a Message-ID that is the same each time")
    func headers() throws {
        #expect(
            head(try message()) == [
                "Date: Sat, 10 Jan 2026 00:31:00 +0000", "From: \"TrackMe\" <trackme@suite.example>", "To: <anna@example.org>",
                "Subject: Hello", "Message-ID: <msg_01@suite.example>", "MIME-Version: 1.0",
                "Content-Type: text/plain; charset=utf-8", "Content-Transfer-Encoding: quoted-printable", "Content-Language: it",
                "Auto-Submitted: auto-generated", "X-Auto-Response-Suppress: All",
            ])
        #expect(try message().encoded() == message().encoded())
        var list = try message()
        list.list = "announcements"
        #expect(head(list).last == "List-Id: <announcements.suite.example>")
    }

    @Test(
        "a header cannot be added, whatever subject, name or text hold",
        arguments: [
            "a\r\nBcc: b@example.org", "a\nBcc: b", "a\rBcc: b", "a\u{2028}Bcc: b", "a\u{85}Bcc: b", "=?UTF-8?Q?=0D=0ABcc:_b?=",
            "\r\n\r\nbody", "\"<b@example.org>\\", String(repeating: "ü\r\n", count: 200), "",
        ])
    func injection(text: String) throws {
        for message in [try message(subject: text), try message(text: text), try message(name: text)] {
            let bytes = message.encoded()
            #expect(bytes.allSatisfy { $0 < 0x80 })
            #expect(head(message).count == 11)
            #expect(head(message).map { String($0.prefix { $0 != ":" }) }.filter { $0 == "Bcc" }.isEmpty)
            let lines = String(decoding: bytes, as: UTF8.self).components(separatedBy: "\r\n")
            #expect(lines.allSatisfy { $0.utf8.count <= 998 && !$0.contains("\n") && !$0.contains("\r") && $0 != "." })
        }
    }

    @Test("a subject in another alphabet is written in encoded words that are each whole")
    func encodedWords() throws {
        let subject = "Il tuo account è stato creato, perché l'hai chiesto: più dati 👩🏽‍🔬 per tutti e due noi qui"
        let encoded = HeaderText(subject).encoded()
        let words = encoded.components(separatedBy: "\r\n ")
        #expect(words.count > 1 && words.allSatisfy { $0.utf8.count <= 75 && $0.hasPrefix("=?UTF-8?B?") && $0.hasSuffix("?=") })
        let decoded = try words.map { word in
            let bytes = try #require(Data(base64Encoded: String(word.dropFirst(10).dropLast(2))))
            return try #require(String(data: bytes, encoding: .utf8))
        }
        #expect(decoded.joined() == subject)
        #expect(HeaderText("Plain text").encoded() == "Plain text")
        #expect(HeaderText(" led by a space").encoded().hasPrefix("=?"))
    }

    @Test("quoted-printable gives back the same text, in short lines, for any text of any seed", arguments: 0..<40)
    func quotedPrintable(seed: Int) throws {
        var state = UInt64(seed) &* 2_862_933_555_777_941_757 &+ 3_037_000_493
        func next(_ bound: Int) -> Int {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int(state >> 33) % bound
        }
        let alphabet: [String] = ["a", "F", ".", " ", "\t", "=", "\n", "è", "日", "👍", "From ", "\u{7F}", "\u{1}", "z"]
        let text = (0..<next(600)).map { _ in alphabet[next(alphabet.count)] }.joined() + "end\n"
        let encoded = String(decoding: QuotedPrintable.encode(text), as: UTF8.self)
        let lines = encoded.components(separatedBy: "\r\n")
        #expect(lines.allSatisfy { $0.utf8.count <= 76 && !$0.hasPrefix(".") && !$0.hasPrefix("From ") && !$0.hasSuffix(" ") })
        #expect(decode(encoded) == text)
    }

    private func decode(_ encoded: String) -> String {
        var bytes: [UInt8] = []
        var rest = Array(encoded.replacing("=\r\n", with: "").replacing("\r\n", with: "\n").utf8)[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "=") else {
                bytes.append(byte)
                continue
            }
            bytes.append(UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16) ?? 0)
            rest = rest.dropFirst(2)
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    @Test(
        "an address is taken only if it can stand in an envelope as it is",
        arguments: [
            ("anna@example.org", true), ("a.b+c@sub.example-1.org", true), ("a@localhost", true), ("", false), ("anna", false),
            ("@example.org", false), ("anna@", false), ("a@b@c", false), ("a b@c.org", false), ("a@c.org\r\nBcc:", false),
            ("<a@c.org>", false),
            ("a@-c.org", false), ("a@c..org", false), (".a@c.org", false), ("a@[127.0.0.1]", false), ("\"a b\"@c.org", false),
            ("è@c.org", false), (String(repeating: "a", count: 65) + "@c.org", false),
            ("a@" + String(repeating: "b.", count: 130) + "c", false),
        ])
    func addresses(text: String, isTaken: Bool) {
        #expect((MailAddress(text) != nil) == isTaken)
    }
}
