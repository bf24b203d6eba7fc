// Ed25519 (RFC 8032): signatures that anybody with the public key can check.

import COpenSSL

/// The secret half. The library's object holds it and cleans it when the last reference goes.
// `@unchecked`: the object is made in `init` and only read afterwards, which OpenSSL allows to any number of threads.
package final class SigningKey: @unchecked Sendable {
    /// Bytes.
    package static let seedLength = 32
    /// Bytes.
    package static let signatureLength = 64

    private let key: OpaquePointer
    package let publicKey: VerifyingKey

    /// From the 32 bytes of RFC 8032 §5.1.5.
    /// - Throws: `badKey` for another length.
    package init(seed: some Collection<UInt8>) throws(SealingError) {
        let raw = Array(seed)
        guard raw.count == SigningKey.seedLength else { throw .badKey(expected: "a seed of \(SigningKey.seedLength) bytes") }
        guard let made = EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nil, raw, raw.count) else { throw .library }
        var publicBytes = [UInt8](repeating: 0, count: VerifyingKey.length)
        var count = publicBytes.count
        guard EVP_PKEY_get_raw_public_key(made, &publicBytes, &count) == 1, let publicKey = try? VerifyingKey(bytes: publicBytes) else {
            EVP_PKEY_free(made)
            throw .library
        }
        (key, self.publicKey) = (made, publicKey)
    }

    deinit {
        EVP_PKEY_free(key)
    }

    /// Throws `library` alone.
    package static func random() throws(SealingError) -> SigningKey {
        try SigningKey(seed: Random.bytes(seedLength))
    }

    /// A copy of the seed, for key files.
    package func seed() throws(SealingError) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: SigningKey.seedLength)
        var count = bytes.count
        guard EVP_PKEY_get_raw_private_key(key, &bytes, &count) == 1 else { throw .library }
        return bytes
    }

    /// 64 bytes; the same for the same message.
    package func sign(_ message: some Collection<UInt8>) throws(SealingError) -> [UInt8] {
        guard let context = EVP_MD_CTX_new() else { throw .library }
        defer { EVP_MD_CTX_free(context) }
        var signature = [UInt8](repeating: 0, count: SigningKey.signatureLength)
        var count = signature.count
        let isSigned = withBytes(of: message) { message in
            EVP_DigestSignInit(context, nil, nil, nil, key) == 1
                && EVP_DigestSign(context, &signature, &count, message.bindMemory(to: UInt8.self).baseAddress, message.count) == 1
        }
        guard isSigned, count == signature.count else { throw .library }
        return signature
    }
}

/// The public half.
package struct VerifyingKey: Hashable, Sendable {
    /// Bytes.
    package static let length = 32

    /// A point as RFC 8032 §5.1.2 writes it; whether it is one shows in `verify`.
    package let bytes: [UInt8]

    /// - Throws: `badKey` for another length than 32.
    package init(bytes: some Collection<UInt8>) throws(SealingError) {
        guard bytes.count == VerifyingKey.length else { throw .badKey(expected: "a public key of \(VerifyingKey.length) bytes") }
        self.bytes = Array(bytes)
    }

    /// False for every signature that is not this key's for exactly this message, and for a key that is not a point.
    package func verify(_ signature: some Collection<UInt8>, of message: some Collection<UInt8>) -> Bool {
        guard signature.count == SigningKey.signatureLength,
            let key = EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nil, bytes, bytes.count)
        else { return false }
        defer { EVP_PKEY_free(key) }
        guard let context = EVP_MD_CTX_new() else { return false }
        defer { EVP_MD_CTX_free(context) }
        let raw = Array(signature)
        return withBytes(of: message) { message in
            EVP_DigestVerifyInit(context, nil, nil, nil, key) == 1
                && EVP_DigestVerify(context, raw, raw.count, message.bindMemory(to: UInt8.self).baseAddress, message.count) == 1
        }
    }
}
