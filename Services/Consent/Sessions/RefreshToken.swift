// What a device shows to stay logged in: opaque, good once, and stored as digests alone.

import Sealing

/// 128 random bits that name a session's family of tokens, and 256 that are new with every refresh. Whoever shows a family with
/// another secret than today's holds a token that has been spent, so that no list of spent ones is needed.
struct RefreshToken: Hashable, Sendable {
    private static let familyBytes = 16
    private static let secretBytes = 32
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

    /// The next one of the same session.
    func successor() -> RefreshToken {
        RefreshToken(family: family, secret: Random.bytes(Self.secretBytes))
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
