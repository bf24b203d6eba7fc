// Fuzz target: RFC 3339 times. Whatever is read must be written in a form that is read as the same instant.
// decoders:

import Contracts

@_cdecl("fuzzTimestamps")
package func fuzzTimestamps(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = UnsafeRawBufferPointer(start: start, count: count)
    let read = Timestamp(rfc3339Bytes: bytes)
    if let read {
        precondition(Timestamp(rfc3339: read.rfc3339) == read, "written and read again it is another instant")
    }
    if let text = String(validating: bytes, as: UTF8.self) {
        precondition(Timestamp(rfc3339: text) == read, "text and bytes are read differently")
    }
    return 0
}
