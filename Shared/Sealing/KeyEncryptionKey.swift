// The key that wraps people's keys. It comes from a file of its own and never touches a store.

package import Contracts

/// Wraps by `Seal`, bound to the person whose key it is.
package struct KeyEncryptionKey: Sendable {
    let key: SymmetricKey

    /// From the 32 bytes of a key file.
    package init(bytes: some Collection<UInt8>) throws(SealingError) {
        key = try SymmetricKey(bytes: bytes)
    }

    package init(_ key: SymmetricKey) {
        self.key = key
    }

    /// The person's key as the key store keeps it. Wrapped for one person, it does not unwrap for another.
    package func wrap(_ personal: SymmetricKey, of person: PersonID) throws(SealingError) -> [UInt8] {
        try Seal.seal(personal.bytes, key: key, context: KeyEncryptionKey.context(person))
    }

    /// - Throws: `cannotOpen` where it was wrapped under another key, for another person, or has been changed.
    package func unwrap(_ wrapped: some Collection<UInt8>, of person: PersonID) throws(SealingError) -> SymmetricKey {
        try SymmetricKey(bytes: Seal.open(wrapped, key: key, context: KeyEncryptionKey.context(person)))
    }

    private static func context(_ person: PersonID) -> [UInt8] {
        Array("person-key".utf8) + person.bytes
    }
}
