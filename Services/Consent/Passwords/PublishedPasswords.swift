// The passwords that everybody who guesses tries first, as a table of short hashes that travels with the executable.

import Contracts
import Foundation
import Sealing

/// 30,000 passwords in the order of their use, as PyPI's zxcvbn 4.5.0 (MIT) has collected them from lists that were published; the file
/// holds the first bytes of each one's SHA-256 in ascending order, made by `Tests/Interop/published_passwords.py`. Hashes, because the words
/// themselves are not for a repository; short, because two of 30,000 hardly ever meet in 40 bits.
struct PublishedPasswords: Sendable {
    /// Of one hash.
    static let bytes = 5
    /// What a list must hold at least to be worth its name.
    static let least = 10_000

    struct NoPasswords: Error, CustomStringConvertible {
        let description = "published-passwords.bin is missing or cut beside the executable; install the service's resources with it"
    }

    private let hashes: [UInt8]

    /// - Throws: `NoPasswords` where the bytes are not such a table.
    init(_ hashes: [UInt8]) throws(NoPasswords) {
        guard hashes.count % Self.bytes == 0, hashes.count / Self.bytes >= Self.least else { throw NoPasswords() }
        self.hashes = hashes
    }

    /// The list that travels with the executable.
    static func shipped() throws -> PublishedPasswords {
        guard let file = Bundle.module.url(forResource: "published-passwords", withExtension: "bin") else { throw NoPasswords() }
        return try PublishedPasswords([UInt8](Data(contentsOf: file)))
    }

    var count: Int { hashes.count / Self.bytes }

    /// - Parameter folded: in lower case, without white space.
    func contain(_ folded: String) -> Bool {
        let wanted = Digest.sha256(Array(folded.utf8)).prefix(Self.bytes)
        var (low, high) = (0, count)
        while low < high {
            let middle = (low + high) / 2
            if self[middle].lexicographicallyPrecedes(wanted) { low = middle + 1 } else { high = middle }
        }
        return low < count && self[low].elementsEqual(wanted)
    }

    /// Whether each hash is there once and in its place; for tests.
    var isInOrder: Bool {
        (1..<count).allSatisfy { self[$0 - 1].lexicographicallyPrecedes(self[$0]) }
    }

    private subscript(_ place: Int) -> ArraySlice<UInt8> {
        hashes[place * Self.bytes..<(place + 1) * Self.bytes]
    }
}
