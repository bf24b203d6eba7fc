// What HTTPKit itself reads of a request's head: one pass over the header fields, once per request.

import NIOHTTP1

/// A class, because it is handed on often and holds many strings.
final class RequestHead: Sendable {
    let method: String
    let path: Substring
    let query: Substring?
    let fields: HTTPHeaders
    /// HTTP/1.0: knows no chunks.
    let isOld: Bool
    /// No other request follows on the connection.
    let isLast: Bool
    let authorization: String?
    let contentType: String?
    let contentEncoding: String?
    let contentLength: Int?
    let isChunked: Bool
    let requestID: String?
    let idempotencyKey: String?
    let accept: String?
    let acceptLanguage: String?
    let cookie: String?
    let origin: String?
    let forwardedFor: String?
    /// See `EdgeSecret`.
    let edgeSecret: String?
    let expectsContinue: Bool

    init(_ head: HTTPRequestHead) {
        var known = KnownFields()
        for (name, value) in head.headers { known.read(name.lowercased(), value) }
        (method, fields, isOld) = (head.method.rawValue, head.headers, head.version.minor == 0)
        // What follows CONNECT is not HTTP.
        isLast = known.endsConnection || isOld || head.method == .CONNECT
        if let mark = head.uri.utf8.firstIndex(of: UInt8(ascii: "?")) {
            path = head.uri[..<mark]
            query = head.uri[head.uri.utf8.index(after: mark)...]
        } else {
            path = head.uri[...]
            query = nil
        }
        (authorization, cookie, origin) = (known.authorization, known.cookie, known.origin)
        (contentType, contentEncoding, contentLength) = (known.contentType, known.contentEncoding, known.contentLength)
        (isChunked, expectsContinue) = (known.isChunked, known.expectsContinue)
        (requestID, idempotencyKey) = (known.requestID, known.idempotencyKey)
        (accept, acceptLanguage) = (known.accept, known.acceptLanguage)
        (forwardedFor, edgeSecret) = (known.forwardedFor, known.edgeSecret)
    }
}

private struct KnownFields {
    var authorization: String?
    var contentType: String?
    var contentEncoding: String?
    var contentLength: Int?
    var isChunked = false
    var requestID: String?
    var idempotencyKey: String?
    var accept: String?
    var acceptLanguage: String?
    var cookie: String?
    var origin: String?
    var forwardedFor: String?
    var edgeSecret: String?
    var expectsContinue = false
    var endsConnection = false

    /// - Parameter name: in lower case.
    mutating func read(_ name: String, _ value: String) {
        switch name {
        case "authorization": authorization = value
        case "content-type": contentType = value
        case "content-encoding": contentEncoding = contentEncoding.map { $0 + "," + value } ?? value
        case "content-length": contentLength = Int(value)
        case "transfer-encoding": isChunked = true
        case "x-request-id": requestID = RequestID.isSafe(value) ? value : nil
        case "idempotency-key": idempotencyKey = value
        case "accept": accept = accept.map { $0 + "," + value } ?? value
        case "accept-language": acceptLanguage = acceptLanguage.map { $0 + "," + value } ?? value
        case "cookie": cookie = cookie.map { $0 + "; " + value } ?? value
        case "x-forwarded-for": forwardedFor = forwardedFor.map { $0 + "," + value } ?? value
        case EdgeSecret.header: edgeSecret = value
        case "origin": origin = origin == nil ? value : ""
        case "expect": expectsContinue = value.lowercased() == "100-continue"
        // Most clients say only this.
        case "connection" where value.lowercased() == "keep-alive": break
        case "connection": if value.lowercased().contains("close") { endsConnection = true }
        // Nobody here speaks another protocol, and the decoder reads nothing after such a request.
        case "upgrade": endsConnection = true
        default: break
        }
    }
}
