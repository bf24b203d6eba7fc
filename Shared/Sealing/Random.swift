// Bytes that nobody can foresee.

import COpenSSL

package enum Random {
    /// From OpenSSL's generator, which the kernel seeds.
    package static func bytes(_ count: Int) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            fill(UnsafeMutableRawBufferPointer(buffer))
            filled = count
        }
    }

    static func fill(_ buffer: UnsafeMutableRawBufferPointer) {
        guard buffer.count > 0 else { return }
        let done = RAND_bytes(buffer.bindMemory(to: UInt8.self).baseAddress, Int32(buffer.count))
        // A key or nonce that can be guessed is worse than a service that is down.
        precondition(done == 1, "no randomness to be had")
    }
}
