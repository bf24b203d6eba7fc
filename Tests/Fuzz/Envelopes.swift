// Fuzz target: questions and answers on the bus. What is read is written in a form that is read the same.
// decoders: Shared/Bus/Requests/Envelope.swift Shared/Bus/Requests/JSONMembers.swift Shared/Bus/BusLimits.swift

import Contracts

@_cdecl("fuzzEnvelopes")
package func fuzzEnvelopes(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = Array(UnsafeRawBufferPointer(start: start, count: count))
    if let question = Question(envelope: bytes) {
        let again = Question(envelope: question.envelope)
        precondition(again?.id == question.id && again?.method == question.method && again?.body == question.body, "another question")
    }
    if let answer = Answer(envelope: bytes), case .success(let body) = answer.result {
        let again = Answer(envelope: answer.envelope)
        precondition(again?.id == answer.id && (try? again?.result.get()) == body, "another answer")
    }
    return 0
}
