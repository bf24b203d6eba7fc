// Which passwords are accepted, what is said of those that are not, and how a temporary one is spelt.

import Contracts

/// Why a password cannot be taken. Never says the password.
enum PasswordFault: Hashable, Sendable {
    case length(PasswordLength.Fault)
    /// Among those that are tried first by whoever guesses.
    case common
    /// The same as something that is known of its owner.
    case personal
    /// A name of this service.
    case service
}

/// NIST SP 800-63B §5.1.1.2, OWASP ASVS 5.0 §6.2: length, a list of the most used, words of the context, no rules about kinds of
/// characters. A word with digits and marks around it, or for some of its letters, is the same word.
struct PasswordRule: Sendable {
    /// Whoever runs the suite guards everybody's data.
    static let leastOfOperators = 12
    /// Digits and marks around a word that do not make it another: `Password1!`. With more of them it is judged as it stands.
    static let mostAround = 8

    /// `acc.password_least`.
    let least: Int
    /// Whether a word, in lower case and without white space, is among the most used.
    let isCommon: @Sendable (String) -> Bool

    /// - Parameter isCommon: besides those few that every installation knows.
    init(least: Int = PasswordLength.least, isCommon: @escaping @Sendable (String) -> Bool = { _ in false }) {
        (self.least, self.isCommon) = (least, isCommon)
    }

    /// As it is for accounts of this kind.
    func asked(of kind: AccountKind) -> PasswordRule {
        kind == .operator ? PasswordRule(least: max(least, Self.leastOfOperators), isCommon: isCommon) : self
    }

    /// Nil where the password can be taken.
    /// - Parameter personal: address, user name, name and surname of its owner.
    func fault(of password: String, personal: [String]) -> PasswordFault? {
        if let fault = PasswordLength.fault(of: password, asked: least) { return .length(fault) }
        let words = Self.words(in: Self.folded(password))
        if words.contains(where: Self.services.contains) { return .service }
        if !words.isDisjoint(with: Self.forms(of: personal)) { return .personal }
        return words.contains { MostUsedPasswords.contain($0) || isCommon($0) } ? .common : nil
    }

    private static let services: Set = ["trackme", "automatedsos", "data4help", "track4run"]
    /// What is written for letters.
    private static let letters: [Character: Character] = [
        "0": "o", "1": "i", "3": "e", "4": "a", "5": "s", "7": "t", "@": "a", "$": "s", "!": "i",
    ]

    /// What a guesser reads in it: the whole, and the word within digits and marks, as they stand and with letters for what is written
    /// for letters.
    private static func words(in folded: String) -> Set<String> {
        let isEdge = { (character: Character) in !character.isLetter }
        let word = String(folded.trimmingPrefix(while: isEdge).reversed().trimmingPrefix(while: isEdge).reversed())
        let found = word.isEmpty || folded.count - word.count > mostAround ? [folded] : [folded, word]
        return Set(found + found.map { String($0.map { letters[$0] ?? $0 }) })
    }

    /// Neither case nor white space makes a password hard to guess.
    private static func folded(_ text: String) -> String {
        PasswordLength.normalised(text).lowercased().filter { !$0.isWhitespace }
    }

    /// Each value alone, an address without its domain, and two values behind each other.
    private static func forms(of personal: [String]) -> Set<String> {
        let values = personal.map(folded).filter { !$0.isEmpty }
        let localParts = values.compactMap { value in value.firstIndex(of: "@").map { String(value[..<$0]) } }
        let pairs = values.flatMap { one in values.map { one + $0 } }
        return Set(values + localParts + pairs)
    }
}

/// A password that the suite makes and mails (ACC-08).
enum TemporaryPassword {
    /// Random bytes that one takes.
    static let randomBytes = 16
    private static let groups = 4

    /// Sixteen letters and digits in groups of four, 80 bits, without those that are mistaken for one another.
    /// - Parameter random: 16 bytes from the system's generator.
    static func make(from random: [UInt8]) -> String {
        let bits = random.prefix(randomBytes).reduce(UInt128(0)) { $0 << 8 | UInt128($1) }
        let digits = Array(Crockford.encode(bits).suffix(groups * groups))
        return stride(from: 0, to: digits.count, by: groups).map { String(digits[$0..<$0 + groups]) }.joined(separator: "-")
    }
}
