// The people, devices and programs of tests: they ask a service over HTTP, read its answer, and listen to its events.

import Contracts
package import Foundation
package import FoundationNetworking
import Synchronization

/// What a service answered.
package struct HarnessAnswer: Sendable {
    package let status: Int
    /// Names in lower case.
    package let headers: [String: String]
    package let body: Data

    package init(status: Int, headers: [String: String], body: Data) {
        (self.status, self.headers, self.body) = (status, headers, body)
    }

    package func decoded<Value: Decodable>(as type: Value.Type = Value.self) throws -> Value {
        try JSONDecoder().decode(Value.self, from: body)
    }

    /// Empty where the body is no JSON object.
    package var json: [String: Any] { (try? JSONSerialization.jsonObject(with: body)) as? [String: Any] ?? [:] }

    /// Those of a page.
    package var items: [[String: Any]] { json["items"] as? [[String: Any]] ?? [] }

    /// The name of the problem without the prefix; nil for anything else.
    package var problem: String? { (try? decoded(as: Problem.self))?.type.replacing(Problem.prefix, with: "") }

    /// Where the problem points to.
    package var pointers: [String] { (try? decoded(as: Problem.self))?.errors?.map(\.pointer) ?? [] }

    package var text: String { String(decoding: body, as: UTF8.self) }

    package func header(_ name: String) -> String? { headers[name.lowercased()] }

    /// Itself where the status is this one.
    @discardableResult
    package func expect(status: Int, file: StaticString = #fileID, line: Int = #line) throws -> HarnessAnswer {
        guard self.status == status else { throw OtherStatus(description: "\(file):\(line): \(self.status) instead of \(status): \(text)") }
        return self
    }

    package struct OtherStatus: Error, CustomStringConvertible {
        package let description: String
    }
}

/// A harness around a service that listens on a port of this machine.
package protocol HTTPHarness: Sendable {
    var port: Int { get }
}

extension HTTPHarness {
    /// As `HarnessClient.ask`.
    package func request(
        _ method: String, _ path: String, token: String? = nil, json: [String: Any]? = nil, form: String? = nil,
        headers: [String: String] = [:]
    ) async throws -> HarnessAnswer {
        try await HarnessClient(port: port).ask(method, path, token: token, json: json, form: form, headers: headers)
    }
}

/// Asks one service. Keeps nothing of one answer for the next: neither cookies nor pages.
package struct HarnessClient: Sendable {
    package struct NotAnAddress: Error {}

    private let origin: String

    /// The service that listens on this port of the machine.
    package init(port: Int) {
        self.init("http://127.0.0.1:\(port)")
    }

    /// - Parameter origin: what each path is appended to.
    package init(_ origin: String) {
        self.origin = origin
    }

    /// - Parameters:
    ///   - json: the members of the body, unless it is a form or none.
    ///   - headers: win over what the body is.
    package func ask(
        _ method: String, _ path: String, token: String? = nil, json: [String: Any]? = nil, form: String? = nil,
        headers: [String: String] = [:]
    ) async throws -> HarnessAnswer {
        var (body, type): (Data?, String?) = (nil, nil)
        if let json { (body, type) = (try JSONSerialization.data(withJSONObject: json, options: .sortedKeys), "application/json") }
        if let form { (body, type) = (Data(form.utf8), "application/x-www-form-urlencoded") }
        return try await send(request(method, path, token: token, body: body, type: type, headers: headers))
    }

    package func send(_ request: URLRequest) async throws -> HarnessAnswer {
        // All services of tests have one address, and none may get another's cookies, nor one log-in those of the last.
        HTTPCookieStorage.shared.cookieAcceptPolicy = .never
        let (data, response) = try await URLSession.shared.data(for: request)
        let http = response as? HTTPURLResponse
        let fields = (http?.allHeaderFields ?? [:]).reduce(into: [String: String]()) { fields, field in
            fields["\(field.key)".lowercased()] = "\(field.value)"
        }
        return HarnessAnswer(status: http?.statusCode ?? 0, headers: fields, body: data)
    }

    package func request(
        _ method: String, _ path: String, token: String? = nil, body: Data? = nil, type: String? = nil, headers: [String: String] = [:]
    ) throws -> URLRequest {
        guard let url = URL(string: origin + path) else { throw NotAnAddress() }
        var request = URLRequest(url: url)
        request.httpMethod = method
        request.httpShouldHandleCookies = false
        request.cachePolicy = .reloadIgnoringLocalAndRemoteCacheData
        request.httpBody = body
        if let type { request.setValue(type, forHTTPHeaderField: "Content-Type") }
        if let token { request.setValue("Bearer \(token)", forHTTPHeaderField: "Authorization") }
        for (name, value) in headers { request.setValue(value, forHTTPHeaderField: name) }
        return request
    }
}

/// Collects server-sent events as a browser does, on a connection of its own, until it is stopped.
package final class EventListener: NSObject, URLSessionDataDelegate {
    package struct Event: Hashable, Sendable {
        package var id: String?
        package var name: String?
        package var data: String
    }

    private let bytes = Mutex<[UInt8]>([])
    private let session = Mutex<URLSession?>(nil)
    private let ended = Mutex(false)

    package init(_ request: URLRequest) {
        super.init()
        let session = URLSession(configuration: .ephemeral, delegate: self, delegateQueue: nil)
        self.session.withLock { $0 = session }
        session.dataTask(with: request).resume()
    }

    package func stop() {
        session.withLock { session in
            session?.invalidateAndCancel()
            session = nil
        }
    }

    package func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        bytes.withLock { $0.append(contentsOf: data) }
    }

    package func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        ended.withLock { $0 = true }
    }

    /// The other side has ended the stream.
    package var isOver: Bool { ended.withLock { $0 } }

    /// Every whole event with data.
    package var events: [Event] {
        let text = bytes.withLock { String(decoding: $0, as: UTF8.self) }
        return text.components(separatedBy: "\n\n").dropLast().compactMap { block in
            let lines = block.components(separatedBy: "\n")
            func fields(_ name: String) -> [String] {
                lines.filter { $0.hasPrefix(name + ": ") }.map { String($0.dropFirst(name.count + 2)) }
            }
            let data = fields("data")
            return data.isEmpty ? nil : Event(id: fields("id").first, name: fields("event").first, data: data.joined(separator: "\n"))
        }
    }

    /// The data of every whole event, as far as it has this form.
    package func events<Value: Decodable>(as type: Value.Type) -> [Value] {
        events.compactMap { try? JSONDecoder().decode(Value.self, from: Data($0.data.utf8)) }
    }
}
