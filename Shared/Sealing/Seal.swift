// Authenticated encryption of what is personal, before it reaches a file.

import COpenSSL

/// AES-256-GCM. Sealed form: `0x01`, 12 random bytes of nonce, the cipher text, 16 bytes of tag.
///
/// `context` is not stored and must be the same at opening: it binds a seal to its place (table, person, row), so that a cipher
/// text that somebody moves elsewhere does not open.
package enum Seal {
    /// First byte of every seal; another one does not open.
    package static let version: UInt8 = 1
    static let nonceLength = 12
    static let tagLength = 16
    /// How much longer a sealed message is than the plain one.
    package static let overhead = 1 + nonceLength + tagLength

    /// - Throws: `library` only.
    package static func seal(
        _ plain: some Collection<UInt8>, key: SymmetricKey, context: some Collection<UInt8>
    ) throws(SealingError) -> [UInt8] {
        var failed = false
        let sealed = withBytes(of: plain) { plain in
            withBytes(of: context) { context in
                [UInt8](unsafeUninitializedCapacity: plain.count + overhead) { buffer, filled in
                    let output = UnsafeMutableRawBufferPointer(buffer)
                    failed = !seal(plain, key, context, into: output)
                    filled = failed ? 0 : output.count
                }
            }
        }
        if failed { throw .library }
        return sealed
    }

    /// - Throws: `cannotOpen` for anything that is not, byte for byte, what `seal` gave for this key and context.
    package static func open(
        _ sealed: some Collection<UInt8>, key: SymmetricKey, context: some Collection<UInt8>
    ) throws(SealingError) -> [UInt8] {
        var failed = true
        let plain: [UInt8] = withBytes(of: sealed) { sealed in
            guard sealed.count >= overhead, sealed[0] == version else { return [] }
            return withBytes(of: context) { context in
                [UInt8](unsafeUninitializedCapacity: sealed.count - overhead) { buffer, filled in
                    failed = !open(sealed, key, context, into: UnsafeMutableRawBufferPointer(buffer))
                    filled = failed ? 0 : sealed.count - overhead
                }
            }
        }
        if failed { throw .cannotOpen }
        return plain
    }
}

// MARK: The library's calls

extension Seal {
    private static func seal(
        _ plain: UnsafeRawBufferPointer, _ key: SymmetricKey, _ context: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer
    ) -> Bool {
        output[0] = version
        let nonce = UnsafeMutableRawBufferPointer(rebasing: output[1..<1 + nonceLength])
        Random.fillNonce(nonce)
        let text = output.baseAddress?.advanced(by: 1 + nonceLength).assumingMemoryBound(to: UInt8.self)
        let tag = output.baseAddress?.advanced(by: 1 + nonceLength + plain.count)
        return CipherContext.borrow { cipher in
            var count: Int32 = 0
            return key.withBytes { key in
                EVP_EncryptInit_ex2(cipher, Algorithms.aes256GCM, bytes(key), bytes(UnsafeRawBufferPointer(nonce)), nil)
            } == 1
                && (context.isEmpty || EVP_EncryptUpdate(cipher, nil, &count, bytes(context), Int32(context.count)) == 1)
                && (plain.isEmpty || EVP_EncryptUpdate(cipher, text, &count, bytes(plain), Int32(plain.count)) == 1)
                && EVP_EncryptFinal_ex(cipher, text?.advanced(by: plain.count), &count) == 1
                && EVP_CIPHER_CTX_ctrl(cipher, EVP_CTRL_AEAD_GET_TAG, Int32(tagLength), tag) == 1
        }
    }

    private static func open(
        _ sealed: UnsafeRawBufferPointer, _ key: SymmetricKey, _ context: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer
    ) -> Bool {
        let nonce = UnsafeRawBufferPointer(rebasing: sealed[1..<1 + nonceLength])
        let text = UnsafeRawBufferPointer(rebasing: sealed[(1 + nonceLength)..<(sealed.count - tagLength)])
        var tag = Array(sealed[(sealed.count - tagLength)...])
        let plain = output.baseAddress?.assumingMemoryBound(to: UInt8.self)
        var rest: [UInt8] = [0]
        return CipherContext.borrow { cipher in
            var count: Int32 = 0
            return key.withBytes { key in EVP_DecryptInit_ex2(cipher, Algorithms.aes256GCM, bytes(key), bytes(nonce), nil) } == 1
                && (context.isEmpty || EVP_DecryptUpdate(cipher, nil, &count, bytes(context), Int32(context.count)) == 1)
                && (text.isEmpty || EVP_DecryptUpdate(cipher, plain, &count, bytes(text), Int32(text.count)) == 1)
                && EVP_CIPHER_CTX_ctrl(cipher, EVP_CTRL_AEAD_SET_TAG, Int32(tagLength), &tag) == 1
                && EVP_DecryptFinal_ex(cipher, &rest, &count) == 1
        }
    }

    private static func bytes(_ buffer: UnsafeRawBufferPointer) -> UnsafePointer<UInt8>? {
        buffer.baseAddress?.assumingMemoryBound(to: UInt8.self)
    }
}
