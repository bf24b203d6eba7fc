// Single HTTP requests, timed.

import Foundation
import Logging
import Outbound

struct WebClient: Sendable {
    struct Answer: Sendable {
        var status: Int
        var body: [UInt8]
        /// From handing the request over to having the whole answer.
        var took: Duration

        /// Its beginning, for complaints.
        var text: String { String(decoding: body.prefix(300), as: UTF8.self) }
    }

    static let quiet = Logger(label: "benchmarks") { _ in SwiftLogNoOpLogHandler() }
    private let sender: HTTPSender
    let base: String

    init(port: Int) {
        var settings = OutboundSettings()
        settings.policy = .anywhere
        sender = HTTPSender(settings, logger: Self.quiet)
        base = "http://127.0.0.1:\(port)"
    }

    func send(
        _ method: String, _ path: String, token: String? = nil, contentType: String? = nil, body: [UInt8] = [],
        timeout: Duration = .seconds(60)
    ) async throws -> Answer {
        var headers = token.map { [(name: "Authorization", value: "Bearer \($0)")] } ?? []
        if let contentType { headers.append((name: "Content-Type", value: contentType)) }
        let request = OutboundRequest(
            url: base + path, method: method, headers: headers, body: body, timeout: timeout, maxResponseBytes: 256 << 20)
        let begun = ContinuousClock.now
        let response = try await sender.send(request)
        return Answer(status: response.status, body: response.body, took: .now - begun)
    }

    /// The body of a 2xx answer as JSON.
    func get<Value: Decodable>(_ type: Value.Type, _ path: String, token: String? = nil) async throws -> Value {
        let answer = try await send("GET", path, token: token)
        guard (200...299).contains(answer.status) else {
            throw BenchmarkError("GET \(path): \(answer.status) \(String(decoding: answer.body.prefix(300), as: UTF8.self))")
        }
        return try JSONDecoder().decode(type, from: Data(answer.body))
    }

    func get<Value: Decodable>(_ path: String, token: String? = nil) async throws -> Value {
        try await get(Value.self, path, token: token)
    }

    /// Sends JSON and takes one status only.
    func call(
        _ method: String, _ path: String, token: String? = nil, json: [String: Any]? = nil, expecting status: Int
    ) async throws -> Answer {
        let answer = try await send(
            method, path, token: token, contentType: json == nil ? nil : "application/json", body: try json.map(Self.json) ?? [])
        guard answer.status == status else { throw BenchmarkError("\(method) \(path): \(answer.status) \(answer.text)") }
        return answer
    }

    static func json(_ object: [String: Any]) throws -> [UInt8] {
        Array(try JSONSerialization.data(withJSONObject: object))
    }

    func isReady(_ path: String = "/health/ready") async -> Bool {
        let answer = try? await send("GET", path, timeout: .seconds(1))
        return answer.map { (200...299).contains($0.status) } ?? false
    }
}
