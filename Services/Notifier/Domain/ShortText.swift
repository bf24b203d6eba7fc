// Text that fits into one SMS: the alphabet of GSM 03.38 and its length in septets.

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

    /// The same text in the alphabet: accents that it lacks are dropped, everything else becomes a question mark.
    static func folded(_ text: String) -> String {
        text.map { character -> String in
            if basic.contains(character) || extended.contains(character) { return String(character) }
            if let known = plain[character] { return known }
            // The letter without its marks.
            let letter = String(character).decomposedStringWithCanonicalMapping.unicodeScalars.first.map { Character($0) }
            return letter.flatMap { basic.contains($0) ? String($0) : nil } ?? "?"
        }.joined()
    }

    /// Values that are worth nothing when shortened.
    private static let whole: Set<String> = ["link", "place", "time", "password"]

    /// Puts the values in and shortens the longest of them until everything fits; values hold no line ends there. What is only good
    /// whole stays whole, even where the text then takes more than one segment.
    static func fill(_ text: String, _ values: [String: String]) -> String {
        let names = MessageText.placeholders(in: text)
        var fitting = values.filter { names.contains($0.key) }.mapValues {
            folded($0.split(whereSeparator: \.isNewline).joined(separator: " "))
        }
        let frame = folded(text)
        func filled() -> String { RenderedMessage.fill(frame, fitting) }
        // Bounded before the fine cut, so that a long announcement is not shortened letter by letter.
        for (name, value) in fitting where !whole.contains(name) { fitting[name] = String(value.prefix(mostSeptets)) }
        while let septets = septets(filled()), septets > mostSeptets,
            let longest = fitting.filter({ !whole.contains($0.key) }).max(by: { ($0.value.count, $0.key) < ($1.value.count, $1.key) }),
            !longest.value.isEmpty
        {
            fitting[longest.key] = String(longest.value.dropLast())
        }
        return filled()
    }
}
