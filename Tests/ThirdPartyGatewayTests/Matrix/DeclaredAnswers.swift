// What may come back by the OpenAPI document, held against what did come over the wire.

import Contracts
import Foundation
import Testing

@testable import HTTPKit

/// Made of routes, as the document is; asked after every answer that a test gets.
struct DeclaredAnswers: Sendable {
    /// What belongs to every message of HTTP and stands in no document.
    private static let ofEveryMessage: Set = [
        "content-type", "content-length", "transfer-encoding", "connection", "date", "x-content-type-options",
    ]

    private let table: RouteTable
    /// By operation and status, in lower case.
    private let headers: [String: [Int: Set<String>]]

    private struct Document: Decodable {
        struct Operation: Decodable {
            struct Response: Decodable {
                struct Header: Decodable {}

                var headers: [String: Header]?
            }

            var operationId: String
            var responses: [String: Response]
        }

        var paths: [String: [String: Operation]]
    }

    init(_ routes: [Route]) throws {
        table = RouteTable(routes)
        let text = OpenAPIDocument.json(
            .init(title: "Declared", version: "1.0.0", summary: "For tests.", prefix: "thirdparty"), routes: routes
        ).text
        let document = try JSONDecoder().decode(Document.self, from: Data(text.utf8))
        var headers: [String: [Int: Set<String>]] = [:]
        for operation in document.paths.values.flatMap(\.values) {
            for (status, response) in operation.responses {
                let names = (response.headers ?? [:]).keys.map { $0.lowercased() }
                headers[operation.operationId, default: [:]][Int(status) ?? 0] = Set(names)
            }
        }
        self.headers = headers
    }

    /// Records what no reader of the document could expect: a status, or a header of it, that does not stand there.
    /// - Parameter sent: the names of the answer's headers in lower case.
    func check(_ method: String, _ target: String, _ status: Int, _ sent: some Sequence<String>) {
        let path = target.prefix { $0 != "?" }
        guard case .found(let entry, _) = table.find(method: method, path: path) else { return }
        guard let declared = headers[entry.route.operationID]?[status] else {
            Issue.record("\(method) \(entry.route.path) answered \(status), which its documentation does not name")
            return
        }
        let surprising = Set(sent).subtracting(declared).subtracting(Self.ofEveryMessage)
        #expect(surprising.isEmpty, "\(method) \(entry.route.path) sent headers with \(status) that its documentation does not name")
    }
}
