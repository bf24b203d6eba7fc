// Every template in every language, and what becomes of values on their way into a text.

import Contracts
import Testing

@testable import Notifier

/// Values as senders give them; long ones to see that an SMS stays one.
private func values(of template: MessageTemplate, long: Bool = false) -> [String: String] {
    var values: [String: String] = [:]
    for name in template.values {
        switch name {
        case "link": values[name] = "https://localhost:8443/consent/confirm?token=0123456789abcdef"
        case "hours": values[name] = "24"
        case "count": values[name] = "3"
        case "time": values[name] = "2026-01-10T00:31:00.000Z"
        case "place": values[name] = "45.46420,9.19000"
        case "answer": values[name] = "accepted"
        case "password": values[name] = "k7Tq-9pXw-m2Ld"
        default: values[name] = long ? String(repeating: "\(name)日è ", count: 60) : "<\(name)>"
        }
    }
    return values
}

@Suite("Message texts")
struct MessageTextTests {
    static let cases = MessageTemplate.allCases.flatMap { template in Language.allCases.map { (template, $0) } }

    @Test("UI-04: every template has its own words in every language", arguments: cases)
    func complete(template: MessageTemplate, language: Language) throws {
        let own = language == .italian ? MessageText.italian[template] : MessageText.english[template]
        let text = try #require(own, "there is no \(language) text for \(template)")
        #expect(MessageText.of(template, in: language) == text)
        for part in [text.subject, text.body, text.short, text.title] { #expect(!part.isEmpty) }
        if template != .announcement, language == .italian { #expect(text.body != MessageText.english[template]?.body) }
    }

    @Test("a text uses only values that its template has, and the body every one but the name", arguments: cases)
    func placeholders(template: MessageTemplate, language: Language) {
        let text = MessageText.of(template, in: language)
        let used = [text.subject, text.body, text.short, text.spoken ?? ""].map(MessageText.placeholders).reduce(Set()) { $0.union($1) }
        #expect(used.isSubset(of: template.values))
        #expect(template.values.subtracting(["name"]).subtracting(used) == [], "the reader is not told everything")
        #expect(MessageText.placeholders(in: text.title).isEmpty, "a title is seen by strangers")
        if !template.isUrgent { #expect(!text.short.contains("{link}"), "an SMS has no room for a link") }
        #expect(!(text.spoken ?? text.short).contains("{link}") || !template.isUrgent, "nobody can write down a link that is read aloud")
    }

    @Test("a rendered message has no gap and no brace left, in one SMS of the GSM alphabet where names have a form there", arguments: cases)
    func rendered(template: MessageTemplate, language: Language) throws {
        for long in [false, true] {
            let message = RenderedMessage(template, in: language, values: values(of: template, long: long), origin: "https://suite.example")
            for part in [message.subject, message.mail, message.short, message.title, message.push, message.body] {
                #expect(!part.isEmpty && !part.contains("{") && !part.contains("}"))
            }
            // A long name has characters here that the alphabet has no form for.
            let isInAlphabet = ShortText.septets(message.short).map { $0 <= ShortText.mostSeptets }
            #expect(isInAlphabet ?? (long && message.short.utf16.count <= ShortText.mostUnits), "\(message.short)")
            #expect(message.mail.contains("https://suite.example"))
            #expect(message.mail.hasSuffix("\n"))
        }
    }

    @Test("a push message tells no value at all, whatever the template", arguments: cases)
    func push(template: MessageTemplate, language: Language) {
        let message = RenderedMessage(template, in: language, values: values(of: template), origin: "")
        for value in values(of: template).values {
            #expect(!message.push.contains(value) && !message.title.contains(value))
        }
    }

    @Test("times and decisions are said in the message's language")
    func spoken() {
        let english = RenderedMessage(
            .passwordChanged, in: .english, values: ["name": "Anna", "time": "2026-01-10T00:31:00.000Z"], origin: "")
        #expect(english.mail.hasPrefix("Hello Anna,\n\nyour password was changed on 10 January 2026, 00:31 UTC."))
        let italian = RenderedMessage(.guardianAnswered, in: .italian, values: ["name": "Anna", "answer": "refused"], origin: "")
        #expect(italian.mail.hasPrefix("Ciao Anna,\n\nil tuo genitore o tutore non ha acconsentito al tuo uso di TrackMe."))
        #expect(SpokenValues.of(["time": "soon"], in: .italian)["time"] == "soon")
    }

    @Test("SOS-35: to whoever called for help nothing is said of values, and a tap leads to the page", arguments: Language.allCases)
    func helpCalled(language: Language) {
        let message = RenderedMessage(.sosHelpCalled, in: language, values: values(of: .sosHelpCalled), origin: "")
        for text in [message.subject, message.body, message.short, message.spoken, message.title] {
            for word in ["critical", "critici", "values", "valori"] { #expect(!text.contains(word)) }
        }
        #expect(message.link != nil && message.isUrgent)
    }

    @Test("a value that looks like a placeholder stays what it is")
    func braces() {
        let message = RenderedMessage(
            .memberInvited, in: .english, values: ["organisation": "{link}", "link": "https://a.example", "hours": "1"], origin: "")
        #expect(message.subject == "Invitation to work for {link} on TrackMe")
    }
}

@Suite("Short texts")
struct ShortTextTests {
    @Test("the length counts septets: two for the characters of the extension")
    func septets() {
        #expect(ShortText.septets("abc") == 3)
        #expect(ShortText.septets("è€") == 3)
        #expect(ShortText.septets("ç") == nil)
        #expect(ShortText.septets("日") == nil)
    }

    @Test(
        "letters outside the alphabet lose their accent, everything else becomes a question mark",
        arguments: [("Łódź", "Lodz"), ("Perché – così", "Perché - cosi"), ("日本", "??"), ("Àá", "Aa"), ("“ok”…", "\"ok\"..."), ("à", "à")])
    func folding(text: String, expected: String) {
        // "Perché così": é and ì are in the alphabet, so they stay.
        let folded = ShortText.folded(text)
        #expect(ShortText.septets(folded) != nil)
        if text != "Perché – così" { #expect(folded == expected) } else { #expect(folded == "Perché - così") }
    }

    @Test("the longest value is shortened first, and the words around it stay whole")
    func shortening() {
        let text = ShortText.fill("{a} and {b}.", ["a": String(repeating: "x", count: 500), "b": "short"])
        #expect(text.count == 160)
        #expect(text.hasSuffix(" and short."))
    }

    @Test(
        "SOS-22: contacts of people with Arabic, Hebrew, Cyrillic or Greek names read `SOS ???? ??`: the name stands in Latin letters",
        arguments: [
            ("Иван Щербаков", "Ivan Serbakov"), ("Γιώργος", "Giorgos"), ("محمد بن سلمان", "mhmd bn slman"), ("דוד לוי", "dwd lwy"),
            ("عائشة", "aysht"), ("김철수", "gimcheolsu"), ("Анна 🙂", "Anna"), ("\u{200F}محمد\u{200E}", "mhmd"), ("Zoë Žižek", "Zoe Zizek"),
        ])
    func otherScripts(name: String, said: String) throws {
        let given = values(of: .sosContactAlert).merging(["name": name]) { $1 }
        let message = RenderedMessage(.sosContactAlert, in: .english, values: given, origin: "https://suite.example")
        #expect(message.short.hasPrefix("SOS \(said): emergency "), "\(message.short)")
        #expect(try #require(ShortText.septets(message.short)) <= ShortText.mostSeptets)
        #expect(message.spoken.contains(name))
    }

    @Test("SOS-22: a name that has no form in Latin letters stands as it is, in UCS-2; machine-readable texts are left alone")
    func noForm() {
        for name in ["田中太郎", "🙂"] {
            let given = values(of: .sosContactAlert).merging(["name": name]) { $1 }
            let message = RenderedMessage(.sosContactAlert, in: .english, values: given, origin: "https://suite.example")
            #expect(message.short.hasPrefix("SOS \(name): emergency ") && message.short.hasSuffix("token=0123456789abcdef"))
            #expect(ShortText.septets(message.short) == nil && message.short.utf16.count <= ShortText.mostUnits)
        }
        let text = "SOS1;i=4g98fksdrz86c5jxqthrkn9bfy;q=0;m=A;a=7K3M9Q;t=20261121163622;ml=70"
        #expect(RenderedMessage(.sosDispatch, in: .english, values: ["text": text], origin: "").short == text)
    }

    @Test("SOS-22: an emergency's SMS has name, time, place and the whole link; the call reads no link", arguments: Language.allCases)
    func emergency(language: Language) {
        for template in [MessageTemplate.sosContactAlert, .sosShaking, .sosSilenceContacts] {
            let given = values(of: template).merging(["name": String(repeating: "Anna ", count: 30)]) { $1 }
            let message = RenderedMessage(template, in: language, values: given, origin: "https://suite.example")
            for part in ["Anna", "2026, 00:31 UTC", "45.46420,9.19000", "https://localhost:8443/consent/confirm?token=0123456789abcdef"] {
                #expect(message.short.contains(part), "\(message.short)")
            }
            #expect(message.spoken.contains("45.46420,9.19000") && !message.spoken.contains("https:"))
            let lost = RenderedMessage(
                template, in: language, values: given.merging(["place": "none"]) { $1 }, origin: "https://suite.example")
            #expect(lost.short.contains(language == .italian ? "luogo ignoto" : "an unknown place"))
        }
        let prompt = RenderedMessage(.sosPrompt, in: language, values: values(of: .sosPrompt), origin: "https://suite.example")
        #expect(prompt.link != nil && prompt.isUrgent && !prompt.push.contains("http"))
    }
}
