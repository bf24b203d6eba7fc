// zlib's other direction, for tests.

import CZlib
import NIOCore

/// Packs as gzip, or as zlib (`deflate` over HTTP).
func pack(_ bytes: [UInt8], gzip: Bool = true) -> [UInt8] {
    var stream = z_stream()
    precondition(trackme_deflate_init(&stream, 6, gzip ? 15 + 16 : 15) == Z_OK)
    defer { deflateEnd(&stream) }
    var source = bytes
    var packed = [UInt8](repeating: 0, count: Int(deflateBound(&stream, UInt(bytes.count))) + 64)
    source.withUnsafeMutableBufferPointer { input in
        packed.withUnsafeMutableBufferPointer { output in
            stream.next_in = input.baseAddress
            stream.avail_in = UInt32(input.count)
            stream.next_out = output.baseAddress
            stream.avail_out = UInt32(output.count)
            precondition(deflate(&stream, Z_FINISH) == Z_STREAM_END)
        }
    }
    return Array(packed[..<Int(stream.total_out)])
}
