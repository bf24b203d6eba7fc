// The Italian fiscal code: what makes one valid, and what it says of its owner. Stands alone, so that a peer can be compared with it.

import Foundation

/// Sixteen characters by the decree of 23 December 1976: three of the surname, three of the name, year, month and day of birth with
/// the sex, the place of birth, and a check character. Where two people would have the same one, digits are replaced by letters
/// from the right on (omocodia).
package struct FiscalCode: Hashable, Sendable {
    /// The first thing that is wrong; never what was typed.
    package enum Fault: Error, Hashable, Sendable {
        case length
        /// At this place, from 0, stands a character that cannot stand there.
        case character(at: Int)
        /// The date is on no calendar.
        case date
        case checkCharacter
    }

    package enum Sex: String, Sendable {
        case female
        case male
    }

    package static let length = 16

    /// In capitals and without spaces.
    package let text: String
    /// Of the birth: 00 to 99.
    package let yearOfCentury: Int
    /// Of the birth: 1 to 12.
    package let month: Int
    /// Of the birth: 1 to 31.
    package let day: Int
    package let sex: Sex
    /// Belfiore code of the place of birth: a letter and three digits.
    package let place: String

    /// Spaces and case do not count.
    package init(checking typed: String) throws(Fault) {
        let characters = Self.normalised(typed)
        guard characters.count == Self.length else { throw .length }
        var plain = characters
        for (index, character) in characters.enumerated() {
            guard let read = Self.read(character, at: index) else { throw .character(at: index) }
            plain[index] = read
        }
        guard characters[15] == Self.checkCharacter(characters[..<15]) else { throw .checkCharacter }
        let monthIndex = Self.months.firstIndex(of: plain[8])
        let dayAndSex = Self.number(plain[9...10])
        yearOfCentury = Self.number(plain[6...7])
        month = (monthIndex ?? 0) + 1
        (day, sex) = dayAndSex > 40 ? (dayAndSex - 40, .female) : (dayAndSex, .male)
        place = String(decoding: plain[11...14], as: UTF8.self)
        text = String(decoding: characters, as: UTF8.self)
        guard day >= 1, day <= Self.longestDay(month: month, yearOfCentury: yearOfCentury) else { throw .date }
    }

    /// Nil where it is not valid.
    package init?(_ typed: String) {
        do {
            try self.init(checking: typed)
        } catch {
            return nil
        }
    }

    /// Whether it looks like one, valid or not: six letters, and the right length.
    package static func hasForm(_ typed: String) -> Bool {
        let characters = normalised(typed)
        return characters.count == length && characters.enumerated().allSatisfy { read($1, at: $0) != nil }
    }

    /// Whether digits were replaced, because another person had the code already.
    package var isOmocodic: Bool {
        let characters = Array(text.utf8)
        return Self.digitPlaces.contains { !Self.isDigit(characters[$0]) }
    }
}

// MARK: Its parts

extension FiscalCode {
    /// Where digits stand, or the letters that replace them.
    package static let digitPlaces = [6, 7, 9, 10, 12, 13, 14]
    /// January to December.
    private static let months = Array("ABCDEHLMPRST".utf8)
    /// The letters that stand for 0 to 9 in an omocodic code.
    private static let replacements = Array("LMNPQRSTUV".utf8)
    /// What a character counts at an odd place (the first, third, …), by its digit or letter from A; at an even place it counts
    /// its own number.
    private static let oddValues = [1, 0, 5, 7, 9, 13, 15, 17, 19, 21, 2, 4, 18, 20, 11, 3, 6, 8, 12, 14, 16, 10, 22, 25, 24, 23]

    private static func normalised(_ typed: String) -> [UInt8] {
        // Letters of other alphabets keep their place and are refused there.
        typed.unicodeScalars.filter { !$0.properties.isWhitespace }.map { scalar in
            switch scalar {
            case "a"..."z": UInt8(ascii: scalar) - 32
            case "A"..."Z", "0"..."9": UInt8(ascii: scalar)
            default: UInt8(ascii: "?")
            }
        }
    }

    /// The character as it would be without omocodia; nil where it cannot stand at this place.
    private static func read(_ character: UInt8, at index: Int) -> UInt8? {
        if digitPlaces.contains(index) {
            if isDigit(character) { return character }
            return replacements.firstIndex(of: character).map { UInt8(ascii: "0") + UInt8($0) }
        }
        guard isLetter(character) else { return nil }
        return index == 8 && !months.contains(character) ? nil : character
    }

    /// Of somebody born on that day, as registry offices compute it where nobody has it already.
    /// - Parameters:
    ///   - month: 1 to 12.
    ///   - place: a Belfiore code.
    package static func computed(
        surname: String, name: String, year: Int, month: Int, day: Int, sex: Sex, place: String
    ) -> String {
        func two(_ number: Int) -> String { number < 10 ? "0\(number)" : String(number) }
        let birth = two(year % 100) + String(UnicodeScalar(months[month - 1])) + two(sex == .female ? day + 40 : day)
        let plain = code(surname: surname) + code(name: name) + birth + place
        return plain + String(UnicodeScalar(checkCharacter(plain.utf8)))
    }

    /// Of the fifteen characters before it, which are digits and capitals.
    package static func checkCharacter(_ characters: some Sequence<UInt8>) -> UInt8 {
        let sum = characters.enumerated().reduce(0) { sum, item in
            let value = Int(isDigit(item.element) ? item.element - UInt8(ascii: "0") : item.element - UInt8(ascii: "A"))
            return sum + (item.offset.isMultiple(of: 2) ? oddValues[value] : value)
        }
        return UInt8(ascii: "A") + UInt8(sum % 26)
    }

    /// In the year that gives most: 29 February is right if it is so in any century of people alive.
    private static func longestDay(month: Int, yearOfCentury: Int) -> Int {
        switch month {
        case 2: yearOfCentury.isMultiple(of: 4) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }

    private static func number(_ digits: ArraySlice<UInt8>) -> Int {
        digits.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
    }

    private static func isDigit(_ byte: UInt8) -> Bool { byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9") }
    private static func isLetter(_ byte: UInt8) -> Bool { byte >= UInt8(ascii: "A") && byte <= UInt8(ascii: "Z") }
}

// MARK: What it says of its owner

extension FiscalCode {
    /// Whether its owner can be born on that day; a code does not tell centuries apart.
    package func fits(year: Int, month: Int, day: Int) -> Bool {
        yearOfCentury == year % 100 && self.month == month && self.day == day
    }

    /// - Parameter place: a Belfiore code.
    package func fits(place: String) -> Bool {
        self.place == place
    }

    /// Case, marks and spaces do not count.
    package func fits(surname: String) -> Bool {
        text.hasPrefix(Self.code(surname: surname))
    }

    /// All first names together, as registry offices count them; case, marks and spaces do not count.
    package func fits(name: String) -> Bool {
        text.dropFirst(3).hasPrefix(Self.code(name: name))
    }

    /// The consonants in their order, then the vowels in theirs, then X, three in all.
    package static func code(surname: String) -> String {
        let letters = latinLetters(surname)
        return String(decoding: (letters.filter { !isVowel($0) } + letters.filter(isVowel) + filling).prefix(3), as: UTF8.self)
    }

    /// As a surname, but of four consonants or more the first, third and fourth.
    package static func code(name: String) -> String {
        let letters = latinLetters(name)
        var consonants = letters.filter { !isVowel($0) }
        if consonants.count >= 4 { consonants.remove(at: 1) }
        return String(decoding: (consonants + letters.filter(isVowel) + filling).prefix(3), as: UTF8.self)
    }

    private static let filling = [UInt8](repeating: UInt8(ascii: "X"), count: 3)

    private static func isVowel(_ letter: UInt8) -> Bool {
        "AEIOU".utf8.contains(letter)
    }

    /// Letters that are not a plain one with a mark, as registry offices write them.
    private static let spelledOut: [Character: String] = [
        "ß": "SS", "æ": "AE", "œ": "OE", "ø": "O", "ł": "L", "đ": "D", "ð": "D", "þ": "TH", "ı": "I",
    ]

    /// In capitals; marks, apostrophes, hyphens and spaces are left out, and so is everything of another alphabet.
    private static func latinLetters(_ name: String) -> [UInt8] {
        let spelled = name.lowercased().map { spelledOut[$0] ?? String($0) }.joined()
        return spelled.decomposedStringWithCanonicalMapping.uppercased().utf8.filter(isLetter)
    }

    /// All codes that differ from this one only by omocodia, itself included: 128.
    package var variants: [String] {
        let plain = Array(text.utf8).prefix(15).enumerated().map { Self.read($1, at: $0) ?? $1 }
        return (0..<1 << Self.digitPlaces.count).map { choice in
            var characters = plain
            for (bit, place) in Self.digitPlaces.enumerated() where choice >> bit & 1 == 1 {
                characters[place] = Self.replacements[Int(characters[place] - UInt8(ascii: "0"))]
            }
            return String(decoding: characters + [Self.checkCharacter(characters)], as: UTF8.self)
        }
    }
}

extension FiscalCode: CustomStringConvertible {
    /// Never the code: descriptions end up in logs.
    package var description: String { "FiscalCode(…)" }
}
