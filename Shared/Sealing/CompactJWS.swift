// Signed tokens and documents: JSON Web Signatures in their compact form, with Ed25519 and nothing else.

import Contracts
import Foundation

/// JWS (RFC 7515) with `alg` EdDSA (RFC 8037). The algorithm is ours to decide, never the token's: every other one is refused,
/// `none` included, and so is a header that brings or points to a key of its own.
package enum CompactJWS {
    /// Why a token is not taken. Tell callers no more than that it is not valid.
    package enum Refusal: Error, Hashable, Sendable {
        /// Not three parts of base64url, too long, or a header that is not an object of `alg`, `kid` and `typ` alone.
        case malformed
        case otherAlgorithm
        /// Signed for another purpose.
        case otherType
        case unknownKey
        case wrongSignature
    }

    /// Characters.
    package static let longest = 1 << 16
    /// Bytes; a `typ` is bounded alike.
    package static let longestKeyID = 64
    private static let algorithm = "EdDSA"
    private static let longestHeader = 512

    /// `header.payload.signature`.
    /// - Parameters:
    ///   - typ: what the signed thing is, `at+jwt`: a token of one purpose must not serve another.
    ///   - keyID: 1 to 64 printable ASCII characters without quotes and backslashes.
    package static func sign(
        payload: some Collection<UInt8>, typ: String, keyID: String, with key: SigningKey
    ) throws(SealingError) -> String {
        guard isPlain(keyID), isPlain(typ) else { throw .badKey(expected: "1 to \(longestKeyID) printable ASCII characters as key id") }
        let header = "{\"alg\":\"\(algorithm)\",\"kid\":\"\(keyID)\",\"typ\":\"\(typ)\"}"
        let signed = Base64URL.encode(Array(header.utf8)) + "." + Base64URL.encode(payload)
        return signed + "." + Base64URL.encode(try key.sign(Array(signed.utf8)))
    }

    /// The payload, proved.
    /// - Parameter key: gives the key of a `kid`; nil where there is none that may be used now.
    package static func open(_ text: String, typ: String, key: (_ keyID: String) -> VerifyingKey?) throws(Refusal) -> [UInt8] {
        guard text.utf8.count <= longest else { throw .malformed }
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, parts[0].utf8.count <= longestHeader, let header = Base64URL.decode(parts[0]),
            let payload = Base64URL.decode(parts[1]), let signature = Base64URL.decode(parts[2])
        else { throw .malformed }
        let keyID = try keyID(in: header, typ: typ)
        guard let known = key(keyID) else { throw .unknownKey }
        let signed = text.utf8.prefix(parts[0].utf8.count + 1 + parts[1].utf8.count)
        guard known.verify(signature, of: Array(signed)) else { throw .wrongSignature }
        return payload
    }

    /// Header members are strings, and these three alone: whatever else stood there (`crit`, `jwk`, `jku`, `x5u`, `b64`) would have
    /// to be understood, so it is refused.
    private static func keyID(in header: [UInt8], typ: String) throws(Refusal) -> String {
        guard let members = try? CheckedJSON.decode([String: String].self, from: header),
            Set(members.keys).isSubset(of: ["alg", "kid", "typ"])
        else { throw .malformed }
        guard members["alg"] == algorithm else { throw .otherAlgorithm }
        guard members["typ"] == typ else { throw .otherType }
        guard let keyID = members["kid"], isPlain(keyID) else { throw .unknownKey }
        return keyID
    }

    private static func isPlain(_ text: String) -> Bool {
        (1...longestKeyID).contains(text.utf8.count)
            && text.utf8.allSatisfy { (0x21...0x7e).contains($0) && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\") }
    }
}
