// Names of people and things: a prefix that says what it is and 128 random bits, as written in URLs and on the bus.

/// What an identifier names; its prefix keeps a person's id from being taken for a device's.
package protocol Identified: Sendable {
    static var prefix: String { get }
}

/// A prefix and 26 lower-case Crockford base32 digits (`per_01h2…`): 128 bits, from the system's random source unless
/// derived. Written as that string in JSON; stores keep the 16 bytes.
package struct Identifier<Kind: Identified>: Hashable, Sendable {
    // Two words, not one UInt128: passed to an async function behind six other words, that one makes debug builds of Swift 6.3 crash.
    private let high: UInt64
    private let low: UInt64

    /// Any 128 bits are an identifier: nothing is checked.
    package init(bits: UInt128) {
        (high, low) = (UInt64(truncatingIfNeeded: bits >> 64), UInt64(truncatingIfNeeded: bits))
    }

    package var bits: UInt128 { UInt128(high) << 64 | UInt128(low) }

    /// For doors, services and tests; domain code is handed its identifiers.
    package static func random() -> Self {
        Self(bits: UInt128.random(in: .min ... .max))
    }

    /// Reads the written form; `nil` for another prefix, a wrong length, a digit outside the alphabet or more than 128 bits.
    package init?(_ text: some StringProtocol) {
        let bytes = Array(text.utf8)
        let prefix = Array(Kind.prefix.utf8)
        guard bytes.count == prefix.count + 1 + Crockford.digits, bytes.starts(with: prefix),
            bytes[prefix.count] == UInt8(ascii: "_"),
            let bits = Crockford.decode(bytes[(prefix.count + 1)...])
        else { return nil }
        self.init(bits: bits)
    }
}

extension Identifier: CustomStringConvertible {
    /// The written form, which `init(_:)` reads.
    package var description: String {
        Kind.prefix + "_" + Crockford.encode(bits)
    }
}

extension Identifier: Codable {
    /// Throws `dataCorrupted` for what `init(_:)` does not read.
    package init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        let text = try container.decode(String.self)
        guard let read = Self(text) else {
            throw DecodingError.dataCorruptedError(
                in: container, debugDescription: "expected \(Kind.prefix)_ and \(Crockford.digits) base32 digits")
        }
        self = read
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(description)
    }
}

extension Identifier {
    /// The 16 bytes that stores keep, most significant first.
    package var bytes: [UInt8] {
        withUnsafeBytes(of: bits.bigEndian, Array.init)
    }

    /// Reads the stored form; `nil` unless there are 16 bytes.
    package init?(bytes: some Collection<UInt8>) {
        guard bytes.count == 16 else { return nil }
        self.init(bits: bytes.reduce(0) { $0 << 8 | UInt128($1) })
    }
}

/// Crockford's base32 in lower case: no i, l, o, u, so that an id can be read aloud.
package enum Crockford {
    /// Digits of 128 bits; the first one carries only three bits.
    package static let digits = 26
    private static let alphabet = Array("0123456789abcdefghjkmnpqrstvwxyz".utf8)

    /// Always 26 digits, zeros in front included.
    package static func encode(_ bits: UInt128) -> String {
        String(unsafeUninitializedCapacity: digits) { buffer in
            var rest = bits
            for index in stride(from: digits - 1, through: 0, by: -1) {
                buffer[index] = alphabet[Int(truncatingIfNeeded: rest & 31)]
                rest >>= 5
            }
            return digits
        }
    }

    /// `nil` unless there are 26 digits of the alphabet, in lower case, that fit into 128 bits.
    package static func decode(_ text: some Collection<UInt8>) -> UInt128? {
        guard text.count == digits, let first = text.first, first <= UInt8(ascii: "7") else { return nil }
        var bits: UInt128 = 0
        for byte in text {
            guard let digit = value(byte) else { return nil }
            bits = bits << 5 | UInt128(digit)
        }
        return bits
    }

    private static func value(_ byte: UInt8) -> UInt8? {
        alphabet.firstIndex(of: byte).map(UInt8.init)
    }
}

/// Whose data they are. The id is the suite's own and says nothing about the person.
package enum Person: Identified { package static let prefix = "per" }
/// A wearable, phone or program that delivers a person's entries.
package enum Device: Identified { package static let prefix = "dev" }
/// Derived from the first critical entry, so that judging the same entries again gives the same emergency.
package enum Emergency: Identified { package static let prefix = "emg" }
/// Who works for an organisation and logs in for it.
package enum Member: Identified { package static let prefix = "mem" }
/// Who runs the suite; sees no health data (ACC-35).
package enum OperatorAccount: Identified { package static let prefix = "opr" }
/// A third party.
package enum Organisation: Identified { package static let prefix = "org" }
/// Software that acts for an organisation, with a secret of its own.
package enum APIClient: Identified { package static let prefix = "cli" }
/// What a third party owes or has paid for one request.
package enum Payment: Identified { package static let prefix = "pay" }
/// An address at a third party that takes what is new.
package enum WebhookEndpoint: Identified { package static let prefix = "end" }
/// One log-in on one device.
package enum Session: Identified { package static let prefix = "ses" }
/// A third party's request for one person's data.
package enum DataRequest: Identified { package static let prefix = "req" }
/// A third party's request for the data of a group.
package enum GroupDataRequest: Identified { package static let prefix = "grp" }
/// What a person's acceptance of a request allows.
package enum Grant: Identified { package static let prefix = "grt" }
/// The signed record of one decision of a person.
package enum Receipt: Identified { package static let prefix = "rcp" }
/// What the notifier brings to somebody.
package enum Message: Identified { package static let prefix = "msg" }
/// One order to erase, named apart from the person.
package enum Erasure: Identified { package static let prefix = "ers" }
/// Long work that is asked for once and finishes later.
package enum Job: Identified { package static let prefix = "job" }
/// A workout or another stretch of time with a path and figures.
package enum Activity: Identified { package static let prefix = "act" }
/// A device's offer to be paired.
package enum Pairing: Identified { package static let prefix = "pai" }

package typealias PersonID = Identifier<Person>
package typealias DeviceID = Identifier<Device>
package typealias EmergencyID = Identifier<Emergency>
package typealias MemberID = Identifier<Member>
package typealias OperatorID = Identifier<OperatorAccount>
package typealias OrganisationID = Identifier<Organisation>
package typealias ClientID = Identifier<APIClient>
package typealias PaymentID = Identifier<Payment>
package typealias WebhookEndpointID = Identifier<WebhookEndpoint>
package typealias SessionID = Identifier<Session>
package typealias RequestID = Identifier<DataRequest>
package typealias GroupRequestID = Identifier<GroupDataRequest>
package typealias GrantID = Identifier<Grant>
package typealias ReceiptID = Identifier<Receipt>
package typealias MessageID = Identifier<Message>
package typealias ErasureID = Identifier<Erasure>
package typealias JobID = Identifier<Job>
package typealias ActivityID = Identifier<Activity>
package typealias PairingID = Identifier<Pairing>
