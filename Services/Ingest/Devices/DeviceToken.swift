// A device's token: a secret, and in which shard its person is.

import Contracts
import Sealing

/// `tmd_`, the two characters of the person's shard, a dot, and 256 random bits in base64url. The shard tells a proxy where to pass
/// requests on to; it is no secret and proves nothing. Tokens that were given before have no shard and no dot, and stay valid.
struct DeviceToken: Sendable {
    /// Of a token that is given now, for schemas.
    static let pattern = "^\(prefix)[0-9a-hjkmnp-tv-z]{2}[.][A-Za-z0-9_-]{43}$"
    private static let prefix = "tmd_"

    /// The token without its shard, of which the keyed look-up is made: a pairing's is stored before anybody knows whose the device will be.
    let secret: String
    var shard: VirtualShard?

    init(bits: [UInt8], shard: VirtualShard? = nil) {
        (secret, self.shard) = (Self.prefix + Base64URL.encode(bits), shard)
    }

    static func random(of person: PersonID) -> DeviceToken {
        DeviceToken(bits: Random.bytes(32), shard: VirtualShard(of: person))
    }

    /// What a caller shows may be anything: without a shard in its place it is secret as a whole.
    init(text: String) {
        let parts = text.dropFirst(Self.prefix.count).split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
        guard text.hasPrefix(Self.prefix), parts.count == 2, let shard = VirtualShard(parts[0]) else {
            (secret, self.shard) = (text, nil)
            return
        }
        (secret, self.shard) = (Self.prefix + String(parts[1]), shard)
    }

    var text: String {
        guard let shard else { return secret }
        return "\(Self.prefix)\(shard).\(secret.dropFirst(Self.prefix.count))"
    }

    /// Whether it can be this person's. Does not check its secret.
    func mayBe(of person: PersonID) -> Bool {
        shard == nil || shard == VirtualShard(of: person)
    }
}
