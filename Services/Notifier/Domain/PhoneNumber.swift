// A telephone number as providers take it.

/// E.164: a plus sign and 8 to 15 digits, the first not zero.
struct PhoneNumber: Hashable, Sendable {
    let text: String

    init?(_ text: String) {
        let digits = text.utf8.dropFirst()
        guard text.utf8.first == UInt8(ascii: "+"), (8...15).contains(digits.count),
            digits.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }), digits.first != UInt8(ascii: "0")
        else { return nil }
        self.text = text
    }
}
