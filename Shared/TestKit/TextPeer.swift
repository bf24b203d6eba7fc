// A provider of texts and calls on loopback: takes what the notifier posts to it, and keeps each with the time at which it came.

package import Contracts
import Foundation
import Synchronization

/// Listens on threads of its own, which keep it alive until `end`, and answers every request with 202.
package final class TextPeer: Sendable {
    package struct Message: Sendable {
        /// When the whole request was there, by the machine's clock.
        package var at: Timestamp
        /// `sms` or `call`.
        package var channel: String
        package var to: String
        package var text: String
    }

    private struct Posted: Decodable {
        var channel: String
        var to: String
        var text: String
    }

    private static let answer = Array("HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".utf8)

    package let port: Int
    private let listener: Int32
    private let taken = Mutex<[Message]>([])

    /// On a port that is free, until `end`.
    package init() throws {
        (listener, port) = try Loopback.listening()
        Thread { [self] in serve() }.start()
    }

    /// In the order in which they came.
    package func messages(to number: String) -> [Message] { taken.withLock { $0.filter { $0.to == number } } }

    /// Nobody listens any more; what came can still be read.
    package func end() {
        shutdown(listener, Int32(SHUT_RDWR))
        close(listener)
    }

    private func serve() {
        while true {
            let client = accept(listener, nil, nil)
            guard client >= 0 else { return }
            Thread { [self] in
                take(client)
                _ = send(client, Self.answer, Self.answer.count, Int32(MSG_NOSIGNAL))
                close(client)
            }.start()
        }
    }

    /// One request, however many pieces it comes in.
    private func take(_ client: Int32) {
        var (received, piece) = (Data(), [UInt8](repeating: 0, count: 65_536))
        while true {
            let count = recv(client, &piece, piece.count, 0)
            guard count > 0 else { return }
            received += piece.prefix(count)
            // Until all of it is there, it is no JSON.
            guard let head = received.range(of: Data("\r\n\r\n".utf8)),
                let posted = try? JSONDecoder().decode(Posted.self, from: Data(received[head.upperBound...]))
            else { continue }
            return taken.withLock { $0.append(Message(at: .ofTheMachine, channel: posted.channel, to: posted.to, text: posted.text)) }
        }
    }
}
