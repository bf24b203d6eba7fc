// The reference client of people and organisations: what an app does over HTTP with the services, as plain JSON.

import Contracts
import Foundation
import Logging
import Outbound

/// An answer as it came.
struct PeopleReply: Sendable {
    var status: Int
    /// An object; empty where there is no body.
    private var body: Data

    init(status: Int, body: Data) {
        (self.status, self.body) = (status, body)
    }

    /// Empty where the answer is no JSON object.
    var object: [String: Any] {
        (try? JSONSerialization.jsonObject(with: body)) as? [String: Any] ?? [:]
    }

    /// A member of the answer.
    func text(_ name: String) -> String? { object[name] as? String }
    func number(_ name: String) -> Double? { (object[name] as? NSNumber)?.doubleValue }
    func list(_ name: String) -> [[String: Any]] { object[name] as? [[String: Any]] ?? [] }

    /// Fails with the service's answer, unless the status is the one that was hoped for.
    func expecting(_ status: Int, _ step: String) throws(OperatorError) -> PeopleReply {
        guard self.status == status else {
            let reason = [text("title"), text("detail")].compactMap { $0 }.joined(separator: ". ")
            throw OperatorError(
                .failed, "\(step): answered \(self.status) instead of \(status)\(reason.isEmpty ? "" : " (\(reason))")",
                mend: "see the services' log lines; --verbose shows them")
        }
        return self
    }
}

struct PeopleClient: Sendable {
    enum Service: Sendable { case consent, ingest, gateway }

    /// Origins; all the edge's where the suite is reached through it.
    let consent: String
    let ingest: String
    let gateway: String
    private let sender: HTTPSender

    private static let timeout = Duration.seconds(20)
    private static let answerBytes = 8 << 20

    init(consent: String, ingest: String, gateway: String = "", authorities: String?) {
        var settings = OutboundSettings()
        settings.policy = .anywhere
        settings.authorities = authorities
        settings.userAgent = "trackme-client"
        sender = HTTPSender(settings, logger: Logger(label: "trackme.client") { _ in SwiftLogNoOpLogHandler() })
        (self.consent, self.ingest, self.gateway) = (consent, ingest, gateway)
    }

    /// - Parameter body: a JSON object or array; nil sends none.
    func call(
        _ method: String, _ service: Service, _ path: String, token: String? = nil, body: Any? = nil
    ) async throws -> PeopleReply {
        var headers: [(String, String)] = []
        if let token { headers.append(("Authorization", "Bearer \(token)")) }
        var bytes: [UInt8] = []
        if let body {
            headers.append(("Content-Type", "application/json"))
            bytes = Array(try JSONSerialization.data(withJSONObject: body))
        }
        let request = OutboundRequest(
            url: origin(of: service) + path, method: method, headers: headers, body: bytes, timeout: Self.timeout,
            maxResponseBytes: Self.answerBytes)
        do {
            let response = try await sender.send(request)
            return PeopleReply(status: response.status, body: Data(response.body))
        } catch {
            throw OperatorError(
                .unavailable, "\(origin(of: service)) does not answer (\(error))",
                mend: "start the suite with `trackme up`, or name where it is; --help shows the options")
        }
    }

    private func origin(of service: Service) -> String {
        switch service {
        case .consent: consent
        case .ingest: ingest
        case .gateway: gateway
        }
    }
}
