// Which passwords are accepted, what is said of those that are not, and how a temporary one is spelt.

import Contracts

/// Why a password cannot be taken. Never says the password.
enum PasswordFault: Hashable, Sendable {
    case length(PasswordLength.Fault)
    /// Among those that are tried first by whoever guesses.
    case common
    /// The same as something that is known of its owner.
    case personal

    /// What is wrong and what to do.
    var detail: String {
        switch self {
        case .length(let fault): fault.detail
        case .common: "is one of the most used passwords, which are tried first: choose another"
        case .personal: "is your name, user name or e-mail address: choose something that others do not know of you"
        }
    }
}

/// NIST SP 800-63B §5.1.1.2: length and a list of the most used, no rules about kinds of characters.
struct PasswordRule: Sendable {
    /// `acc.password_least`.
    let least: Int

    init(least: Int = PasswordLength.least) {
        self.least = least
    }

    /// Nil where the password can be taken.
    /// - Parameter personal: address, user name, name and surname of its owner.
    func fault(of password: String, personal: [String]) -> PasswordFault? {
        if let fault = PasswordLength.fault(of: password, asked: least) { return .length(fault) }
        let folded = Self.folded(password)
        if MostUsedPasswords.contain(folded) { return .common }
        return Self.forms(of: personal).contains(folded) ? .personal : nil
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
