// Where a person belongs, should a suite be spread over several machines.

/// One of 1,024 parts of all people, told by the last two characters of a person's id, which are its ten low bits. Partitions of streams
/// derive from it, and device tokens carry it, so that whoever passes a request on knows where to without asking anybody.
package struct VirtualShard: Hashable, Sendable {
    package static let count = 1024
    private static let characters = 2

    /// 0 to 1,023.
    package let number: Int

    package init(of person: PersonID) {
        number = Int(truncatingIfNeeded: person.bits & UInt128(Self.count - 1))
    }

    /// Reads `description`; nil for any other text.
    package init?(_ text: some StringProtocol) {
        let zeros = Array(repeating: UInt8(ascii: "0"), count: Crockford.digits - Self.characters)
        guard text.utf8.count == Self.characters, let bits = Crockford.decode(zeros + text.utf8) else { return nil }
        number = Int(truncatingIfNeeded: bits)
    }
}

extension VirtualShard: CustomStringConvertible {
    /// The last two characters of its people's ids.
    package var description: String {
        String(Crockford.encode(UInt128(number)).suffix(Self.characters))
    }
}
