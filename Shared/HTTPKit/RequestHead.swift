// What HTTPKit itself reads of a request's head: one pass over the header fields, once per request.

import HTTPTypes

struct RequestHead: Sendable {
    var authorization: String?
    var contentType: String?
    var contentEncoding: String?
    var contentLength: Int?
    var isChunked = false
    var requestID: String?
    var idempotencyKey: String?
    var accept: String?
    var expectsContinue = false
    let path: Substring
    let query: Substring?

    init(_ head: HTTPRequest) {
        let target = head.path ?? "/"
        if let mark = target.utf8.firstIndex(of: UInt8(ascii: "?")) {
            path = target[..<mark]
            query = target[target.utf8.index(after: mark)...]
        } else {
            path = target[...]
            query = nil
        }
        for field in head.headerFields {
            switch field.name.canonicalName {
            case "authorization": authorization = field.value
            case "content-type": contentType = field.value
            case "content-encoding": contentEncoding = contentEncoding.map { $0 + "," + field.value } ?? field.value
            case "content-length": contentLength = Int(field.value)
            case "transfer-encoding": isChunked = true
            case "x-request-id": requestID = RequestID.isSafe(field.value) ? field.value : nil
            case "idempotency-key": idempotencyKey = field.value
            case "accept": accept = accept.map { $0 + "," + field.value } ?? field.value
            case "expect": expectsContinue = field.value.lowercased() == "100-continue"
            default: break
            }
        }
    }

    var hasBody: Bool {
        isChunked || (contentLength ?? 0) > 0
    }
}
