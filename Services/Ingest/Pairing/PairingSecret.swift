// What a device holds while it offers itself; its numbers and its token follow from it, so that nothing readable has to be kept.

import Contracts
import Sealing

/// 256 random bits that only the device knows. The service keeps digests of what follows from them.
struct PairingSecret: Sendable {
    private static let prefix = "tmp_"
    private let bytes: [UInt8]

    static func random() -> PairingSecret {
        PairingSecret(bytes: Random.bytes(32))
    }

    private init(bytes: [UInt8]) {
        self.bytes = bytes
    }

    /// nil for what is not spelt as `text` spells it.
    init?(text: String) {
        guard text.hasPrefix(Self.prefix), let bytes = Base64URL.decode(text.dropFirst(Self.prefix.count)), bytes.count == 32 else {
            return nil
        }
        self.bytes = bytes
    }

    var text: String { Self.prefix + Base64URL.encode(bytes) }

    /// The numbers that the device shows one after the other, each unlike the one before.
    func numbers(of pairing: PairingID) -> [String] {
        var numbers: [String] = []
        var round = 0
        while numbers.count < PairingOffer.wrongNumbers {
            let digest = Digest.hmacSHA256(Array("pairing-number|\(pairing)|\(round)".utf8), keyBytes: bytes)
            let value = digest.prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) } % 1_000_000
            let digits = String(value)
            let number = String(repeating: "0", count: PairingOffer.digits - digits.count) + digits
            if numbers.last != number { numbers.append(number) }
            round += 1
        }
        return numbers
    }

    /// Without a shard: whose device it will be is not known yet.
    func token(of pairing: PairingID) -> DeviceToken {
        DeviceToken(bits: Digest.hmacSHA256(Array("device-token|\(pairing)".utf8), keyBytes: bytes))
    }
}

/// What a device with a key of its own signs, so that it proves to hold it.
enum PairingTranscript {
    static func text(_ pairing: PairingID, number: String) -> [UInt8] {
        Array("trackme-pairing.v1|\(pairing)|\(number)".utf8)
    }
}
