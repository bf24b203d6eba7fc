// What counts as the integrator's word.

import Testing

@testable import SOSDispatcher

@Suite("Acknowledgement")
struct AcknowledgementTests {
    @Test("An acknowledgement is read; `duplicate` counts as accepted", arguments: ["accepted", "duplicate"])
    func accepted(result: String) {
        let read = AcknowledgementBody.read(Array(#"{"ack":{"messageId":"emg_x-0","result":"\#(result)","ackId":"a1"},"more":1}"#.utf8))
        #expect(read?.accepts == true)
        #expect(read?.messageId == "emg_x-0")
    }

    @Test("A rejection needs a reason and accepts nothing")
    func rejected() {
        #expect(AcknowledgementBody.read(Array(#"{"ack":{"messageId":"m","result":"rejected","ackId":"a"}}"#.utf8)) == nil)
        #expect(AcknowledgementBody.read(Array(#"{"ack":{"messageId":"m","result":"rejected","ackId":"a","reason":""}}"#.utf8)) == nil)
        let read = AcknowledgementBody.read(Array(#"{"ack":{"messageId":"m","result":"rejected","ackId":"a","reason":"no car"}}"#.utf8))
        #expect(read?.accepts == false)
    }

    @Test(
        "Anything else is no acknowledgement",
        arguments: [
            "", "ok", "{}", "[]", "null", #"{"ack":true}"#, #"{"ack":{"messageId":"m","result":"yes","ackId":"a"}}"#,
            #"{"ack":{"messageId":"m","result":"accepted"}}"#, #"{"ack":{"messageId":"m","result":"accepted","ackId":""}}"#,
            #"{"ack":{"messageId":"m","result":"accepted","ackId":"with space"}}"#,
            #"{"ack":{"messageId":1,"result":"accepted","ackId":"a"}}"#,
        ])
    func refused(text: String) {
        #expect(AcknowledgementBody.read(Array(text.utf8)) == nil)
    }
}
