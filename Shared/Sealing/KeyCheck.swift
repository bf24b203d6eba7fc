// Whether a key is the one that was there before, told without keeping the key.

/// A known value, sealed: what data lie under a key keeps it, and whoever starts with a key tries to open it first.
package enum KeyCheck {
    private static let known = Array("trackme".utf8)

    /// - Parameter name: of the key; the check of one key is none of another's.
    package static func make(under key: SymmetricKey, named name: String) throws(SealingError) -> [UInt8] {
        try Seal.seal(known, key: key, context: context(name))
    }

    /// False for another key, another name and a check that was changed.
    package static func isPassed(_ check: some Collection<UInt8>, by key: SymmetricKey, named name: String) -> Bool {
        (try? Seal.open(check, key: key, context: context(name))) == known
    }

    private static func context(_ name: String) -> [UInt8] { Array("key-check \(name)".utf8) }
}

extension KeyEncryptionKey {
    /// As `KeyCheck.make`.
    package func makeCheck(named name: String) throws(SealingError) -> [UInt8] {
        try KeyCheck.make(under: key, named: name)
    }

    /// As `KeyCheck.isPassed`.
    package func passes(_ check: some Collection<UInt8>, named name: String) -> Bool {
        KeyCheck.isPassed(check, by: key, named: name)
    }
}
