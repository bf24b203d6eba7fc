// What a stranger sends to keep a reader of JSON busy, and how long a reader may take over it.

import Glibc

/// One kind of body, of any size.
package struct HostileBody: Sendable, CustomStringConvertible {
    package let name: String
    private let make: @Sendable (Int) -> String

    private init(_ name: String, _ make: @escaping @Sendable (_ bytes: Int) -> String) {
        (self.name, self.make) = (name, make)
    }

    package var description: String { name }

    /// About so many bytes of it.
    package func bytes(_ count: Int) -> [UInt8] { Array(make(count).utf8) }

    private static func times(_ unit: String, _ bytes: Int) -> String {
        String(repeating: unit, count: max(1, bytes / unit.utf8.count))
    }

    /// What `unit` makes of 0, 1, 2, …, until it is so many bytes.
    private static func numbered(_ bytes: Int, _ open: String, _ close: String, _ unit: (Int) -> String) -> String {
        var (text, index) = (open, 0)
        while text.utf8.count < bytes {
            if index > 0 { text += "," }
            text += unit(index)
            index += 1
        }
        return text + close
    }

    package static let all: [HostileBody] = [
        HostileBody("arrays that never close") { times("[", $0) },
        HostileBody("arrays in arrays") { times("[", $0 / 2) + times("]", $0 / 2) },
        HostileBody("objects in objects") { times("{\"a\":", $0 - $0 / 6) + "1" + times("}", $0 / 6) },
        // The body that hung consent: decoders of nesting give up beyond 512 levels, and take their time up to there.
        HostileBody("511 objects in objects, again and again") { bytes in
            numbered(bytes, "[", "]") { _ in String(repeating: "{\"a\":", count: 511) + "1" + String(repeating: "}", count: 511) }
        },
        HostileBody("objects in objects, as deep as may be") { bytes in
            numbered(bytes, "[", "]") { _ in String(repeating: "{\"a\":", count: 30) + "1" + String(repeating: "}", count: 30) }
        },
        HostileBody("numbers") { numbered($0, "[", "]") { "\($0 % 10)" } },
        HostileBody("empty arrays") { numbered($0, "[", "]") { _ in "[]" } },
        HostileBody("empty objects") { numbered($0, "[", "]") { _ in "{}" } },
        HostileBody("objects of one member") { numbered($0, "[", "]") { _ in "{\"a\":1}" } },
        HostileBody("identifiers") { numbered($0, "[", "]") { _ in "\"per_0123456789abcdefghjkmnpqr\"" } },
        HostileBody("members") { numbered($0, "{", "}") { "\"m\($0)\":1" } },
        HostileBody("small objects beside a large one") { bytes in
            numbered(bytes / 2, "[{", "}") { "\"m\($0)\":1" } + "," + numbered(bytes / 2, "", "]") { _ in "{\"a\":1}" }
        },
        HostileBody("one name again and again") { numbered($0, "{", "}") { _ in "\"a\":1" } },
        HostileBody("one name, escaped otherwise") { numbered($0, "{", "}") { $0 % 2 == 0 ? "\"a\":1" : "\"\\u0061\":1" } },
        HostileBody("a long name") { "{\"" + times("a", $0) + "\":1}" },
        HostileBody("a name of combining marks") { "{\"a" + times("\u{301}\u{316}", $0) + "\":1}" },
        HostileBody("names of combining marks") { bytes in
            numbered(bytes, "{", "}") { "\"\($0)" + String(repeating: "\u{301}\u{316}", count: 60) + "\":1" }
        },
        HostileBody("a long text") { "\"" + times("a", $0) + "\"" },
        HostileBody("a text of combining marks") { "\"a" + times("\u{301}\u{316}", $0) + "\"" },
        HostileBody("a text of escaped combining marks") { "\"a" + times("\\u0301\\u0316", $0) + "\"" },
        HostileBody("a text of Tibetan marks") { "\"" + times("\u{F73}\u{F71}", $0) + "\"" },
        HostileBody("a text that never ends") { "\"" + times("\\\\", $0) },
        HostileBody("lone surrogates") { "[\"" + times("\\ud800", $0) + "\"]" },
        HostileBody("digits") { times("7", $0) },
        HostileBody("digits of a fraction") { "0." + times("0", $0) + "1" },
        HostileBody("digits of an exponent") { "1e" + times("9", $0) },
        HostileBody("large numbers") { numbered($0, "[", "]") { _ in "179769313486231570000000000000000000000e270" } },
        HostileBody("white space") { times(" \n", $0) + "1" },
        HostileBody("zeros") { times("\0", $0) },
    ]

    /// The body as the value of a member of that name.
    package func bytes(_ count: Int, in member: String) -> [UInt8] { Array("{\"\(member)\":\(make(count))}".utf8) }
}

/// Processor time that this thread uses, against the budget of a refused body: 200 µs and 2 µs for each byte, on a machine and in a
/// build that are as quick as a release's.
package struct ProcessorBudget: Sendable {
    /// How many times slower simple code runs here than in a release on an idle machine; never below 1.
    package let slowness: Double

    /// Measures how quick this process is now.
    package init() {
        let bytes = [UInt8](repeating: 7, count: 1 << 16)
        var sum: UInt64 = 0
        let nanoseconds =
            (0..<5).map { _ in
                Self.time { for byte in bytes { sum = sum &* 31 &+ UInt64(byte) } }
            }.min() ?? 0
        // A release takes about one nanosecond for each byte. The sum is looked at, so that it is computed.
        slowness = sum == 1 ? 1 : max(1, nanoseconds / Double(bytes.count))
    }

    /// In nanoseconds.
    package func most(forBytes count: Int) -> Double {
        (200_000 + 2000 * Double(count)) * slowness
    }

    /// Nanoseconds of this thread's processor time.
    package static func time(_ work: () -> Void) -> Double {
        func now() -> Double {
            var time = timespec()
            clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
            return Double(time.tv_sec) * 1e9 + Double(time.tv_nsec)
        }
        let start = now()
        work()
        return now() - start
    }
}
