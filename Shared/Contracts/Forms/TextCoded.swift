// Values that a text says, in forms and in JSON alike.

/// A value that is coded as its text. What is no such text is refused when it is read, so that whoever has one need not look again.
package protocol TextCoded: Codable {
    /// What the text is of, for the refusal: `an e-mail address`.
    static var kind: String { get }

    var text: String { get }

    /// Nil for a text that says no such value.
    init?(_ text: String)
}

extension TextCoded {
    /// - Throws: `DecodingError.dataCorrupted` where `init(_:)` gives nil; never with the text.
    package init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        guard let read = Self(try container.decode(String.self)) else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "expected \(Self.kind)")
        }
        self = read
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(text)
    }
}
