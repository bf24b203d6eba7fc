// A browser without scripts, for pages of the dispatcher.

import Contracts
import Foundation
import HTTPKit
import Outbound
import TestKit

@testable import SOSDispatcher

struct Visitor: Sendable {
    let port: Int
    var language = "en"

    init(of dispatcher: Stage.Dispatcher) async {
        port = await dispatcher.parts.server.boundPort
    }

    func open(_ path: String, in language: String = "en") async throws -> (status: Int, text: String) {
        try await send(OutboundRequest(url: "http://127.0.0.1:\(port)\(path)", method: "GET", body: []), [("Accept-Language", language)])
    }

    /// Presses a button of a page.
    func press(_ answer: String, at path: String, origin: String? = nil) async throws -> (status: Int, text: String) {
        var headers = [("Content-Type", "application/x-www-form-urlencoded"), ("Accept", "text/html")]
        if let origin { headers.append(("Origin", origin)) }
        let body = Array("answer=\(answer)".utf8)
        return try await send(OutboundRequest(url: "http://127.0.0.1:\(port)\(path)", method: "POST", body: body), headers)
    }

    private func send(_ asked: OutboundRequest, _ headers: [(String, String)]) async throws -> (status: Int, text: String) {
        var request = asked
        request.headers += headers
        let answer = try await HTTPSender.anywhere().send(request)
        return (answer.status, String(decoding: answer.body, as: UTF8.self))
    }
}

extension SendMessage {
    /// The path of its link.
    var path: String {
        URL(string: values["link"] ?? "")?.path ?? ""
    }
}
