// Where receipts are signed, so that either side can prove later what was allowed and when it ended.

import Contracts
import Foundation
import Sealing

/// Signs with a key that serves nothing else.
struct ReceiptService: Sendable {
    /// What the signed thing is: no token of another purpose passes for a receipt.
    static let type = "consent-receipt+jws"

    private let key: SigningKey
    /// Names the key in every receipt; follows from the key itself.
    let keyID: String

    init(_ key: SigningKey) {
        self.key = key
        keyID = "receipts-" + Hex.encode(Digest.sha256(key.publicKey.bytes).prefix(8))
    }

    var publicKey: VerifyingKey { key.publicKey }

    /// A compact JWS over the receipt's JSON.
    func sign(_ receipt: ConsentReceipt) throws -> String {
        let encoder = JSONEncoder()
        encoder.keyEncodingStrategy = .convertToSnakeCase
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return try CompactJWS.sign(payload: encoder.encode(receipt), typ: Self.type, keyID: keyID, with: key)
    }
}
