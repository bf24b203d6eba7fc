// A provider of texts and calls on loopback: takes what the notifier posts to it, and knows whom it has reached how.

import Contracts
import Foundation
import Synchronization

final class TelephoneCompany: Sendable {
    struct NoPort: Error {}

    private struct Errand: Decodable {
        /// `sms` or `call`.
        var channel: String
        var to: String
        var text: String
    }

    private static let answer = Array("HTTP/1.1 204 No Content\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".utf8)

    let port: Int
    private let listener: Int32
    private let errands = Mutex<[Errand]>([])

    private init() throws {
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        self.listener = listener
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isOpen = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(listener, $0, length) == 0 && listen(listener, 64) == 0 && getsockname(listener, $0, &length) == 0
            }
        }
        guard isOpen else { throw NoPort() }
        port = Int(UInt16(bigEndian: address.sin_port))
        Thread { [self] in serve() }.start()
    }

    /// A suite whose texts and calls go through it.
    static func serving(_ body: (TelephoneCompany, StorySuite) async throws -> Void) async throws {
        let company = try TelephoneCompany()
        defer { company.end() }
        try await StorySuite.with(["TRACKME_NOTIFY_GATEWAY_URL": "http://127.0.0.1:\(company.port)/messages"]) {
            try await body(company, $0)
        }
    }

    /// What was said to this number, by channel.
    func reached(_ number: String) -> [String: String] {
        errands.withLock { all in all.filter { $0.to == number }.reduce(into: [:]) { $0[$1.channel] = $1.text } }
    }

    private func end() {
        shutdown(listener, Int32(SHUT_RDWR))
        close(listener)
    }

    private func serve() {
        while true {
            let caller = accept(listener, nil, nil)
            guard caller >= 0 else { return }
            Thread { [self] in
                take(from: caller)
                _ = send(caller, Self.answer, Self.answer.count, Int32(MSG_NOSIGNAL))
                close(caller)
            }.start()
        }
    }

    /// One request, however many pieces it comes in.
    private func take(from caller: Int32) {
        var (received, piece) = (Data(), [UInt8](repeating: 0, count: 65_536))
        while true {
            let count = recv(caller, &piece, piece.count, 0)
            guard count > 0 else { return }
            received += piece.prefix(count)
            // Until all of it is there, it is no JSON.
            guard let head = received.range(of: Data("\r\n\r\n".utf8)),
                let errand = try? JSONDecoder().decode(Errand.self, from: Data(received[head.upperBound...]))
            else { continue }
            return errands.withLock { $0.append(errand) }
        }
    }
}
