// Fuzz target: packed bodies. Never more than asked for comes out, and it always comes to an end.
// decoders: Shared/HTTPKit/Inflater.swift Shared/HTTPKit/Problems.swift module:NIOCore=ByteBuffer -IShared/CZlib -lz Shared/HTTPKit/HTTPLimits.swift Shared/HTTPKit/FieldFaults.swift Tests/Fuzz/Modules/FaultLimits.swift

import NIOCore

@_cdecl("fuzzInflating")
package func fuzzInflating(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = UnsafeRawBufferPointer(start: start, count: count)
    for coding in [ContentCoding.gzip, .deflate] {
        guard let inflater = try? Inflater(coding) else { continue }
        var input = ByteBuffer(bytes: bytes)
        var turns = 0
        do {
            var more = true
            while more {
                var output = ByteBuffer()
                more = try inflater.inflate(&input, into: &output, room: 1000)
                precondition(output.readableBytes <= 1000, "more came out than there was room")
                turns += 1
                // deflate packs at most 1032 to one.
                precondition(turns <= 2 + count * 1100 / 1000 + count, "it does not come to an end")
            }
        } catch {
            continue
        }
    }
    return 0
}
