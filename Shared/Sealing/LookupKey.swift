// Finding sealed values by equality without storing them readable.

/// Makes the keyed column beside a sealed one: equal values give equal look-ups, and nobody without the key can try values out.
package struct LookupKey: Sendable {
    /// Bytes of a look-up: enough that two values never meet by chance.
    package static let length = 16

    private let key: SymmetricKey

    /// One per column: look-ups of two purposes cannot be compared with each other.
    package init(_ key: SymmetricKey, purpose: String) {
        self.key = key.derived(for: "look-up:" + purpose)
    }

    /// HMAC-SHA-256 cut to 16 bytes.
    /// - Parameter normalised: what must be found alike must be spelt alike: the caller folds case and form first.
    package func lookup(_ normalised: some Collection<UInt8>) -> [UInt8] {
        Array(Digest.hmacSHA256(normalised, key: key).prefix(LookupKey.length))
    }

    /// HMAC-SHA-256 of the text's UTF-8, cut to 16 bytes.
    package func lookup(_ normalised: String) -> [UInt8] {
        lookup(Array(normalised.utf8))
    }
}
