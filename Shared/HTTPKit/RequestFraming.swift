// Where a request ends and whom it is for: what is ambiguous is refused before anything of it is believed.

import NIOHTTP1

/// RFC 9112 §3.2 and §6.1, held to the letter. A server that guesses here reads one request where a proxy before it reads two, and takes
/// somebody's body for the next request. What the decoder itself refuses (two lengths, a length beside chunks, folded lines, control
/// characters) does not come here.
enum RequestFraming {
    /// Whether the request has to be refused with 400 and the connection closed.
    static func isAmbiguous(_ head: HTTPRequestHead) -> Bool {
        let isOld = head.version.major != 1 || head.version.minor == 0
        var (hosts, lengths, codings) = (0, 0, 0)
        for (name, value) in head.headers {
            switch name.utf8.count {
            case 4 where name.lowercased() == "host":
                hosts += 1
                guard isHost(value) else { return true }
            case 14 where name.lowercased() == "content-length":
                lengths += 1
                guard !value.isEmpty, value.utf8.count <= 18, value.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return true }
            case 17 where name.lowercased() == "transfer-encoding":
                codings += 1
                // No other coding is known here, and HTTP/1.0 knows none.
                guard value.lowercased() == "chunked", !isOld else { return true }
            default: break
            }
            guard isClean(value) else { return true }
        }
        return hosts > 1 || (hosts == 0 && !isOld) || lengths + codings > 1
    }

    /// `host[:port]` as browsers and programs write it, an address in brackets included (RFC 3986 §3.2.2); never empty.
    private static func isHost(_ value: String) -> Bool {
        (1...255).contains(value.utf8.count)
            && value.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
                    UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "~"), UInt8(ascii: ":"), UInt8(ascii: "["),
                    UInt8(ascii: "]"), UInt8(ascii: "%"):
                    true
                default: false
                }
            }
    }

    /// No line break, no NUL and no other control character but the tab.
    private static func isClean(_ value: String) -> Bool {
        value.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }
    }
}
