// SHA-256, HMAC-SHA-256, and comparison that takes as long for a near miss as for a far one.

import COpenSSL

/// Nothing here throws: where the library has no digest to give, the process ends.
package enum Digest {
    /// Bytes of a digest.
    package static let length = 32

    /// FIPS 180-4.
    package static func sha256(_ message: some Collection<UInt8>) -> [UInt8] {
        withBytes(of: message) { bytes in
            result { output in
                var length: UInt32 = 0
                return EVP_Digest(bytes.baseAddress, bytes.count, output, &length, Algorithms.sha256, nil)
            }
        }
    }

    /// RFC 2104 with SHA-256, keyed with the 32 bytes of `key`.
    package static func hmacSHA256(_ message: some Collection<UInt8>, key: SymmetricKey) -> [UInt8] {
        key.withBytes { hmacSHA256(message, keyBytes: $0) }
    }

    /// RFC 2104 with SHA-256, for keys whose length a standard leaves open.
    package static func hmacSHA256(_ message: some Collection<UInt8>, keyBytes key: some Collection<UInt8>) -> [UInt8] {
        withBytes(of: message) { bytes in
            withBytes(of: key) { key in
                result { output in
                    var length: UInt32 = 0
                    // A null key would mean: go on with the last one.
                    let start = key.baseAddress ?? UnsafeRawPointer(output)
                    let text = bytes.bindMemory(to: UInt8.self).baseAddress
                    return HMAC(Algorithms.sha256, start, Int32(key.count), text, bytes.count, output, &length) == nil ? 0 : 1
                }
            }
        }
    }

    /// RFC 2104 with SHA-1, as one-time passwords need it (RFC 4226): 20 bytes. For nothing else.
    package static func hmacSHA1(_ message: some Collection<UInt8>, keyBytes key: some Collection<UInt8>) -> [UInt8] {
        let mac = withBytes(of: message) { bytes in
            withBytes(of: key) { key in
                result { output in
                    var length: UInt32 = 0
                    // A null key would mean: go on with the last one.
                    let start = key.baseAddress ?? UnsafeRawPointer(output)
                    let text = bytes.bindMemory(to: UInt8.self).baseAddress
                    return HMAC(Algorithms.sha1, start, Int32(key.count), text, bytes.count, output, &length) == nil ? 0 : 1
                }
            }
        }
        return Array(mac.prefix(sha1Length))
    }

    private static let sha1Length = 20

    /// Whether they are equal, in a time that depends on the lengths alone.
    package static func constantTimeEqual(_ one: some Collection<UInt8>, _ other: some Collection<UInt8>) -> Bool {
        withBytes(of: one) { one in
            withBytes(of: other) { other in
                guard one.count == other.count else { return false }
                guard let start = one.baseAddress, let otherStart = other.baseAddress else { return true }
                return CRYPTO_memcmp(start, otherStart, one.count) == 0
            }
        }
    }

    private static func result(_ compute: (UnsafeMutablePointer<UInt8>) -> Int32) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: length) { buffer, filled in
            // Digests fail only where memory or the library is missing; there is no digest to go on with.
            guard let start = buffer.baseAddress, compute(start) == 1 else { preconditionFailure("no digest to be had") }
            filled = length
        }
    }
}

/// Lends the bytes without copying them where they lie in one piece, as those of arrays, slices and strings do.
func withBytes<Value>(of bytes: some Collection<UInt8>, _ body: (UnsafeRawBufferPointer) throws -> Value) rethrows -> Value {
    if let value = try bytes.withContiguousStorageIfAvailable({ try body(UnsafeRawBufferPointer($0)) }) { return value }
    return try Array(bytes).withUnsafeBytes(body)
}
