// One request on a connection of its own.

import TestKit

/// Sends one request on a connection of its own and reads until the server closes.
func ask(
    _ port: Int, _ method: String, _ path: String, headers: [String: String] = [:], body: [UInt8]? = nil
) async throws -> RawAnswer {
    let connection = try RawConnection(port: port)
    var head = "\(method) \(path) HTTP/1.1\r\nHost: test\r\nConnection: close\r\n"
    if let body { head += "Content-Length: \(body.count)\r\n" }
    for (name, value) in headers { head += "\(name): \(value)\r\n" }
    await connection.send(Array((head + "\r\n").utf8) + (body ?? []))
    guard let answer = RawAnswer(await connection.receiveAll()) else { throw ConnectionFailed() }
    return answer
}
