// Fuzz target: what integrators answer. Only a complete acknowledgement gets through.
// decoders: Services/SOSDispatcher/Domain/Acknowledgement.swift

@_cdecl("LLVMFuzzerTestOneInput")
func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    if let read = AcknowledgementBody.read(Array(UnsafeRawBufferPointer(start: start, count: count))) {
        precondition(read.isComplete && (read.accepts || !(read.reason ?? "").isEmpty), "an incomplete acknowledgement")
    }
    return 0
}
