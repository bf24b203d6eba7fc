// The desk's door: one route that takes dispatch messages.

import Contracts
import HTTPKit
import HTTPTypes
import Logging
import NIOCore
import Sealing

extension DeskService {
    static let path = "/dispatch"
    /// The schema's own bound on a message is 16 KiB.
    private static let messageBytes = 64 << 10

    /// A server that hands each message to the desk.
    /// - Parameter observe: sees each message before the desk does.
    nonisolated func server(
        host: String = "127.0.0.1", port: Int, observe: @escaping @Sendable (DeskMessage) -> Void = { _ in }
    ) -> HTTPServer {
        HTTPServer(
            .init(title: "Reference emergency desk", version: "1", summary: "Receives and acknowledges dispatch messages.", prefix: "desk"),
            routes: [route(observe)], host: host, port: port, health: Health(missing: { [] }, metrics: { "" }),
            authenticate: { _, _ in .anyone }, logger: Logger(label: "trackme.desk") { _ in SwiftLogNoOpLogHandler() })
    }

    private nonisolated func route(_ observe: @escaping @Sendable (DeskMessage) -> Void) -> Route {
        let message = JSONSchema.object().named("DispatchMessage")
        return Route(
            .post, DeskService.path, as: "takeDispatch", access: .anyone, summary: "Takes one dispatch message",
            description: "Signed by Standard Webhooks with v1 and v1a; the answer's signed body is the business acknowledgement.",
            body: BodyShape(
                [
                    .init("application/vnd.suite.dispatch+json", message), .init(MediaType.json, message),
                    .init(DeskCAP.contentType, .string()),
                ], limit: DeskService.messageBytes,
                inflatedLimit: DeskService.messageBytes),
            answers: [
                .json(200, "Acknowledged", JSONSchema.object().named("DeskAcknowledgement")), Answer(202, "Taken; acknowledged later"),
            ]
        ) { exchange in
            let body = try await exchange.body()
            let message = DeskMessage(
                id: exchange.header(WebhookSignature.idHeader) ?? "",
                timestamp: exchange.header(WebhookSignature.timestampHeader) ?? "",
                signatures: exchange.header(WebhookSignature.signatureHeader) ?? "", body: Array(body.readableBytesView))
            observe(message)
            return DeskService.answer(try await self.receive(message))
        }
    }

    private static func answer(_ response: DeskResponse) -> HTTPAnswer {
        guard !response.body.isEmpty else { return .empty(status: response.status) }
        var answer = HTTPAnswer.bytes(response.body, contentType: response.contentType, status: response.status)
        guard let signature = response.signature else { return answer }
        let headers = [
            (WebhookSignature.idHeader, signature.id), (WebhookSignature.timestampHeader, signature.timestamp),
            (WebhookSignature.signatureHeader, signature.signatures),
        ]
        for (name, value) in headers {
            if let name = HTTPField.Name(name) { answer = answer.with(name, value) }
        }
        return answer
    }
}
