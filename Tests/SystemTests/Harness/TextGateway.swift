// A provider of texts on loopback: takes what the notifier posts to it, and keeps each text with the time at which it came.

import Contracts
import Foundation
import Logging
import Outbound
import ServiceKit
import Synchronization

final class TextGateway: Sendable {
    struct Text: Sendable {
        var at: Timestamp
        var to: String
        var text: String
    }

    private struct Posted: Decodable {
        var channel: String
        var to: String
        var text: String
    }

    let port: Int
    private let listener: Int32
    private let taken = Mutex<[Text]>([])
    private static let answer = Array("HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".utf8)

    /// On a port that is free.
    init() throws {
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        self.listener = listener
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(listener, $0, length) == 0 && listen(listener, 64) == 0 && getsockname(listener, $0, &length) == 0
            }
        }
        guard isBound else { throw FaultProxy.Fault() }
        port = Int(UInt16(bigEndian: address.sin_port))
        Thread { [self] in serve() }.start()
    }

    func texts(to number: String) -> [Text] { taken.withLock { $0.filter { $0.to == number } } }

    func end() {
        shutdown(listener, Int32(SHUT_RDWR))
        close(listener)
    }

    private func serve() {
        while true {
            let client = accept(listener, nil, nil)
            guard client >= 0 else { return }
            Thread { [self] in
                take(client)
                _ = send(client, TextGateway.answer, TextGateway.answer.count, Int32(MSG_NOSIGNAL))
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
            guard let head = received.range(of: Data("\r\n\r\n".utf8)) else { continue }
            let body = received[head.upperBound...]
            // Until all of it is there, it is no JSON.
            guard let posted = try? JSONDecoder().decode(Posted.self, from: Data(body)) else { continue }
            if posted.channel == "sms" { taken.withLock { $0.append(Text(at: .now, to: posted.to, text: posted.text)) } }
            return
        }
    }
}

extension RealSuite {
    /// What Kannel asks when a text has come in.
    func receive(text: String, from number: String, token: String) async throws {
        var settings = OutboundSettings()
        settings.policy = .anywhere
        let sender = HTTPSender(settings, logger: Logger(label: "texts") { _ in SwiftLogNoOpLogHandler() })
        let query = "token=\(token)&from=\(number.replacing("+", with: "%2B"))&text=\(text)"
        let address = "http://127.0.0.1:\(notifier?.port ?? 0)/notify/v1/inbound/sms?\(query)"
        _ = try await sender.send(OutboundRequest(url: address))
    }
}
