// The routes over HTTP for providers: texts that came in.

import Contracts
import Foundation
import HTTPKit
import Sealing

struct InboundRoutes: Sendable {
    static let path = "/notify/v1/inbound/sms"
    /// A text is small.
    static let bodyLimit = 4 << 10

    let service: InboundService
    /// Shared with Kannel.
    let token: String
    let signed: SignedGateway

    var all: [Route] { [kannel, gateway] }

    private var kannel: Route {
        Route(
            .get, InboundRoutes.path, as: "takeKannelText", access: .anyone, summary: "Takes a text that Kannel received",
            description: "For a `sms-service` with `get-url = …\(InboundRoutes.path)?token=…&from=%p&text=%a` and `omit-empty = true`; the "
                + "token is the file `inbound.secret`. What is answered is texted back.",
            parameters: [
                .query("token", .string(length: 64...64), required: true, "Proves that it is Kannel that asks."),
                .query("from", .string(length: 1...32), required: true, "Who sent it."),
                .query("text", .string(length: 0...2000), required: true, "What it says."),
            ],
            answers: [
                Answer(200, "Taken; what is texted back", contents: [.init(MediaType.text, .string())]), .problem(404, "not-found"),
            ]
        ) { exchange in
            let shown = try exchange.required("token", exchange.query("token"))
            guard Digest.constantTimeEqual(Array(shown.utf8), Array(token.utf8)) else {
                try exchange.countWrongCredentials()
                throw Problem.notFound
            }
            let text = InboundText(
                from: try exchange.required("from", exchange.query("from")), text: try exchange.required("text", exchange.query("text")))
            return .text(try await take(text).map(InboundRoutes.reply) ?? "")
        }
    }

    private var gateway: Route {
        Route(
            .post, InboundRoutes.path, as: "takeSignedText", access: .anyone, summary: "Takes a text that the signed gateway received",
            description: SignedGateway.description, parameters: SignedGateway.parameters(of: "text"),
            body: .json(GatewayText.self, limit: InboundRoutes.bodyLimit, inflatedLimit: InboundRoutes.bodyLimit),
            answers: [Answer(204, "Taken"), .problem(401, "unauthorised")]
        ) { exchange in
            let body = try await signed.body(of: exchange)
            let sent = try await exchange.json(GatewayText.self, in: Data(body))
            _ = try await take(InboundText(from: sent.from, text: sent.text))
            return .empty()
        }
    }

    /// What is texted back. Whoever meant to accept and was not understood must not believe that it did.
    private static func reply(to result: String) -> String {
        guard result == "not-understood" else { return "TrackMe: \(result)" }
        return "TrackMe: not understood, nothing is accepted. Text OK and the code, or NO and the code."
    }

    /// - Throws: 503 while the dispatcher does not answer, so that the provider asks again.
    private func take(_ text: InboundText?) async throws -> String? {
        guard let text else { return nil }
        do {
            return try await service.take(text)
        } catch let failure as Failure where failure.isRetriable {
            throw Refusal(.unavailable, retryAfter: .seconds(5))
        }
    }
}

/// A text as the signed gateway sends it.
struct GatewayText: Codable, Sendable, Documented {
    var from: String
    var text: String

    static var schema: JSONSchema {
        .object(
            .required("from", .string(length: 1...32), "Telephone number, E.164."), .required("text", .string(length: 0...2000))
        ).named("GatewayText")
    }
}
