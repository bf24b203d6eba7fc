// SHA-256 of a message that comes in pieces.

import COpenSSL

/// FIPS 180-4, without the whole message in memory. Used by one task at a time.
package final class RunningDigest {
    private let context: OpaquePointer

    package init() {
        // A digest fails only where memory or the library is missing; there is no digest to go on with.
        guard let context = EVP_MD_CTX_new(), EVP_DigestInit_ex2(context, Algorithms.sha256, nil) == 1 else {
            preconditionFailure("no digest to be had")
        }
        self.context = context
    }

    deinit {
        EVP_MD_CTX_free(context)
    }

    /// In order, in pieces of any size.
    package func add(_ bytes: some Collection<UInt8>) {
        withBytes(of: bytes) { piece in
            precondition(piece.isEmpty || EVP_DigestUpdate(context, piece.baseAddress, piece.count) == 1, "no digest to be had")
        }
    }

    /// Of everything that was added; further pieces must not come.
    package func finish() -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: Digest.length) { buffer, filled in
            precondition(EVP_DigestFinal_ex(context, buffer.baseAddress, nil) == 1, "no digest to be had")
            filled = Digest.length
        }
    }
}
