// The headers of answers as the OpenAPI document names them: those that routes declare, and those that HTTPKit sends by itself.

import Contracts
package import HTTPTypes

/// Described only: whoever answers sends it. Of two with one name in a service only the first is written.
package struct AnswerHeader: Sendable {
    package let name: HTTPField.Name
    let schema: JSONSchema
    /// CommonMark: what it says, and where it is missing.
    let description: String
    /// On every answer that it is declared for; else it may be missing.
    let isAlways: Bool

    /// - Parameter schema: of the header's value.
    package init(_ name: HTTPField.Name, _ schema: JSONSchema, always isAlways: Bool = false, _ description: String) {
        (self.name, self.schema, self.description, self.isAlways) = (name, schema, description, isAlways)
    }

    var json: JSONValue {
        var components: [String: JSONValue] = [:]
        return ["description": .string(description), "required": .bool(isAlways), "schema": schema.json(&components)]
    }
}

// MARK: For routes to declare

extension AnswerHeader {
    package static let location = AnswerHeader(.location, .string(format: "uri-reference"), "Where to look at what was made or begun.")
    package static let eTag = AnswerHeader(
        .eTag, .string(), "Sent back as `If-None-Match`, it gets 304 while nothing has changed (RFC 9110 §8.8.3).")
    package static let link = AnswerHeader(
        .link, .string(), "`<…>; rel=\"next\"` names the following page; absent at the end (RFC 8288).")
    package static let contentDisposition = AnswerHeader(.contentDisposition, .string(), "A name for the file (RFC 6266).")
    package static let setCookie = AnswerHeader(.setCookie, .string(), "For browsers; programs keep what the body holds instead.")
}

// MARK: Sent by HTTPKit

extension AnswerHeader {
    private static let requestID = AnswerHeader(
        .requestID, .string(length: 1...RequestID.longest), always: true,
        "Yours where you sent one, else one of ours; to be quoted to whoever runs the suite.")
    private static let cacheControl = AnswerHeader(.cacheControl, .string(), always: true, "`no-store` wherever nothing else is said.")
    private static let idempotencyReplayed = AnswerHeader(
        .idempotencyReplayed, .oneOf(["true"]), "Only on the first answer to an `Idempotency-Key` when it is given again.")
    private static let retryAfter = AnswerHeader(
        .retryAfter, .integer(in: 1...Int.max), always: true, "Seconds after which it is worth asking again.")
    private static let wwwAuthenticate = AnswerHeader(.wwwAuthenticate, .string(), always: true, "The scheme that is asked for.")
    /// Of pages: what keeps a browser honest, and the language.
    private static let ofPages = [
        AnswerHeader(.contentSecurityPolicy, .string(), "Of a page."), AnswerHeader(.referrerPolicy, .string(), "Of a page."),
        AnswerHeader(.contentLanguage, .string(), "Of a page."),
    ]

    /// What HTTPKit adds to an answer of this status, beside what belongs to every message of HTTP: `Content-Type`, `Content-Length`,
    /// `Transfer-Encoding`, `Connection`, `Date` and `X-Content-Type-Options`.
    static func own(of route: Route, status: Int) -> [AnswerHeader] {
        var headers = [requestID, cacheControl]
        if route.takesIdempotencyKey, status < 300 { headers.append(idempotencyReplayed) }
        switch status {
        case 303: headers.append(location)
        case 401: headers.append(wwwAuthenticate)
        case 429, 503: headers.append(retryAfter)
        default: break
        }
        // Whoever likes pages better is refused by one as well.
        let hasPages = route.answers.contains { $0.contents.contains { $0.mediaType == MediaType.html } }
        return hasPages ? headers + ofPages : headers
    }
}
