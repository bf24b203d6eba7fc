// What a device shows to stay logged in: opaque, good once, and stored as digests alone.

import Sealing

/// 128 random bits that name a session's family of tokens, and 256 that are new with every refresh. Whoever shows a family with
/// another secret than today's holds a token that has been spent, so that no list of spent ones is needed.
struct RefreshToken: Hashable, Sendable {
    private static let familyBytes = 16
    private static let secretBytes = 32
    /// How many refreshes a restore may have lost: five weeks of one each ten minutes.
    private static let mostSuccessors = 5000
    /// Characters of the written form.
    static let length = 64

    private let family: [UInt8]
    private let secret: [UInt8]

    private init(family: [UInt8], secret: [UInt8]) {
        (self.family, self.secret) = (family, secret)
    }

    static func random() -> RefreshToken {
        RefreshToken(family: Random.bytes(familyBytes), secret: Random.bytes(secretBytes))
    }

    /// Nil for what was never a token.
    init?(_ text: String) {
        guard text.utf8.count == Self.length, let bytes = Base64URL.decode(text), bytes.count == Self.familyBytes + Self.secretBytes else {
            return nil
        }
        self.init(family: Array(bytes.prefix(Self.familyBytes)), secret: Array(bytes.suffix(Self.secretBytes)))
    }

    /// The next one of the same session. It follows from the digest of this one and a key that is in no store: nobody can guess it, and a
    /// store that was restored can tell that a token follows one that it knows.
    func successor(under key: SymmetricKey) -> RefreshToken {
        RefreshToken(family: family, secret: Self.secret(after: secretDigest, under: key))
    }

    /// Whether it was given in place of the token with this digest, or of one that was, and so on.
    func follows(_ digest: [UInt8], under key: SymmetricKey) -> Bool {
        var digest = digest
        for _ in 0..<Self.mostSuccessors {
            let next = RefreshToken(family: family, secret: Self.secret(after: digest, under: key))
            if Digest.constantTimeEqual(next.secret, secret) { return true }
            digest = next.secretDigest
        }
        return false
    }

    private static func secret(after digest: [UInt8], under key: SymmetricKey) -> [UInt8] {
        Digest.hmacSHA256(Array("refresh-successor|".utf8) + digest, key: key)
    }

    /// For the one who is to hold it; never for a log.
    var text: String { Base64URL.encode(family + secret) }

    var familyDigest: [UInt8] { Digest.sha256(Array("refresh-family|".utf8) + family) }
    var secretDigest: [UInt8] { Digest.sha256(Array("refresh-secret|".utf8) + family + secret) }

    /// Seals what only the holder of this token may read.
    func key() throws -> SymmetricKey {
        try SymmetricKey(bytes: Digest.sha256(Array("refresh-answer|".utf8) + family + secret))
    }
}
