// Bytes that nobody can foresee.

import COpenSSL
import Synchronization

/// Ends the process rather than give bytes that can be guessed.
package enum Random {
    /// From OpenSSL's generator, which the kernel seeds.
    package static func bytes(_ count: Int) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            fill(UnsafeMutableRawBufferPointer(buffer))
            filled = count
        }
    }

    /// Bytes that need not be secret, only never come again: drawn many at a time, since each drawing has its price.
    static func fillNonce(_ buffer: UnsafeMutableRawBufferPointer) {
        nonces.withLock { drawn in
            if drawn.left.count < buffer.count {
                drawn.left = bytes(nonceBytesAtOnce)[...]
            }
            buffer.copyBytes(from: drawn.left.prefix(buffer.count))
            drawn.left.removeFirst(buffer.count)
        }
    }

    private struct Drawn {
        var left: ArraySlice<UInt8> = []
    }

    private static let nonceBytesAtOnce = 3072
    private static let nonces = Mutex(Drawn())

    static func fill(_ buffer: UnsafeMutableRawBufferPointer) {
        guard buffer.count > 0 else { return }
        let done = RAND_bytes(buffer.bindMemory(to: UInt8.self).baseAddress, Int32(buffer.count))
        // A key or nonce that can be guessed is worse than a service that is down.
        precondition(done == 1, "no randomness to be had")
    }
}
