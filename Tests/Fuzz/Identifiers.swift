// Fuzz target: written ids. What is accepted is the one way to write it.
// decoders:

import Contracts

@_cdecl("fuzzIdentifiers")
package func fuzzIdentifiers(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = UnsafeRawBufferPointer(start: start, count: count)
    if let read = PersonID(String(decoding: bytes, as: UTF8.self)) {
        precondition(read.description.utf8.elementsEqual(bytes), "an id can be written in two ways")
        precondition(PersonID(bytes: read.bytes) == read, "the stored form is another id")
    }
    if let bits = Crockford.decode(Array(bytes)) {
        precondition(Crockford.encode(bits).utf8.elementsEqual(bytes), "digits can be written in two ways")
    }
    return 0
}
