// Fuzz target: header frames. The scanner reads nothing that JSONDecoder reads differently.
// decoders:

import Contracts

@_cdecl("fuzzStreamHeaders")
package func fuzzStreamHeaders(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = UnsafeRawBufferPointer(start: start, count: count)
    if let scanned = StreamHeader(scanning: bytes) {
        precondition(StreamHeader(decoding: bytes) == scanned, "the scanner and JSONDecoder differ")
    }
    if let header = StreamHeader(frame: bytes), header.frame.count <= StreamHeader.longestFrame {
        let again = StreamHeader(frame: header.frame)
        precondition(again?.sequence == header.sequence && again?.head == header.head && again?.at == header.at, "written otherwise")
    }
    return 0
}
