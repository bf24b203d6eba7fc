// What counts as the integrator's word.

import Foundation
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

    /// What stands behind the other fields of a rejection that does not say why.
    static let missingReasons = ["", #","reason":null"#, #","reason":"""#]

    @Test(
        "SOS-39: a rejection without a reason was none, and nobody else was called", arguments: missingReasons + [#","reason":"no car""#])
    func rejected(reason: String) {
        let body = #"{"ack":{"messageId":"m","result":"rejected","ackId":"a"\#(reason)}}"#
        let read = AcknowledgementBody.read(Array(body.utf8))
        #expect(read?.result == .rejected && read?.accepts == false)
        #expect(AcknowledgementBody.fault(in: Array(body.utf8)) == nil)
    }

    /// A reason of 501 characters, one of another kind, and one with more marks than any language writes.
    static let faultyReasons = [
        #""\#(String(repeating: "x", count: 501))""#, "5", #"["no car"]"#, #""a\#(String(repeating: "\\u0301", count: 40))""#,
    ]

    @Test(
        "SOS-39: a rejection with a reason of 501 characters was none, and nobody else was called; an acceptance likewise",
        arguments: faultyReasons)
    func faultyReason(reason: String) throws {
        for result in Acknowledgement.Result.allCases {
            let body = #"{"ack":{"messageId":"m","result":"\#(result.rawValue)","ackId":"a","reason":\#(reason)}}"#
            let read = try #require(AcknowledgementBody.read(Array(body.utf8)))
            #expect(read.result == result && read.messageId == "m" && read.ackId == "a")
            #expect((1...Acknowledgement.longestReason).contains(read.reason?.count ?? 0))
            let kept = try JSONDecoder().decode(Acknowledgement.self, from: JSONEncoder().encode(read))
            #expect(kept == read)
        }
    }

    @Test("What seems to be meant for an acknowledgement and is none is said to be so, without a word of it")
    func faults() {
        func fault(_ text: String) -> String? {
            AcknowledgementBody.fault(in: Array(text.utf8)) ?? CAPDocument.acknowledgementFault(in: Array(text.utf8))
        }
        for text in ["", "ok", "{}", #"{"status":"anna"}"#, "<html>anna</html>"] { #expect(fault(text) == nil) }
        #expect(fault(#"{"ack":{"messageId":"m","result":"rejected","ackId":"a b"}}"#)?.hasPrefix("ackId has 1 to") == true)
        for text in [
            #"{"ack":{"messageId":"m","result":"accepted","ackId":"an na"}}"#, #"{"ack":{"messageId":"m","result":"anna","ackId":"a"}}"#,
            #"{"ack":{"messageId":"anna","result":"accepted","ackId":"a"}"#,
            "<alert xmlns=\"urn:oasis:names:tc:emergency:cap:1.2\"><identifier>anna</identifier><msgType>Ack</msgType></alert>",
        ] {
            #expect(fault(text)?.isEmpty == false && fault(text)?.contains("anna") == false, "\(text)")
        }
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

@Suite("Acknowledgement by text")
struct AcknowledgementTextTests {
    private static let codes: Set<String> = ["7K3M9Q", "2D4F6H"]

    @Test(
        "SOS-19, UI-14: `7K3M9Q: non possiamo`, `RIFIUTO 7K3M9Q` and `7K3M9Q NO` were taken for acceptances, and nobody else was called",
        arguments: [
            "NO 7K3M9Q", "no, 7k3m9q", "7K3M9Q NO", "NON 7K3M9Q", "NON possiamo 7K3M9Q", "7K3M9Q: non possiamo", "not possible 7K3M9Q",
            "RIFIUTO 7K3M9Q", "Rifiutato: 7K3M9Q", "7K3M9Q rejected", "negativo 7K3M9Q", "we can't 7K3M9Q", "we can’t 7K3M9Q",
            "cannot 7K3M9Q", "unable 7K3M9Q", "è impossibile 7K3M9Q", "OK 7K3M9Q NO", "non accetto 7K3M9Q", "NO+7K3M9Q", "nò 7K3M9Q",
        ])
    func rejected(text: String) {
        #expect(AcknowledgementText(text).meaning(of: Self.codes) == .rejected)
    }

    @Test(
        "SOS-19: the code alone accepts, and with words that say so",
        arguments: [
            "7K3M9Q", " 7k3m9q. ", "(7K3M9Q)", "OK 7K3M9Q", "ok: 7k3m9q!", "OK+7K3M9Q", "7K3M9Q OK", "Sì 7K3M9Q", "SI' 7K3M9Q",
            "yes, 7K3M9Q", "7K3M9Q accetto, partiti", "Arriviamo 7K3M9Q", "7K3M9Q 7K3M9Q", "OK\n7K3M9Q\n", "ACCEPT 7K3M9Q",
        ])
    func accepted(text: String) {
        #expect(AcknowledgementText(text).meaning(of: Self.codes) == .accepted)
    }

    @Test(
        "SOS-19: ACCEPT and CONFIRM beside the code were not understood, and the call went on: each word accepts, in any case, and no more",
        arguments: AcknowledgementText.accepting.union(["ACCEPT", "CONFIRM"]).sorted())
    func acceptingWord(word: String) {
        for text in ["\(word) 7K3M9Q", "7k3m9q \(word.lowercased()).", "OK, \(word.capitalized): 7K3M9Q"] {
            #expect(AcknowledgementText(text).meaning(of: Self.codes) == .accepted, "\(text)")
        }
        #expect(AcknowledgementText("\(word)? 7K3M9Q").meaning(of: Self.codes) == .notUnderstood)
        for no in AcknowledgementText.rejecting {
            #expect(AcknowledgementText("\(no) \(word) 7K3M9Q").meaning(of: Self.codes) == .rejected, "\(no) \(word)")
        }
    }

    @Test(
        "SOS-19: in doubt a text is no acceptance, and the call goes on",
        arguments: [
            "7K3M9Q?", "OK? 7K3M9Q", "perhaps 7K3M9Q", "chi è? 7K3M9Q", "7K3M9Q tra un'ora", "Received 7K3M9Q", "ricevuto 7K3M9Q",
            "👎 7K3M9Q", "❌ 7K3M9Q", "OK 7K3M9Q 2D4F6H", "OK 7K3M9Q, NO 2D4F6H", "nobody 7K3M9Q", "N.O. 7K3M9Q", "NOK 7K3M9Q", "7K3M9Q 3333",
            "SOS1;i=4g98fksdrz86c5jxqthrkn9bfy;q=0;m=A;a=7K3M9Q;t=20261121163622;ml=70",
        ])
    func notUnderstood(text: String) {
        #expect(AcknowledgementText(text).meaning(of: Self.codes) == .notUnderstood)
    }

    @Test(
        "A text without a code that was sent is no acknowledgement", arguments: ["", "OK", "NO", "OK 7K3M9", "OK 7K3M9QX", "7 K 3 M 9 Q"])
    func none(text: String) {
        #expect(AcknowledgementText(text).meaning(of: Self.codes) == nil)
    }

    @Test("No word both accepts and rejects, and each is as texts are read: capitals without accents and apostrophes")
    func words() {
        #expect(AcknowledgementText.accepting.isDisjoint(with: AcknowledgementText.rejecting))
        for word in AcknowledgementText.accepting.union(AcknowledgementText.rejecting) {
            #expect(AcknowledgementText(word.lowercased()).words == [word])
        }
    }
}
