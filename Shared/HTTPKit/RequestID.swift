// The name of one request in answers and logs.

import Contracts
import Synchronization

enum RequestID {
    static let longest = 64
    private static let process = UInt128(UInt64.random(in: .min ... .max)) << 64
    private static let counter = Atomic<UInt64>(UInt64.random(in: .min ... .max))

    /// Unique; not a secret.
    static func next() -> String {
        Crockford.encode(process | UInt128(counter.wrappingAdd(1, ordering: .relaxed).newValue))
    }

    /// Whether a caller's own id can be taken over into headers and logs: 1 to 64 of `A-Z a-z 0-9 . _ -`.
    static func isSafe(_ text: String) -> Bool {
        let bytes = text.utf8
        guard (1...longest).contains(bytes.count) else { return false }
        return bytes.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
                UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "-"):
                true
            default: false
            }
        }
    }
}
