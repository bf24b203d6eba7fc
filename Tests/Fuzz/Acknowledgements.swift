// Fuzz target: what integrators answer. Only a complete acknowledgement gets through.
// decoders: Services/SOSDispatcher/Domain/Acknowledgement.swift Services/SOSDispatcher/Domain/FieldFaults.swift Services/SOSDispatcher/Domain/Abilities.swift

@_cdecl("fuzzAcknowledgements")
package func fuzzAcknowledgements(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    if let read = AcknowledgementBody.read(Array(UnsafeRawBufferPointer(start: start, count: count))) {
        precondition(read.isComplete, "an incomplete acknowledgement")
    }
    return 0
}
