// Delivers a delayed acknowledgement to the suite.

import Contracts
import Foundation
import Logging
import Outbound
import ServiceKit

/// `POST {suite}/sos/v1/dispatches/{messageId}/acknowledgements` with the desk's bearer token and the body that an answer would have.
struct DeskCallBack: Sendable {
    private let sender: HTTPSender
    private let suite: String
    private let token: String
    private let show: @Sendable (String) -> Void

    /// Between attempts; the suite repeats the message meanwhile anyway.
    private static let pause = Duration.seconds(1)
    private static let attempts = 30

    init(suite: String, token: String, show: @escaping @Sendable (String) -> Void) {
        var settings = OutboundSettings()
        settings.policy = .anywhere
        sender = HTTPSender(settings, logger: Logger(label: "trackme.desk") { _ in SwiftLogNoOpLogHandler() })
        (self.suite, self.token, self.show) = (suite.hasSuffix("/") ? String(suite.dropLast()) : suite, token, show)
    }

    /// From the named file, else the one that the suite's SOS dispatcher made.
    static func token(_ layout: SuiteLayout, file: String?) throws(OperatorError) -> String {
        do {
            return try layout.keys.readSecret(
                file.map { URL(fileURLWithPath: $0) } ?? layout.keys.file("integrator.token", of: .sosDispatcher))
        } catch {
            throw OperatorError(
                .configuration, "\(error)", mend: "start the suite once (`trackme up` makes the token), or give --token-file")
        }
    }

    func deliver(_ messageID: String, _ response: DeskResponse) async {
        let request = OutboundRequest(
            url: "\(suite)/sos/v1/dispatches/\(messageID)/acknowledgements", method: "POST",
            headers: [
                ("Content-Type", response.contentType), ("Authorization", "Bearer \(token)"),
            ],
            body: response.body)
        for _ in 0..<DeskCallBack.attempts {
            let status = try? await sender.send(request).status
            show("call-back for \(messageID): \(status.map(String.init) ?? "no answer")")
            if let status, status < 500, status != 429 { return }
            try? await Task.sleep(for: DeskCallBack.pause)
        }
    }
}
