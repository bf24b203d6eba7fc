// An answer as bytes of HTTP/1.1.

import Contracts
import HTTPTypes
import NIOCore

/// A handler's answer with what HTTPKit adds to it.
struct OutgoingAnswer: Sendable {
    let answer: HTTPAnswer
    /// Of a HEAD request: the body is kept back.
    let isHead: Bool
    let requestID: String
    let receivedAt: Timestamp

    /// How the other side knows where the body ends.
    enum Framing {
        case length
        case chunks
        /// For HTTP/1.0, which has no chunks.
        case close
    }

    /// Everything before the body. The values of `HTTPField` hold no line breaks by construction; the other values are our own.
    func writeHead(to bytes: inout ByteBuffer, _ framing: Framing, closes: Bool) {
        bytes.writeStaticString("HTTP/1.1 ")
        if answer.status == 200 {
            bytes.writeStaticString("200 OK\r\n")
        } else {
            let status = HTTPResponse.Status(code: answer.status)
            bytes.writeString("\(status.code) \(status.reasonPhrase)\r\n")
        }
        if let type = answer.contentType { bytes.writeField("Content-Type: ", type) }
        var isCachingSaid = false
        for field in answer.headers {
            if field.name == .cacheControl { isCachingSaid = true }
            bytes.writeString(field.name.rawName)
            bytes.writeField(": ", field.value)
        }
        if !isCachingSaid { bytes.writeStaticString("Cache-Control: no-store\r\n") }
        bytes.writeStaticString("X-Content-Type-Options: nosniff\r\n")
        bytes.writeField("Date: ", AnswerDate.text(at: receivedAt))
        bytes.writeField("X-Request-Id: ", requestID)
        switch framing {
        case .chunks: bytes.writeStaticString("Transfer-Encoding: chunked\r\n")
        case .length: if let length { bytes.writeField("Content-Length: ", String(length)) }
        case .close: break
        }
        if closes { bytes.writeStaticString("Connection: close\r\n") }
        bytes.writeStaticString("\r\n")
    }

    /// Of a body that is there as a whole; nil for answers that have none by definition.
    private var length: Int? {
        switch answer.body {
        case .whole(let body): body.readableBytes
        case .empty: answer.status == 204 || answer.status == 304 ? nil : 0
        case .stream: nil
        }
    }

    /// The body that goes with the head.
    var body: ByteBuffer? {
        guard !isHead, case .whole(let body) = answer.body else { return nil }
        return body
    }
}

extension ByteBuffer {
    fileprivate mutating func writeField(_ name: StaticString, _ value: String) {
        writeStaticString(name)
        writeString(value)
        writeStaticString("\r\n")
    }

    /// One chunk of a body without a length (RFC 9112 §7.1).
    mutating func writeChunk(_ piece: ByteBuffer) {
        writeString(String(piece.readableBytes, radix: 16))
        writeStaticString("\r\n")
        writeImmutableBuffer(piece)
        writeStaticString("\r\n")
    }
}
