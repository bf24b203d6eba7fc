// What callers are told where a store cannot take what they sent.

package import HTTPKit
package import Storage

extension StoreError: ErrorForCallers {
    /// What passes by itself is put off; nothing was stored that was not acknowledged.
    package var refusal: Refusal? {
        switch self {
        case .full: Refusal(.insufficientStorage, retryAfter: .seconds(60))
        case .busy, .undone, .closed: Refusal(.unavailable, retryAfter: .seconds(1))
        default: nil
        }
    }
}
