// zlib, bounded: never produces more than it is asked for.

import CZlib
import Contracts
import NIOCore

/// How a body is packed (RFC 9110 §8.4.1).
enum ContentCoding: Sendable {
    case identity
    case gzip
    /// The zlib format, as the standard has it.
    case deflate

    init(_ header: String?) throws(Problem) {
        switch header?.lowercased().filter({ $0 != " " }) {
        case nil, "", "identity": self = .identity
        case "gzip", "x-gzip": self = .gzip
        case "deflate": self = .deflate
        default: throw .unsupportedEncoding
        }
    }
}

/// One packed body being unpacked. Not for concurrent use.
final class Inflater {
    /// On the heap: zlib keeps the stream's address.
    private let stream: UnsafeMutablePointer<z_stream>
    private let isGzip: Bool
    /// A complete member has been read and nothing has come after it.
    private(set) var isComplete = false

    /// - Parameter coding: not `.identity`.
    init(_ coding: ContentCoding) throws(Problem) {
        stream = .allocate(capacity: 1)
        stream.initialize(to: z_stream())
        isGzip = coding == .gzip
        let windowBits: Int32 = isGzip ? 15 + 16 : 15
        guard trackme_inflate_init(stream, windowBits) == Z_OK else {
            stream.deallocate()
            throw .unavailable
        }
    }

    deinit {
        inflateEnd(stream)
        stream.deallocate()
    }

    /// Unpacks from `input` until it is used up or `room` bytes were appended to `output`.
    /// - Returns: whether `input` may hold more, i.e. it stopped for want of room.
    func inflate(_ input: inout ByteBuffer, into output: inout ByteBuffer, room: Int) throws(Problem) -> Bool {
        var left = room
        while left > 0 {
            if isComplete {
                // gzip allows members one after the other; after zlib's end there is nothing.
                guard input.readableBytes > 0 else { return false }
                guard isGzip, inflateReset(stream) == Z_OK else { throw .badEncoding }
                isComplete = false
            }
            let (taken, given, status) = step(&input, &output, min(left, Inflater.piece))
            left -= given
            switch status {
            case Z_STREAM_END: isComplete = true
            case Z_OK: break
            case Z_BUF_ERROR: return false  // Neither input left nor output pending.
            default: throw .badEncoding
            }
            if taken == 0, given == 0, status == Z_OK { return false }
        }
        return true
    }

    private static let piece = 64 << 10

    private func step(_ input: inout ByteBuffer, _ output: inout ByteBuffer, _ most: Int) -> (taken: Int, given: Int, status: Int32) {
        var status = Z_OK
        var given = 0
        let taken = input.readWithUnsafeMutableReadableBytes { source in
            given = output.writeWithUnsafeMutableBytes(minimumWritableBytes: most) { target in
                stream.pointee.next_in = source.bindMemory(to: UInt8.self).baseAddress
                stream.pointee.avail_in = UInt32(source.count)
                stream.pointee.next_out = target.bindMemory(to: UInt8.self).baseAddress
                stream.pointee.avail_out = UInt32(most)
                status = CZlib.inflate(stream, Z_NO_FLUSH)
                return most - Int(stream.pointee.avail_out)
            }
            return source.count - Int(stream.pointee.avail_in)
        }
        return (taken, given, status)
    }
}
