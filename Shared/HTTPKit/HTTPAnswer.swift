// What a handler returns.

import Contracts
import Foundation
package import HTTPTypes
package import NIOCore

/// Whole, streamed or empty. Refusals are thrown instead, as `Problem` or `Refusal`.
package struct HTTPAnswer: Sendable {
    package var status: Int
    /// nil for an answer without a body.
    package var contentType: String?
    /// Further headers. HTTPKit adds `Content-Type`, `Content-Length`, `Date`, `X-Request-Id`, `X-Content-Type-Options` and, where
    /// there is none, `Cache-Control: no-store`.
    package var headers = HTTPFields()
    let body: Body

    enum Body: Sendable {
        case empty
        case whole(ByteBuffer)
        case stream(@Sendable (inout StreamWriter) async throws -> Void)
    }

    private init(status: Int, contentType: String?, body: Body) {
        (self.status, self.contentType, self.body) = (status, contentType, body)
    }

    /// Encodes at once; what cannot be encoded (a NaN) throws and becomes `internal`.
    package static func json(_ value: some Encodable, status: Int = 200) throws -> HTTPAnswer {
        HTTPAnswer(status: status, contentType: MediaType.json, body: .whole(ByteBuffer(bytes: try encoder.encode(value))))
    }

    package static func bytes(_ bytes: ByteBuffer, contentType: String, status: Int = 200) -> HTTPAnswer {
        HTTPAnswer(status: status, contentType: contentType, body: .whole(bytes))
    }

    package static func bytes(_ bytes: some Sequence<UInt8>, contentType: String, status: Int = 200) -> HTTPAnswer {
        .bytes(ByteBuffer(bytes: bytes), contentType: contentType, status: status)
    }

    /// Sent as UTF-8, which `contentType` must say.
    package static func text(_ text: String, contentType: String = MediaType.text, status: Int = 200) -> HTTPAnswer {
        .bytes(ByteBuffer(string: text), contentType: contentType, status: status)
    }

    /// Writes as fast as the caller reads. When `write` throws, the connection is cut, so that the caller sees that it is incomplete.
    package static func stream(
        contentType: String, status: Int = 200, _ write: @escaping @Sendable (inout StreamWriter) async throws -> Void
    ) -> HTTPAnswer {
        HTTPAnswer(status: status, contentType: contentType, body: .stream(write))
    }

    /// Statuses other than 204 and 304 say `Content-Length: 0`.
    package static func empty(status: Int = 204) -> HTTPAnswer {
        HTTPAnswer(status: status, contentType: nil, body: .empty)
    }

    /// The same answer with one more header.
    package func with(_ name: HTTPField.Name, _ value: String) -> HTTPAnswer {
        var copy = self
        copy.headers.append(HTTPField(name: name, value: value))
        return copy
    }

    private static let encoder: JSONEncoder = {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .withoutEscapingSlashes
        return encoder
    }()
}

extension HTTPAnswer {
    /// - Parameter head: of a request to a route that answers with pages, so that a person does not meet JSON.
    static func refusal(
        _ refusal: Refusal, requestID: String, in language: Language = .english, asPage head: RequestHead? = nil
    ) -> HTTPAnswer {
        var problem = refusal.problem.said(in: language)
        problem.requestId = requestID
        var answer =
            page(problem, language, head)
            ?? HTTPAnswer(status: problem.status, contentType: MediaType.problem, body: .whole(problem.json))
        if let wait = refusal.retryAfter ?? Refusal.usualWait(problem.status) {
            let seconds = max(1, (wait.wholeMilliseconds + 999) / 1000)
            answer.headers.append(HTTPField(name: .retryAfter, value: String(seconds)))
        }
        for field in refusal.headers { answer.headers.append(field) }
        if let allow = refusal.allow { answer.headers.append(HTTPField(name: .allow, value: allow)) }
        if problem.status == 401 { answer.headers.append(HTTPField(name: .wwwAuthenticate, value: challenge(problem))) }
        return answer
    }
}

extension HTTPAnswer {
    /// RFC 6750 §3, and RFC 9470 §3 where the log-in is too old.
    private static func challenge(_ problem: Problem) -> String {
        guard problem.type == Problem.insufficientUserAuthentication.type else { return "Bearer" }
        return "Bearer error=\"insufficient_user_authentication\", max_age=\"\(Access.freshness.components.seconds)\""
    }
}

/// Where a stream's bytes go. `write` returns when the kernel has taken them.
package struct StreamWriter {
    let connection: Connection

    /// - Throws: where the caller is gone or reads too slowly.
    package mutating func write(_ bytes: ByteBuffer) async throws {
        guard bytes.readableBytes > 0 else { return }
        try await connection.write(bytes)
    }

    /// Writes the bytes to the connection.
    /// - Throws: where the caller is gone or reads too slowly.
    package mutating func write(_ bytes: some Sequence<UInt8>) async throws {
        try await write(ByteBuffer(bytes: bytes))
    }
}
