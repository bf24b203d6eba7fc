// Which messages are taken, and which way they go.

import Contracts
import Testing

@testable import Notifier

private func message(
    _ template: MessageTemplate = .passwordChanged, values: [String: String] = ["name": "Anna", "time": "now"],
    channels: Set<Channel> = [.mail], recipient: Recipient = Recipient(person: nil, mail: "a@example.org")
) -> SendMessage {
    SendMessage(
        message: .random(), recipient: recipient, channels: channels, template: template, language: .english, values: values)
}

@Suite("Message rules")
struct MessageRulesTests {
    @Test("a message with exactly its template's values is taken")
    func taken() {
        #expect(MessageRules.fault(of: message()) == nil)
        #expect(MessageRules.fault(of: message(.announcement, values: ["title": "a", "text": "one\n\ntwo\tthree"])) == nil)
    }

    @Test(
        "what is wrong is named, and no value is repeated",
        arguments: [
            (["name": "Canary"], "lacks: time"), (["name": "Canary", "time": "x", "extra": "y"], "takes only: name, time"),
            (["name": "", "time": "x"], "name is empty"), (["name": "Canary\u{0}", "time": "x"], "name holds control characters"),
            (["name": "Canary\r\nBcc: x", "time": "x"], "name holds control characters"),
            (["name": String(repeating: "Canary", count: 1000), "time": "x"], "name is too long"),
        ] as [([String: String], String)])
    func refused(values: [String: String], words: String) throws {
        let fault = try #require(MessageRules.fault(of: message(values: values)))
        #expect(fault.contains(words))
        #expect(!fault.contains("Canary"))
    }

    @Test(
        "a link is an absolute address of the web",
        arguments: ["javascript:alert(1)", "/path", "ftp://a.example/", "https://", "http://a b"])
    func links(link: String) {
        #expect(
            MessageRules.fault(of: message(.confirmAddress, values: ["name": "a", "link": link, "hours": "1"]))?.contains("link") == true)
    }

    @Test("a message without a channel is refused")
    func channels() {
        #expect(MessageRules.fault(of: message(channels: [])) == "a message needs at least one channel")
    }

    private func plan(_ message: SendMessage, off: Set<Channel> = [], endpoints: [Int64] = []) -> [PlannedDelivery] {
        PlannedDelivery.plan(message, off: off, endpoints: endpoints) { $0.contains("@") }
    }

    @Test("each channel goes its way, and push to every endpoint")
    func ways() {
        let person = PersonID.random()
        let all = message(
            channels: Set(Channel.allCases), recipient: Recipient(person: person, mail: "a@b.example", phone: "+39333123456"))
        #expect(
            plan(all, endpoints: [4, 7]) == [
                .init(channel: .call, address: "+39333123456"), .init(channel: .inbox), .init(channel: .mail, address: "a@b.example"),
                .init(channel: .push, target: 4, address: ""), .init(channel: .push, target: 7, address: ""),
                .init(channel: .sms, address: "+39333123456"),
            ])
    }

    @Test("a channel without an address, or with one that cannot be used, is settled as failed at once")
    func unusable() {
        let nobody = message(channels: Set(Channel.allCases), recipient: Recipient(person: nil))
        #expect(plan(nobody).allSatisfy { $0.reason == "no-channel" })
        let broken = message(channels: [.mail, .sms], recipient: Recipient(person: nil, mail: "nonsense", phone: "0333"))
        #expect(plan(broken).map(\.reason) == ["address-refused", "address-refused"])
    }

    @Test("a person may switch off news on a channel, but nothing that protects the account, and never the inbox")
    func switchedOff() {
        let recipient = Recipient(person: .random(), mail: "a@b.example")
        let news = message(.exportReady, values: ["name": "a", "hours": "1"], channels: [.mail, .inbox], recipient: recipient)
        #expect(plan(news, off: Set(Channel.allCases)).map(\.reason) == [nil, "switched-off"])
        let security = message(channels: [.mail], recipient: recipient)
        #expect(plan(security, off: Set(Channel.allCases)).map(\.reason) == [nil])
    }

    @Test("X4: whoever held a token switched off the news that monitoring is paused; what is given away is always told, also by push")
    func alwaysTold() {
        for (template, values) in [
            (.monitoringPaused, ["time": "now"]), (.watchedLess, ["time": "now", "change": "a contact was removed"]),
            (.accessGiven, ["name": "Anna", "organisation": "Clinic"]), (.pushEndpointAdded, ["time": "now", "host": "ntfy.example"]),
            (.rescueChanged, ["time": "now", "change": "a contact was added"]),
            (.pushEndpointRemoved, ["time": "now", "host": "ntfy.example"]),
            (.phoneChanged, ["name": "Anna", "time": "now"]),
        ] as [(MessageTemplate, [String: String])] {
            let told = message(template, values: values, channels: [.inbox, .push], recipient: Recipient(person: .random()))
            #expect(plan(told, off: Set(Channel.allCases), endpoints: [4]).map(\.reason) == [nil, nil], "\(template)")
        }
    }

    @Test(
        "telephone numbers are E.164 and nothing else",
        arguments: [
            ("+393331234567", true), ("+12025550123", true), ("+0333123456", false), ("393331234567", false), ("+39 333 1234567", false),
            ("+1234567", false), ("+1234567890123456", false), ("+39333123456\r\n", false), ("", false), ("+", false),
        ])
    func phones(text: String, isNumber: Bool) {
        #expect((TelephoneNumber(e164: text) != nil) == isNumber)
    }
}
