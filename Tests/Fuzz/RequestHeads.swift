// Fuzz target: what stands in the head of an HTTP request: escapes in a path, media types.
// decoders: Shared/HTTPKit/PercentCoding.swift Shared/HTTPKit/MediaType.swift

@_cdecl("fuzzRequestHeads")
package func fuzzRequestHeads(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let text = String(decoding: UnsafeRawBufferPointer(start: start, count: count), as: UTF8.self)
    if let decoded = PercentCoding.decode(text[...]) { precondition(decoded.utf8.count <= text.utf8.count, "decoding adds something") }
    _ = MediaType.essence(of: text)
    let offered = ["application/json", "application/x-ndjson"]
    if let chosen = MediaType.preferred(of: offered, accept: text) { precondition(offered.contains(chosen), "nobody offered it") }
    return 0
}
