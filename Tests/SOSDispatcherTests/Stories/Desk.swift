// A small emergency desk for tests: a real HTTP server that says what a test tells it to.

import Contracts
import Foundation
import HTTPKit
import HTTPTypes
import NIOCore
import Sealing
import ServiceKit
import ServiceLifecycle
import Synchronization
import TestKit

@testable import SOSDispatcher

/// Receives dispatches while it is open, keeps them all, and answers in one of several ways.
final class Desk: Sendable {
    enum Manner: Sendable {
        case acknowledges(Acknowledgement.Result)
        /// A 2xx and no word.
        case silent
        /// Acknowledges, signed with a secret that nobody shares.
        case forges
        /// Acknowledges without a signature.
        case unsigned
        /// Signs well, about another message.
        case confuses
        /// Signs these fields of JSON, beside the message's id.
        case writes(String)
        case fails(Int)
        /// Acknowledges the first attempt only when it has seen this many.
        case slow(Int)
        /// Answers each attempt as this says, once it says it. It is given the attempt's number, from 0.
        case decides(@Sendable (_ attempt: Int) async throws -> Acknowledgement.Result)
    }

    struct Receipt: Sendable {
        var id: String
        var timestamp: String
        var signatures: String
        var body: [UInt8]
        var at: Timestamp

        var message: DispatchMessage? { try? JSONDecoder().decode(DispatchMessage.self, from: Data(body)) }
    }

    private let manner: Mutex<Manner>
    private let holdsBack = Mutex<(@Sendable () -> Bool)?>(nil)
    private let received = Mutex<[Receipt]>([])
    private let secret: Mutex<WebhookSecret?>
    private let door = Mutex<(running: Running?, port: Int?)>((nil, nil))

    init(_ manner: Manner, secret: WebhookSecret? = nil) {
        self.manner = Mutex(manner)
        self.secret = Mutex(secret)
    }

    var receipts: [Receipt] { received.withLock { $0 } }

    func become(_ manner: Manner) {
        self.manner.withLock { $0 = manner }
    }

    func share(_ secret: WebhookSecret) {
        self.secret.withLock { $0 = secret }
    }

    /// Where it is called, open or not. At port 9 (discard, RFC 863), where one that was never open is, nobody listens.
    var address: String { "http://127.0.0.1:\(door.withLock { $0.port } ?? 9)/desk/v1/messages" }

    /// Listens on loopback; a second time at the address of the first.
    func open() async {
        let port = door.withLock { $0.port }
        let server = HTTPServer(
            .init(title: "Desk", version: "1", summary: "A desk for tests.", prefix: "desk"), routes: [route], port: port ?? 0,
            health: Health(missing: { [] }, metrics: { "" }), authenticate: { _, _ in throw Problem.unauthorised }, logger: Running.quiet)
        let running = Running([server])
        let bound = await server.boundPort
        door.withLock { $0 = (running, bound) }
    }

    /// A second time changes nothing.
    func close() async {
        let running = door.withLock { door in
            defer { door.running = nil }
            return door.running
        }
        await running?.stop()
    }

    private var route: Route {
        Route(
            .post, "/desk/v1/messages", access: .anyone, summary: "Receive a dispatch",
            body: BodyShape([.init(DispatchMessage.contentType, .anything), .init(CAPDocument.contentType, .anything)]),
            answers: [Answer(200, "An acknowledgement")]
        ) { [self] exchange in
            let receipt = Receipt(
                id: exchange.header(WebhookSignature.idHeader) ?? "", timestamp: exchange.header(WebhookSignature.timestampHeader) ?? "",
                signatures: exchange.header(WebhookSignature.signatureHeader) ?? "",
                body: Array(try await exchange.body().readableBytesView), at: exchange.receivedAt)
            let number = received.withLock { received in
                received.append(receipt)
                return received.count - 1
            }
            if let isReady = holdsBack.withLock({ $0 }) { try await eventually("what its answer waits for", isTrue: isReady) }
            if case .slow(let count) = manner.withLock({ $0 }) {
                try await eventually("\(count) attempts") { self.receipts.count >= count }
            }
            return try await answer(receipt, number)
        }
    }

    /// From now on no answer is given before that.
    func answers(once isReady: @escaping @Sendable () -> Bool) {
        holdsBack.withLock { $0 = isReady }
    }

    private func answer(_ receipt: Receipt, _ number: Int) async throws -> HTTPAnswer {
        let shared = secret.withLock { $0 } ?? WebhookSecret.random()
        switch manner.withLock({ $0 }) {
        case .acknowledges(let result): return try Self.acknowledgement(receipt.id, result, signedWith: shared)
        case .silent: return .empty(status: 204)
        case .forges: return try Self.acknowledgement(receipt.id, .accepted, signedWith: .random())
        case .unsigned: return try Self.acknowledgement(receipt.id, .accepted, signedWith: nil)
        case .confuses: return try Self.acknowledgement(receipt.id + "1", .accepted, signedWith: shared)
        case .writes(let fields):
            return try Self.signed(Array(#"{"ack":{"messageId":"\#(receipt.id)",\#(fields)}}"#.utf8), with: shared)
        case .slow: return try Self.acknowledgement(receipt.id, .accepted, signedWith: shared)
        case .decides(let decide):
            let result = try await decide(number)
            return try Self.acknowledgement(receipt.id, result, signedWith: shared)
        case .fails(let status): return .text("no", status: status)
        }
    }

    static func body(_ message: String, _ result: Acknowledgement.Result, ackID: String = "desk-1") throws -> [UInt8] {
        let acknowledgement = Acknowledgement(
            messageId: message, result: result, ackId: ackID, reason: result == .rejected ? "no ambulance is free" : nil)
        return Array(try JSONEncoder().encode(AcknowledgementBody(ack: acknowledgement)))
    }

    private static func acknowledgement(
        _ message: String, _ result: Acknowledgement.Result, signedWith secret: WebhookSecret?
    ) throws -> HTTPAnswer {
        try signed(try body(message, result), with: secret)
    }

    private static func signed(_ body: [UInt8], with secret: WebhookSecret?) throws -> HTTPAnswer {
        let answer = HTTPAnswer.bytes(body, contentType: MediaType.json)
        guard let secret else { return answer }
        let signature = try WebhookSignature.sign(id: "desk-1", at: .now, body: body, secrets: [secret])
        return try [
            (WebhookSignature.idHeader, signature.id), (WebhookSignature.timestampHeader, signature.timestamp),
            (WebhookSignature.signatureHeader, signature.signatures),
        ].reduce(answer) { answer, header in
            guard let name = HTTPField.Name(header.0) else { throw Problem.internal }
            return answer.with(name, header.1)
        }
    }
}
