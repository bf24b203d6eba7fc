// Where providers report what became of a message, and how it is known that it is they.

import Contracts
import Sealing

struct ReceiptAddresses: Sendable {
    /// Bytes of a token that nobody guesses.
    private static let tokenBytes = 16

    /// Where providers reach this service: scheme, host and port.
    let origin: String
    private let key: SymmetricKey

    init(origin: String, key: SymmetricKey) {
        (self.origin, self.key) = (origin, key)
    }

    /// Kannel's `dlr-url`; it puts its status in place of `%d`.
    func kannel(_ message: MessageID, attempt: Int) -> String {
        "\(origin)/notify/v1/receipts/kannel?message=\(message)&attempt=\(attempt)&token=\(token(message, attempt))&status=%d"
    }

    /// Receipts of the signed gateway.
    var gateway: String { "\(origin)/notify/v1/receipts" }

    /// Good for one attempt of one message.
    func token(_ message: MessageID, _ attempt: Int) -> String {
        Hex.encode(Digest.hmacSHA256(Array("receipt|\(message)|\(attempt)".utf8), key: key).prefix(ReceiptAddresses.tokenBytes))
    }

    func isToken(_ token: String, of message: MessageID, attempt: Int) -> Bool {
        Digest.constantTimeEqual(Array(token.utf8), Array(self.token(message, attempt).utf8))
    }
}
