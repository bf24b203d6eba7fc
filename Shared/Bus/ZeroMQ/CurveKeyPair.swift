// Long-term CURVE keys in the form that libzmq reads.

import CZeroMQ

/// The key pair by which a peer is known on the bus; both halves are 40 characters of Z85. The secret half is never described.
package struct CurveKeyPair: Sendable, CustomStringConvertible, CustomDebugStringConvertible {
    package let publicKey: String
    /// For key files alone; never for a log, an error text or a question.
    package let secretKey: String

    /// Random; throws `zeromq` where libzmq was built without CURVE.
    package static func generate() throws(BusError) -> Self {
        var publicKey = [CChar](repeating: 0, count: 41)
        var secretKey = [CChar](repeating: 0, count: 41)
        guard zmq_curve_keypair(&publicKey, &secretKey) == 0 else { throw BusError(.zeromq, "libzmq was built without CURVE") }
        return Self(trustedPublic: text(publicKey), secret: text(secretKey))
    }

    /// The public half is computed.
    package init(secretKey: String) throws(BusError) {
        guard Z85.isKey(secretKey) else { throw BusError(.invalidKey, "a secret key is 40 characters of Z85") }
        var derived = [CChar](repeating: 0, count: 41)
        guard zmq_curve_public(&derived, secretKey) == 0 else { throw BusError(.invalidKey, "no public key belongs to the secret key") }
        self.init(trustedPublic: text(derived), secret: secretKey)
    }

    /// Throws where the halves do not belong together.
    package init(publicKey: String, secretKey: String) throws(BusError) {
        try self.init(secretKey: secretKey)
        guard self.publicKey == publicKey else { throw BusError(.invalidKey, "the public key does not belong to the secret key") }
    }

    /// Whether it is 40 characters of Z85, as either half is.
    package static func isKey(_ text: String) -> Bool { Z85.isKey(text) }

    private init(trustedPublic: String, secret: String) {
        (publicKey, secretKey) = (trustedPublic, secret)
    }

    /// The public half alone.
    package var description: String { "CurveKeyPair(\(publicKey))" }
    package var debugDescription: String { description }
}

private func text(_ zeroTerminated: [CChar]) -> String {
    String(decoding: zeroTerminated.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
}

/// ZeroMQ's base85 (rfc.zeromq.org/spec/32).
enum Z85 {
    static func isKey(_ text: String) -> Bool {
        guard text.utf8.count == 40 else { return false }
        var bytes = [UInt8](repeating: 0, count: 32)
        return zmq_z85_decode(&bytes, text) != nil
    }

    /// `nil` unless there are the 32 bytes of a key.
    static func encode(key: [UInt8]) -> String? {
        guard key.count == 32 else { return nil }
        var encoded = [CChar](repeating: 0, count: 41)
        guard zmq_z85_encode(&encoded, key, key.count) != nil else { return nil }
        return text(encoded)
    }
}
