// Text that fits into one SMS: the alphabet of GSM 03.38 and its length in septets. Where a name cannot be written so, UCS-2.

import Foundation

/// The default alphabet counts one septet a character, the extension two; one segment holds 160.
enum ShortText {
    static let mostSeptets = 160

    private static let basic: Set<Character> = Set(
        "@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !\"#¤%&'()*+,-./0123456789:;<=>?¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§¿abcdefghijklmnopqrstuvwxyzäöñüà"
    )
    private static let extended: Set<Character> = Set("^{}\\[~]|€")
    /// Letters outside the alphabet whose plain form is not found by taking the accent away.
    private static let plain: [Character: String] = [
        "ç": "c", "ł": "l", "Ł": "L", "đ": "d", "Đ": "D", "ð": "d", "þ": "th", "œ": "oe", "Œ": "OE", "’": "'", "‘": "'", "“": "\"",
        "”": "\"", "«": "\"", "»": "\"", "–": "-", "—": "-", "…": "...", "\t": " ", "\u{A0}": " ",
    ]

    /// The septets that the text takes; nil where it holds a character outside the alphabet.
    static func septets(_ text: String) -> Int? {
        var count = 0
        for character in text {
            if basic.contains(character) { count += 1 } else if extended.contains(character) { count += 2 } else { return nil }
        }
        return count
    }

    /// The same text in the alphabet: other scripts in Latin letters, accents that it lacks dropped; what nothing is known for becomes a
    /// question mark.
    static func folded(_ text: String) -> String {
        words(of: text).compactMap { word -> String? in
            guard let known = written(word) else { return word.map { form(of: $0) ?? "?" }.joined() }
            return known.isEmpty && !word.isEmpty ? nil : known
        }.joined(separator: " ")
    }

    /// Whether the text, in the alphabet, still says what it says.
    private static func isWritable(_ text: String) -> Bool {
        let forms = words(of: text).map(written)
        return forms.allSatisfy { $0 != nil } && forms.contains { $0?.isEmpty == false }
    }

    private static func words(of text: String) -> [Substring] {
        text.split(separator: " ", omittingEmptySubsequences: false)
    }

    /// ICU's, by whole words, since a letter may depend on the next. Without Han, whose characters are read differently by each language:
    /// nobody would know a Japanese name by its Chinese sound.
    private static let transliteration = "[:^Han:]; Any-Latin; Latin-ASCII"

    /// nil where a character has no form in the alphabet.
    private static func written(_ word: Substring) -> String? {
        if let known = forms(of: word) { return known }
        let transform = StringTransform(transliteration)
        guard var latin = NSString(string: String(word)).applyingTransform(transform, reverse: false) else { return nil }
        // Marks of direction, letters' signs that have no letter, and pictures say nothing of a word.
        latin.unicodeScalars.removeAll {
            switch $0.properties.generalCategory {
            case .format, .modifierLetter, .modifierSymbol, .nonspacingMark, .otherSymbol: form(of: Character($0)) == nil
            default: false
            }
        }
        return forms(of: latin)
    }

    private static func forms(of text: some StringProtocol) -> String? {
        var written = ""
        for character in text {
            guard let known = form(of: character) else { return nil }
            written += known
        }
        return written
    }

    private static func form(of character: Character) -> String? {
        if basic.contains(character) || extended.contains(character) { return String(character) }
        if let known = plain[character] { return known }
        // The letter without its marks.
        let letter = String(character).decomposedStringWithCanonicalMapping.unicodeScalars.first.map { Character($0) }
        return letter.flatMap { basic.contains($0) ? String($0) : nil }
    }
}

extension ShortText {
    /// Of a text that is sent as UCS-2, in units of UTF-16: three segments of 67, which hold the words of every template.
    static let mostUnits = 201

    /// Values that are worth nothing when shortened.
    private static let whole: Set<String> = ["link", "place", "time", "password"]
    /// Values that say who or what it is about: nobody knows a person by question marks.
    private static let names: Set<String> = ["name", "who", "child", "organisation", "device"]

    /// Puts the values in and shortens the longest of them until everything fits; values hold no line ends there. What is only good
    /// whole stays whole, even where the text then takes more segments. In the alphabet, but for a name that cannot be written there.
    static func fill(_ text: String, _ values: [String: String]) -> String {
        let used = MessageText.placeholders(in: text)
        let given = values.filter { used.contains($0.key) }.mapValues { $0.split(whereSeparator: \.isNewline).joined(separator: " ") }
        if given.contains(where: { names.contains($0.key) && !$0.value.isEmpty && !isWritable($0.value) }) {
            return fill(text, given, upTo: mostUnits) { $0.utf16.count }
        }
        return fill(folded(text), given.mapValues(folded), upTo: mostSeptets) { septets($0) ?? 0 }
    }

    private static func fill(_ frame: String, _ values: [String: String], upTo most: Int, length: (String) -> Int) -> String {
        var fitting = values
        func filled() -> String { RenderedMessage.fill(frame, fitting) }
        // Bounded before the fine cut, so that a long announcement is not shortened letter by letter.
        for (name, value) in fitting where !whole.contains(name) { fitting[name] = String(value.prefix(mostSeptets)) }
        while length(filled()) > most,
            let longest = fitting.filter({ !whole.contains($0.key) }).max(by: { ($0.value.count, $0.key) < ($1.value.count, $1.key) }),
            !longest.value.isEmpty
        {
            fitting[longest.key] = String(longest.value.dropLast())
        }
        return filled()
    }
}
