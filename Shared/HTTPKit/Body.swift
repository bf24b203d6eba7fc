// Getting a whole body: bounded before and after inflating, and in time.

import Contracts
package import NIOCore

extension Exchange {
    /// The whole body, inflated, within the route's own limits.
    package func body() async throws -> ByteBuffer {
        let mebibyte = BodyShape.mebibyte
        return try await body(limit: shape?.limit ?? mebibyte, inflatedLimit: shape?.inflatedLimit ?? mebibyte)
    }

    /// The whole body, inflated. Can be read once.
    /// - Parameters:
    ///   - limit: bytes as sent; more is 413 `body-too-large`.
    ///   - inflatedLimit: bytes after inflating; inflating stops there, more is 413 `body-too-large`.
    /// - Throws: `Problem` or `Refusal` for what the caller did wrong, too slow and too much at once included; other errors where the
    ///   connection broke.
    package func body(limit: Int, inflatedLimit: Int) async throws -> ByteBuffer {
        enterBody()
        let coding = try ContentCoding(head.contentEncoding)
        if let length = head.contentLength, length > limit { throw Problem.bodyTooLarge(limit: limit, inflated: false) }
        let sent = try await collect(limit: limit)
        guard coding != .identity else {
            guard sent.readableBytes <= inflatedLimit else { throw Problem.bodyTooLarge(limit: inflatedLimit, inflated: true) }
            return sent
        }
        // Packed a thousandfold at most: what is short may become long.
        let inflated = try await LongBodies.work(onBytes: min(inflatedLimit, 1000 * sent.readableBytes), of: self) {
            try Self.inflate(sent, coding, limit: inflatedLimit)
        }
        try permit?.hold(inflated.readableBytes)
        return inflated
    }

    private func collect(limit: Int) async throws -> ByteBuffer {
        var whole: ByteBuffer?
        var reader = RequestBody.Reader(requestBody)
        while var chunk = try await nextChunk(&reader, by: beganAt + limits.arrival(ofWhole: whole?.readableBytes ?? 0)) {
            let received = (whole?.readableBytes ?? 0) + chunk.readableBytes
            guard received <= limit else { throw Problem.bodyTooLarge(limit: limit, inflated: false) }
            if case .coming = requestBody { try permit?.hold(chunk.readableBytes) }
            guard whole?.writeBuffer(&chunk) != nil else {
                whole = chunk
                if let length = head.contentLength, length > chunk.readableBytes { whole?.reserveCapacity(length) }
                continue
            }
            guard .now - beganAt < limits.arrival(ofWhole: received) else { throw Problem.requestTimeout }
        }
        let sent = whole ?? ByteBuffer()
        if let length = head.contentLength, length != sent.readableBytes {
            leaveBody(.broken)
            throw BodyCutOff()
        }
        leaveBody(.ended)
        return sent
    }

    private static func inflate(_ packed: ByteBuffer, _ coding: ContentCoding, limit: Int) throws(Problem) -> ByteBuffer {
        let inflater = try Inflater(coding)
        var input = packed
        var output = ByteBuffer()
        // One byte more than allowed tells "exactly the limit" from "too much".
        _ = try inflater.inflate(&input, into: &output, room: limit + 1)
        guard output.readableBytes <= limit else { throw .bodyTooLarge(limit: limit, inflated: true) }
        guard inflater.isComplete, input.readableBytes == 0 else { throw .badEncoding }
        return output
    }

    /// - Throws: `request-timeout` where nothing came by `deadline`.
    func nextChunk(_ reader: inout RequestBody.Reader, by deadline: ContinuousClock.Instant) async throws -> ByteBuffer? {
        do {
            return try await reader.next(by: deadline)
        } catch is BodyTooSlow {
            throw Problem.requestTimeout
        } catch {
            leaveBody(.broken)
            throw error
        }
    }
}

extension HTTPLimits {
    /// How long after the request's head so many bytes of a body that is read whole must be there: a grace, then a second for each
    /// `slowestBody` bytes, up to `bodyLongest`.
    func arrival(ofWhole bytes: Int) -> Duration {
        min(max(bodyLongest, bodyArrival), bodyArrival + .milliseconds(bytes * 1000 / slowestBody))
    }
}
