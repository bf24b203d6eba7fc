// Passwords at rest: only a salted hash that is costly to compute, so that a stolen file is of little use.

import COpenSSL
import Foundation

/// scrypt (RFC 7914) as a PHC string: `$scrypt$ln=15,r=8,p=3$salt$hash`, salt and hash in base64 without padding.
///
/// One hash at the usual cost takes 32 MiB and holds its thread for tens of milliseconds: bound how many run at once.
package enum PasswordHash {
    /// What a hash costs: memory is `128 × r × 2^logN` bytes, time grows with `p` too.
    package struct Cost: Hashable, Sendable {
        /// N as a power of two, 1 to 20.
        package let logN: Int
        /// Size of a block in units of 128 bytes, 1 to 32.
        package let r: Int
        /// Passes that do not depend on each other, 1 to 16.
        package let p: Int

        /// - Parameter n: a power of two, 2 to 2^20.
        package init(n: Int, r: Int, p: Int) {
            (logN, self.r, self.p) = (max(1, n).trailingZeroBitCount, r, p)
        }

        fileprivate init?(logN: Int, r: Int, p: Int) {
            guard (1...20).contains(logN), (1...32).contains(r), (1...16).contains(p) else { return nil }
            (self.logN, self.r, self.p) = (logN, r, p)
        }

        /// N = 2^15, r = 8, p = 3.
        package static let usual = Cost(n: 1 << 15, r: 8, p: 3)

        fileprivate var parameters: String { "ln=\(logN),r=\(r),p=\(p)" }
        /// What the library may use: the large table, the blocks, and some air.
        fileprivate var memory: UInt64 { UInt64(128 * r) * (UInt64(1) << UInt64(logN)) + UInt64(128 * r * p) + (1 << 20) }
    }

    /// Longer ones are refused by `make` and never verify, so that nobody makes the service hash a book.
    package static let longestPassword = 1024
    private static let saltLength = 16
    private static let hashLength = 32

    /// A new hash with a salt of its own.
    /// - Parameter password: hashed in Unicode's composed form (NFC), so that keyboards that spell alike letters differently agree.
    /// - Throws: `badKey` for a password of more than `longestPassword` bytes, `library` where memory is missing.
    package static func make(_ password: String, cost: Cost = .usual) throws(SealingError) -> String {
        try make(normalised(password), salt: Random.bytes(saltLength), cost: cost)
    }

    /// A hash of bytes as they are with a given salt: for test vectors.
    static func make(_ password: [UInt8], salt: [UInt8], cost: Cost) throws(SealingError) -> String {
        guard password.count <= longestPassword else { throw .badKey(expected: "at most \(longestPassword) bytes") }
        guard let hash = derive(password, salt: salt, cost: cost, length: hashLength) else { throw .library }
        return "$scrypt$\(cost.parameters)$\(unpadded(salt))$\(unpadded(hash))"
    }

    /// What looks like a hash and is of no password: to verify against it takes as long as against a real one of that cost, and nothing is
    /// computed to make it, which would be the longest part of a service's start.
    package static func ofNothing(cost: Cost) -> String {
        "$scrypt$\(cost.parameters)$\(unpadded(Random.bytes(saltLength)))$\(unpadded(Random.bytes(hashLength)))"
    }

    /// Whether the password is the one that was hashed; compared in constant time. False for a text that is no such hash.
    package static func verify(_ password: String, against text: String) -> Bool {
        let bytes = normalised(password)
        guard bytes.count <= longestPassword, let parts = Parts(text),
            let hash = derive(bytes, salt: parts.salt, cost: parts.cost, length: parts.hash.count)
        else { return false }
        return Digest.constantTimeEqual(hash, parts.hash)
    }

    /// Whether it was made at another cost than is usual now, or cannot be read: make it anew after the next right password.
    package static func needsRehash(_ text: String, cost: Cost = .usual) -> Bool {
        Parts(text)?.cost != cost
    }

    private static func normalised(_ password: String) -> [UInt8] {
        Array(password.precomposedStringWithCanonicalMapping.utf8)
    }

    static func derive(_ password: [UInt8], salt: [UInt8], cost: Cost, length: Int) -> [UInt8]? {
        var hash = [UInt8](repeating: 0, count: length)
        let done = password.withUnsafeBytes { password in
            // A null password would only test the parameters.
            let start = password.bindMemory(to: CChar.self).baseAddress
            return withUnsafePointer(to: CChar(0)) { empty in
                EVP_PBE_scrypt(
                    start ?? empty, password.count, salt, salt.count, UInt64(1) << UInt64(cost.logN), UInt64(cost.r), UInt64(cost.p),
                    cost.memory, &hash, hash.count)
            }
        }
        return done == 1 ? hash : nil
    }

    /// Base64 as the PHC string format writes it: RFC 4648 §4 without padding.
    private static func unpadded(_ bytes: [UInt8]) -> String {
        String(decoding: Base64.encode(bytes).utf8.filter { $0 != UInt8(ascii: "=") }, as: UTF8.self)
    }

    private struct Parts {
        let cost: Cost
        let salt: [UInt8]
        let hash: [UInt8]

        init?(_ text: String) {
            guard text.utf8.count <= 256 else { return nil }
            let fields = text.split(separator: "$", omittingEmptySubsequences: false)
            guard fields.count == 5, fields[0].isEmpty, fields[1] == "scrypt", let cost = Self.cost(fields[2]),
                let salt = Self.bytes(fields[3]), let hash = Self.bytes(fields[4]), (8...64).contains(salt.count),
                (16...64).contains(hash.count)
            else { return nil }
            (self.cost, self.salt, self.hash) = (cost, salt, hash)
        }

        /// `ln=15,r=8,p=3`, in that order and in no other spelling.
        private static func cost(_ text: Substring) -> Cost? {
            let numbers = text.split(separator: ",").compactMap { pair in pair.split(separator: "=").last.flatMap { Int($0) } }
            guard numbers.count == 3, let cost = Cost(logN: numbers[0], r: numbers[1], p: numbers[2]), cost.parameters == text else {
                return nil
            }
            return cost
        }

        private static func bytes(_ text: Substring) -> [UInt8]? {
            guard !text.contains("=") else { return nil }
            return Base64.decode(text + String(repeating: "=", count: (4 - text.utf8.count % 4) % 4))
        }
    }
}
