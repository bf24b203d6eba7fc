// Six digits that an authenticator shows and everybody can compute who knows the secret and the time (RFC 6238).

import Contracts

/// SHA-1, 30 s, six digits: what every authenticator knows. Pure: the caller computes the HMAC.
enum OneTimePassword {
    /// Of the secret: 160 bits, as RFC 4226 §4 recommends.
    static let secretBytes = 20
    static let digits = 6
    /// Seconds for which one is shown.
    static let period: Int64 = 30
    /// How many steps before and after the present one are taken, since clocks differ (RFC 6238 §5.2).
    static let window: Int64 = 1

    static func step(at now: Timestamp) -> Int64 {
        now.milliseconds / 1000 / period
    }

    /// The steps whose passwords are taken now, oldest first: none that has been used, and none before it.
    static func steps(at now: Timestamp, after last: Int64) -> [Int64] {
        (step(at: now) - window...step(at: now) + window).filter { $0 > last }
    }

    /// What is authenticated under the secret: the step as eight bytes, most significant first (RFC 4226 §5.1).
    static func message(_ step: Int64) -> [UInt8] {
        (0..<8).reversed().map { UInt8(truncatingIfNeeded: step >> ($0 * 8)) }
    }

    /// RFC 4226 §5.3.
    /// - Parameter mac: the 20 bytes of HMAC-SHA-1.
    static func text(of mac: [UInt8], digits: Int = digits) -> String {
        let offset = Int((mac.last ?? 0) & 0xF)
        let number = mac.dropFirst(offset).prefix(4).reduce(UInt32(0)) { $0 << 8 | UInt32($1) } & 0x7FFF_FFFF
        let modulus = (0..<digits).reduce(UInt32(1)) { power, _ in power * 10 }
        let text = String(digits < 10 ? number % modulus : number)
        return String(repeating: "0", count: max(0, digits - text.count)) + text
    }

    /// As it was typed, without the spaces that authenticators show; nil where it cannot be one.
    static func typed(_ text: String) -> String? {
        let plain = text.filter { !$0.isWhitespace }
        return plain.utf8.count == digits && plain.utf8.allSatisfy { (48...57).contains($0) } ? plain : nil
    }

    /// What authenticators read from a picture or a link.
    /// - Parameter account: whom the owner sees there: the address.
    static func link(secret: [UInt8], account: String) -> String {
        let label = "TrackMe:" + account.utf8.map(percentCoded).joined()
        return "otpauth://totp/\(label)?secret=\(base32(secret))&issuer=TrackMe&algorithm=SHA1&digits=\(digits)&period=\(period)"
    }

    private static func percentCoded(_ byte: UInt8) -> String {
        let character = Character(UnicodeScalar(byte))
        if byte < 128, character.isLetter || character.isNumber || "-._~".contains(character) { return String(character) }
        return "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
    }

    /// RFC 4648 §6, without padding, as authenticators take it.
    static func base32(_ bytes: [UInt8]) -> String {
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567")
        let bits = bytes.flatMap { byte in (0..<8).reversed().map { byte >> $0 & 1 } }
        return stride(from: 0, to: bits.count, by: 5).reduce(into: "") { text, start in
            let group = bits[start..<min(start + 5, bits.count)]
            let value = group.reduce(UInt8(0)) { $0 << 1 | $1 } << UInt8(5 - group.count)
            text.append(alphabet[Int(value)])
        }
    }
}

/// Which passwords of one secret were taken, as their steps. All of them are remembered, not the last one alone: where it was taken while
/// the clock was ahead, it would keep its owner out until the clock reaches it or, passed over, let those before it be taken again.
struct UsedSteps: Hashable, Sendable {
    /// More than anybody logs in while a clock is wrong.
    static let longest = 64

    /// Neither it nor an earlier one is taken, whatever the clock says: the last one that is remembered no longer by itself.
    private(set) var floor: Int64 = 0
    /// Ascending; all of them later than `floor`.
    private(set) var steps: [Int64] = []

    /// The steps whose passwords are taken now, oldest first: none that has been used, and none before it. One that lies further ahead than
    /// any password that is taken now was used while the clock was wrong: it holds up nobody until its time has come, and is refused then.
    func open(at now: Timestamp) -> [Int64] {
        let newest = OneTimePassword.step(at: now) + OneTimePassword.window
        return OneTimePassword.steps(at: now, after: steps.last { $0 <= newest } ?? floor)
    }

    mutating func use(_ step: Int64) {
        steps.insert(step, at: steps.firstIndex { $0 > step } ?? steps.endIndex)
        if steps.count > Self.longest { floor = steps.removeFirst() }
    }
}

extension UsedSteps {
    /// As it is stored.
    init(floor: Int64, written: String) {
        (self.floor, steps) = (floor, written.split(separator: " ").compactMap { Int64($0) })
    }

    var written: String { steps.map(String.init).joined(separator: " ") }
}

/// What is good once in place of a one-time password, for whoever has lost the authenticator.
enum RecoveryCode {
    /// Given at an enrolment.
    static let count = 8
    /// Random bytes that one takes: 120 bits, so that a plain digest of it may be stored (ASVS 5.0, 6.5.2).
    static let randomBytes = 15
    private static let characters = 24
    private static let group = 6

    /// Twenty-four letters and digits in groups of six, without those that are mistaken for one another.
    static func make(from random: [UInt8]) -> String {
        let bits = random.prefix(randomBytes).reduce(UInt128(0)) { $0 << 8 | UInt128($1) }
        let digits = Array(Crockford.encode(bits).suffix(characters))
        return stride(from: 0, to: characters, by: group).map { String(digits[$0..<$0 + group]) }.joined(separator: "-")
    }

    /// As it was typed, without case and separators; nil where it cannot be one.
    static func typed(_ text: String) -> String? {
        let plain = text.lowercased().filter { $0 != "-" && !$0.isWhitespace }
        return plain.utf8.count == characters && plain.utf8.allSatisfy { $0 < 128 } ? plain : nil
    }
}
