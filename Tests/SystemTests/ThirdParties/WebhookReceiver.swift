// A third party's server for webhooks on plain sockets: takes, refuses or holds messages, is switched off and on, forgets nothing.

import Contracts
import Foundation
import Sealing
import ServiceKit
import Synchronization
import TestKit

@testable import Operator

/// What one request to the receiver was.
struct WebhookDelivery: Sendable {
    struct Batch: Decodable, Hashable, Sendable {
        var subscription: RequestID
        var after: Int64
        var through: Int64
        var items: [DeliveredItem]
    }

    struct Message: Decodable, Sendable {
        struct Content: Decodable, Sendable {
            var challenge: String?
            var batches: [Batch]?
            var subscription: RequestID?
            var isWhole: Bool?
        }

        var type: String
        var data: Content
    }

    let id: String
    let message: Message?
    /// By the shared secret (`v1`) and by the gateway's key (`v1a`).
    let isSigned: (v1: Bool, v1a: Bool)
    let at: ContinuousClock.Instant
    /// Stored by the receiver, whatever it answered.
    var isKept = false

    var batches: [Batch] { message?.data.batches ?? [] }
}

final class WebhookReceiver: Sendable {
    enum Manner: Sendable, Equatable {
        case take
        /// Every so many messages are stored, and the answer is a refusal all the same.
        case takeAndRefuse(every: Int)
        case refuse
        /// Answers nothing until the sender breaks it off, or its manner changes.
        case hang
    }

    private struct State {
        var manner: Manner
        var secret: WebhookSecret?
        var key: VerifyingKey?
        var deliveries: [WebhookDelivery] = []
        var listener: Int32?
        var connections: Set<Int32> = []
    }

    private let port: Int
    private let state: Mutex<State>

    var url: String { "http://127.0.0.1:\(port)/webhooks" }
    var deliveries: [WebhookDelivery] { state.withLock { $0.deliveries } }

    init(_ manner: Manner = .take) throws {
        port = try FreePorts.find(1)[0]
        state = Mutex(State(manner: manner))
        try open()
    }

    deinit {
        close()
    }

    func become(_ manner: Manner) {
        state.withLock { $0.manner = manner }
    }

    func use(secret: String, key: String) {
        state.withLock { state in
            state.secret = try? WebhookSecret(secret)
            state.key = try? VerifyingKey(webhookText: key)
        }
    }

    // MARK: On and off

    func open() throws {
        let listener = try Loopback.listening(port).descriptor
        state.withLock { $0.listener = listener }
        Thread.detachNewThread { [weak self] in
            while true {
                let connection = accept(listener, nil, nil)
                guard connection >= 0, let self else { break }
                state.withLock { _ = $0.connections.insert(connection) }
                Thread.detachNewThread { self.serve(connection) }
            }
            Foundation.close(listener)
        }
    }

    /// As if its machine had been switched off: nobody listens, and connections break.
    func close() {
        state.withLock { state in
            if let listener = state.listener { shutdown(listener, Int32(SHUT_RDWR)) }
            for connection in state.connections { shutdown(connection, Int32(SHUT_RDWR)) }
            state.listener = nil
        }
    }

    // MARK: Connections

    private struct Request {
        var headers: [String: String]
        var body: [UInt8]
    }

    private func serve(_ connection: Int32) {
        var buffer: [UInt8] = []
        while let request = Self.read(connection, &buffer), answer(request, on: connection) {}
        state.withLock { _ = $0.connections.remove(connection) }
        Foundation.close(connection)
    }

    /// `POLLRDHUP` of poll(2), a macro that Swift does not see.
    private static let otherEndGaveUp: Int16 = 0x2000

    /// nil at the end of the connection.
    private static func read(_ connection: Int32, _ buffer: inout [UInt8]) -> Request? {
        var piece = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            if let end = buffer.firstRange(of: Array("\r\n\r\n".utf8)) {
                var headers: [String: String] = [:]
                for line in String(decoding: buffer[..<end.lowerBound], as: UTF8.self).components(separatedBy: "\r\n").dropFirst() {
                    let parts = line.split(separator: ":", maxSplits: 1)
                    guard parts.count == 2 else { continue }
                    headers[parts[0].lowercased()] = parts[1].trimmingCharacters(in: .whitespaces)
                }
                let length = headers["content-length"].flatMap { Int($0) } ?? 0
                if buffer.count >= end.upperBound + length {
                    let body = Array(buffer[end.upperBound..<end.upperBound + length])
                    buffer.removeSubrange(..<(end.upperBound + length))
                    return Request(headers: headers, body: body)
                }
            }
            let count = recv(connection, &piece, piece.count, 0)
            guard count > 0 else { return nil }
            buffer += piece[..<count]
        }
    }

    /// - Returns: whether the connection goes on.
    private func answer(_ request: Request, on connection: Int32) -> Bool {
        let (place, manner, challenge) = note(request)
        if let challenge { return send(200, challenge, on: connection) }
        switch manner {
        case .take:
            keep(place)
            return send(200, on: connection)
        case .takeAndRefuse(let every):
            keep(place)
            return send(place % every == 0 ? 503 : 200, on: connection)
        case .refuse: return send(503, on: connection)
        case .hang:
            while state.withLock({ $0.manner == .hang && $0.listener != nil }) {
                // Until the other end gives up; looks now and then whether it is still to hang.
                var watched = pollfd(fd: connection, events: Self.otherEndGaveUp, revents: 0)
                guard poll(&watched, 1, 20) == 0 else { return false }
            }
            return send(503, on: connection)
        }
    }

    private func note(_ request: Request) -> (place: Int, manner: Manner, challenge: String?) {
        let now = ContinuousClock.now
        let signature = WebhookSignature(
            id: request.headers["webhook-id"] ?? "", timestamp: request.headers["webhook-timestamp"] ?? "",
            signatures: request.headers["webhook-signature"] ?? "")
        let message = try? JSONDecoder().decode(WebhookDelivery.Message.self, from: Data(request.body))
        return state.withLock { state in
            let secrets = state.secret.map { [$0] } ?? []
            let keys = state.key.map { [$0] } ?? []
            let isSigned = (
                v1: (try? signature.verify(body: request.body, secrets: secrets, now: .now)) != nil,
                v1a: (try? signature.verify(body: request.body, keys: keys, now: .now)) != nil
            )
            if message?.type == "endpoint.verification" { return (0, state.manner, message?.data.challenge) }
            state.deliveries.append(WebhookDelivery(id: signature.id, message: message, isSigned: isSigned, at: now))
            return (state.deliveries.count - 1, state.manner, nil)
        }
    }

    private func keep(_ place: Int) {
        state.withLock { $0.deliveries[place].isKept = true }
    }

    private func send(_ status: Int, _ text: String = "", on connection: Int32) -> Bool {
        let answer = "HTTP/1.1 \(status) Status\r\nContent-Type: text/plain\r\nContent-Length: \(text.utf8.count)\r\n\r\n\(text)"
        let bytes = Array(answer.utf8)
        return Foundation.send(connection, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count
    }
}
