// What stands for a token in memory, cheaper than its digest.

/// 128 bits of SipHash under keys that this process drew and nobody else knows: who cannot see the keys cannot find another token with
/// the same fingerprint. Lasts as long as the process and is never stored.
struct TokenFingerprint: Sendable {
    private let first = (UInt64.random(in: 0 ... .max), UInt64.random(in: 0 ... .max))
    private let second = (UInt64.random(in: 0 ... .max), UInt64.random(in: 0 ... .max))

    func of(_ token: String) -> UInt128 {
        UInt128(half(token, first)) << 64 | UInt128(half(token, second))
    }

    private func half(_ token: String, _ key: (UInt64, UInt64)) -> UInt64 {
        var hasher = Hasher()
        hasher.combine(key.0)
        hasher.combine(key.1)
        hasher.combine(token)
        return UInt64(bitPattern: Int64(hasher.finalize()))
    }
}
