// What can go wrong with keys, seals and signatures.

/// Never says more than a stranger may know: a wrong key, a wrong context and a changed byte are the same error.
package enum SealingError: Error, Hashable, Sendable {
    /// Not sealed under this key and context, or changed since.
    case cannotOpen
    /// A key or secret has another length or spelling than it must; `expected` says which.
    case badKey(expected: String)
    /// A webhook signature lacks a part or has one that cannot be read.
    case badSignatureHeader
    /// A webhook was signed too long ago, or too far in the future.
    case staleSignature
    /// None of the signatures fits the message and one of the keys.
    case wrongSignature
    /// The library refused an operation that cannot fail on a healthy machine.
    case library
}
