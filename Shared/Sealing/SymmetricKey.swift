// A secret of 32 bytes.

import COpenSSL

/// Key of AES-256-GCM or HMAC-SHA-256. Its bytes are in one place and overwritten when the last reference goes; it has no
/// description and is not codable, so that it does not reach a log.
///
/// One key seals at most 2^32 messages, since nonces are random (NIST SP 800-38D §8.3).
// `@unchecked`: the memory is written in `init` alone and freed in `deinit`.
package final class SymmetricKey: @unchecked Sendable {
    /// Bytes.
    package static let length = 32

    private let memory: UnsafeMutableRawBufferPointer

    private init(fill: (UnsafeMutableRawBufferPointer) -> Void) {
        memory = .allocate(byteCount: SymmetricKey.length, alignment: 16)
        fill(memory)
    }

    deinit {
        OPENSSL_cleanse(memory.baseAddress, memory.count)
        memory.deallocate()
    }

    package static func random() -> SymmetricKey {
        SymmetricKey { Random.fill($0) }
    }

    /// - Throws: `badKey` unless there are 32 bytes.
    package convenience init(bytes: some Collection<UInt8>) throws(SealingError) {
        guard bytes.count == SymmetricKey.length else { throw .badKey(expected: "\(SymmetricKey.length) bytes") }
        self.init { $0.copyBytes(from: bytes) }
    }

    /// A key for one purpose, from which neither this key nor that of another purpose can be computed:
    /// HMAC-SHA-256 of the purpose's name.
    package func derived(for purpose: String) -> SymmetricKey {
        let bytes = Digest.hmacSHA256(Array(purpose.utf8), key: self)
        return SymmetricKey { $0.copyBytes(from: bytes) }
    }

    /// The bytes must not leave `body`: they are gone with the key.
    package func withBytes<Value>(_ body: (UnsafeRawBufferPointer) throws -> Value) rethrows -> Value {
        try body(UnsafeRawBufferPointer(memory))
    }

    /// A copy of the bytes, for wrapping and key files.
    package var bytes: [UInt8] { Array(memory) }
}
