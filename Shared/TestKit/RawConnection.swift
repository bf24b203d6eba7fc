// A client that sends exactly the bytes it is told, so that tests can be slow, wrong and rude.

package import Foundation

/// Nobody listens, or what came is no answer.
package struct ConnectionFailed: Error {
    package init() {}
}

/// One answer as it came.
package struct RawAnswer: Sendable {
    package let status: Int
    /// Names in lower case.
    package let headers: [String: String]
    /// Chunks are joined; nothing is inflated.
    package let body: [UInt8]

    /// What is not UTF-8 becomes U+FFFD.
    package var text: String { String(decoding: body, as: UTF8.self) }

    /// Empty where the body is no JSON object.
    package var json: [String: Any] {
        (try? JSONSerialization.jsonObject(with: Data(body))) as? [String: Any] ?? [:]
    }

    /// The name of a problem without its prefix.
    package var problem: String? {
        (json["type"] as? String)?.replacingOccurrences(of: "urn:trackme:problem:", with: "")
    }

    /// nil until the whole head is there.
    package init?(_ bytes: [UInt8]) {
        let text = Data(bytes)
        guard let end = text.range(of: Data("\r\n\r\n".utf8)) else { return nil }
        let lines = String(decoding: text[..<end.lowerBound], as: UTF8.self).components(separatedBy: "\r\n")
        let words = lines[0].split(separator: " ")
        guard words.count > 1, let status = Int(words[1]) else { return nil }
        var headers: [String: String] = [:]
        for line in lines.dropFirst() {
            let parts = line.split(separator: ":", maxSplits: 1)
            headers[parts[0].lowercased()] = parts[1].trimmingCharacters(in: .whitespaces)
        }
        let rest = Array(text[end.upperBound...])
        (self.status, self.headers) = (status, headers)
        body = headers["transfer-encoding"] == "chunked" ? RawAnswer.joinChunks(rest) : rest
    }

    private static func joinChunks(_ bytes: [UInt8]) -> [UInt8] {
        var rest = bytes[...]
        var joined: [UInt8] = []
        while let end = rest.firstIndex(of: UInt8(ascii: "\r")),
            let size = Int(String(decoding: rest[rest.startIndex..<end], as: UTF8.self), radix: 16), size > 0
        {
            joined += rest[(end + 2)...].prefix(size)
            rest = rest[(end + 2)...].dropFirst(size + 2)
        }
        return joined
    }
}

/// A blocking TCP connection. Its calls run on threads of their own, never on those that the server's tasks need.
package final class RawConnection: Sendable {
    private let descriptor: Int32

    /// To loopback; `receive` gives up after 30 s.
    package init(port: Int) throws {
        descriptor = try Loopback.connected(to: port)
        var timeout = timeval(tv_sec: 30, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &timeout, socklen_t(MemoryLayout<timeval>.size))
    }

    deinit {
        close(descriptor)
    }

    /// False where the other side no longer takes it.
    @discardableResult
    package func send(_ bytes: [UInt8]) async -> Bool {
        await offPool { [descriptor] in
            var rest = bytes[...]
            while !rest.isEmpty {
                let sent = rest.withUnsafeBytes { Foundation.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
                guard sent > 0 else { return false }
                rest = rest.dropFirst(sent)
            }
            return true
        }
    }

    @discardableResult
    package func send(_ text: String) async -> Bool {
        await send(Array(text.utf8))
    }

    /// The other side sees the end of the request and can still answer.
    package func finishSending() {
        shutdown(descriptor, Int32(SHUT_WR))
    }

    /// Its end will be a reset, as from a machine that has lost its power.
    package func breakOffAtEnd() {
        var hard = linger(l_onoff: 1, l_linger: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &hard, socklen_t(MemoryLayout<linger>.size))
    }

    /// At most `most` bytes; empty at the end or when the connection broke.
    package func receive(most: Int = 1 << 16) async -> [UInt8] {
        await offPool { [descriptor] in
            var buffer = [UInt8](repeating: 0, count: most)
            let count = recv(descriptor, &buffer, most, 0)
            return count > 0 ? Array(buffer[..<count]) : []
        }
    }

    /// Everything until the server closes, or gives up after 30 s: the heartbeats of an event stream that goes on would be read for ever.
    package func receiveAll() async -> [UInt8] {
        let deadline = ContinuousClock.now + .seconds(30)
        var all: [UInt8] = []
        while .now < deadline {
            let more = await receive()
            if more.isEmpty { break }
            all += more
        }
        return all
    }

    /// One answer with a Content-Length, on a connection that goes on.
    package func receiveAnswer() async -> RawAnswer? {
        var bytes: [UInt8] = []
        while true {
            if let answer = RawAnswer(bytes), answer.body.count >= Int(answer.headers["content-length"] ?? "0") ?? 0 { return answer }
            let more = await receive()
            if more.isEmpty { return nil }
            bytes += more
        }
    }
}

// MARK: Broken off

extension RawConnection {
    /// The bytes of one request with a JSON body.
    package static func request(_ method: String, _ path: String, headers: [String: String] = [:], json: Data) -> [UInt8] {
        var head = "\(method) \(path) HTTP/1.1\r\nHost: test\r\nContent-Type: application/json\r\nContent-Length: \(json.count)\r\n"
        for (name, value) in headers.sorted(by: { $0.key < $1.key }) { head += "\(name): \(value)\r\n" }
        return Array((head + "\r\n").utf8) + json
    }

    /// Breaks a request off everywhere where it may matter, each time on a connection of its own: in its first line, in and after its
    /// headers, in its body and one byte before its end; once politely, which the server has seen when this returns, and once by a reset.
    package static func breakOff(_ request: [UInt8], port: Int) async throws {
        let body = (request.firstRange(of: Array("\r\n\r\n".utf8))?.upperBound ?? request.count)
        for count in [1, 12, body - 3, body, body + 1, (body + request.count) / 2, request.count - 1] {
            for isReset in [true, false] {
                let connection = try RawConnection(port: port)
                if isReset { connection.breakOffAtEnd() }
                await connection.send(Array(request.prefix(count)))
                guard !isReset else { continue }
                connection.finishSending()
                _ = await connection.receiveAll()
            }
        }
    }

    /// Sends a whole request and is gone before its answer.
    package static func sendAndVanish(_ request: [UInt8], port: Int) async throws {
        let connection = try RawConnection(port: port)
        connection.breakOffAtEnd()
        await connection.send(request)
    }
}

/// Runs what blocks on a thread of its own.
package func offPool<Value: Sendable>(_ body: @escaping @Sendable () -> Value) async -> Value {
    await withCheckedContinuation { continuation in
        Thread.detachNewThread { @Sendable in continuation.resume(returning: body()) }
    }
}
