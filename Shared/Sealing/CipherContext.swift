// The library's working memory for one message, kept for the next.

import COpenSSL
import Synchronization

/// Making a context costs about as much as sealing a short message, so a few are kept. One is lent to one caller at a time and
/// cleaned before it is put back, so that it holds no key in between.
enum CipherContext {
    /// More than the machine runs at once would never be used.
    private static let kept = 32

    /// A context that nobody uses.
    // `@unchecked`: whoever takes it out of the lock is its only user until it is put back.
    private struct Context: @unchecked Sendable {
        let pointer: OpaquePointer
    }

    private static let idle = Mutex<[Context]>([])

    static func borrow(_ body: (OpaquePointer) -> Bool) -> Bool {
        guard let context = idle.withLock({ $0.popLast() }) ?? EVP_CIPHER_CTX_new().map(Context.init) else { return false }
        defer { giveBack(context) }
        return body(context.pointer)
    }

    private static func giveBack(_ context: Context) {
        let isClean = EVP_CIPHER_CTX_reset(context.pointer) == 1
        let isKept = idle.withLock { idle in
            guard isClean, idle.count < kept else { return false }
            idle.append(context)
            return true
        }
        if !isKept { EVP_CIPHER_CTX_free(context.pointer) }
    }
}
