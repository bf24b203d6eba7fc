// What goes out and what comes back.

/// Checked when it is sent: what is not well formed is `malformed`, and nothing of it leaves.
package struct OutboundRequest: Sendable {
    /// Absolute, http or https, without spaces and control characters.
    package var url: String
    /// A token of RFC 9110, in the case it is to have.
    package var method: String
    /// Names and values as they are to stand on the wire. `Host` and `Content-Length` are made.
    package var headers: [(name: String, value: String)]
    package var body: [UInt8]
    /// From `send` to the last byte of the answer, waiting for a free place included.
    package var timeout: Duration
    /// For name, TCP and TLS together.
    package var connectTimeout: Duration
    /// A longer body is `tooLarge`.
    package var maxResponseBytes: Int

    package static let usualResponseBytes = 64 << 10

    package init(
        url: String, method: String = "GET", headers: [(name: String, value: String)] = [], body: [UInt8] = [],
        timeout: Duration = .seconds(10), connectTimeout: Duration = .seconds(3), maxResponseBytes: Int = usualResponseBytes
    ) {
        (self.url, self.method, self.headers, self.body) = (url, method, headers, body)
        (self.timeout, self.connectTimeout, self.maxResponseBytes) = (timeout, connectTimeout, maxResponseBytes)
    }

    /// With the usual bounds on time and answer.
    package static func post(_ url: String, _ body: [UInt8], contentType: String) -> OutboundRequest {
        OutboundRequest(url: url, method: "POST", headers: [("Content-Type", contentType)], body: body)
    }

    /// Whether it is for http or https, and method and headers cannot smuggle anything: tokens, and no control characters.
    var isWellFormed: Bool {
        let scheme = url.prefix(8).lowercased()
        return (scheme.hasPrefix("http://") || scheme == "https://") && hasCleanHead
    }

    private var hasCleanHead: Bool {
        Self.isToken(method) && headers.allSatisfy { Self.isToken($0.name) && Self.isValue($0.value) }
            && !url.utf8.contains { $0 <= 0x20 || $0 == 0x7F }
    }

    private static func isToken(_ text: String) -> Bool {
        let marks = Set("!#$%&'*+-.^_`|~".utf8)
        return !text.isEmpty
            && text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"):
                    true
                default: marks.contains(byte)
                }
            }
    }

    private static func isValue(_ text: String) -> Bool {
        text.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }
    }
}

/// Any status at all, 3xx included: redirects are not followed.
package struct OutboundResponse: Sendable {
    package let status: Int
    /// At most `maxResponseBytes`.
    package let body: [UInt8]
    private let head: [UInt8]

    init(status: Int, head: [UInt8], body: [UInt8]) {
        (self.status, self.head, self.body) = (status, head, body)
    }

    /// 2xx alone: a redirect is none.
    package var isSuccess: Bool { (200...299).contains(status) }

    /// The first header of that name, in any case; nil where there is none.
    package func header(_ name: String) -> String? {
        let wanted = name.lowercased()
        for line in head.split(whereSeparator: { $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: "\r") }) {
            guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else { continue }
            guard String(decoding: line[..<colon], as: UTF8.self).lowercased() == wanted else { continue }
            let value = line[line.index(after: colon)...].drop { $0 == 0x20 || $0 == 0x09 }
            return String(decoding: value, as: UTF8.self)
        }
        return nil
    }
}
