// The library's algorithms, looked up once: a look-up by name costs more than the work on a short message.

import COpenSSL

enum Algorithms {
    // `nonisolated(unsafe)`: OpenSSL's fetched algorithms are immutable and may be used by any thread.
    nonisolated(unsafe) static let aes256GCM = EVP_CIPHER_fetch(nil, "AES-256-GCM", nil)
    // As above. For one-time passwords alone, where RFC 6238 has it and no collision matters.
    nonisolated(unsafe) static let sha1 = EVP_MD_fetch(nil, "SHA1", nil)
    // As above.
    nonisolated(unsafe) static let sha256 = EVP_MD_fetch(nil, "SHA2-256", nil)
}
