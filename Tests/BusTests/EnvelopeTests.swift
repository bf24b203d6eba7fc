// Envelopes as bytes, and that they are what Contracts says.

import Contracts
import Foundation
import TestKit
import Testing

@testable import Bus

@Suite("Envelopes")
struct EnvelopeTests {
    @Test("A question written by hand is what Contracts reads, and the other way round")
    func question() throws {
        let question = Question(
            id: "00ff", method: "read-latest", deadline: Timestamp(milliseconds: 17), trace: "t-1", body: Array(#"{"a":[1,"}"]}"#.utf8))
        let read = try JSONDecoder().decode(RequestEnvelope<[String: [Mixed]]>.self, from: Data(question.envelope))
        #expect(read.id == "00ff")
        #expect(read.method == "read-latest")
        #expect(read.deadline.milliseconds == 17)
        #expect(read.trace == "t-1")
        let written = try JSONEncoder().encode(
            RequestEnvelope(id: "1", method: "m", deadline: Timestamp(milliseconds: 2), trace: "", body: ["x": "y"]))
        let again = try #require(Question(envelope: Array(written)))
        #expect(again.id == "1")
        #expect(again.deadline.milliseconds == 2)
        #expect(again.body == Array(#"{"x":"y"}"#.utf8))
    }

    @Test("An answer written by hand is what Contracts reads, and the other way round")
    func answer() throws {
        let ok = Answer(id: "1", .success(Array("{}".utf8)))
        #expect(try JSONDecoder().decode(ReplyEnvelope<Nothing>.self, from: Data(ok.envelope)).ok != nil)
        let failure = Failure(.conflict, "it has a \"quote\"")
        let refused = Answer(id: "1", .failure(failure))
        #expect(try JSONDecoder().decode(ReplyEnvelope<Nothing>.self, from: Data(refused.envelope)).failure == failure)
        let written = try JSONEncoder().encode(ReplyEnvelope<Nothing>(id: "9", failure: failure))
        let again = try #require(Answer(envelope: Array(written)))
        #expect(again.id == "9")
        #expect(throws: failure) { try again.result.get() }
    }

    @Test(
        "The acknowledgement of docs/integrators/stream.md is, byte for byte, what is asked and answered; a rejection and a failure are read"
    )
    func documented() throws {
        let page = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("../../docs/integrators/stream.md")
        let frames = try String(contentsOf: page, encoding: .utf8).split(separator: "```json\n").dropFirst().compactMap {
            $0.split(separator: "\n").first.map { Array($0.utf8) }
        }
        try #require(frames.count == 3)
        let question = try #require(Question(envelope: frames[0]))
        #expect(question.envelope == frames[0] && question.method == AcknowledgeDispatch.method)
        let body = try JSONDecoder().decode(AcknowledgeDispatch.self, from: Data(question.body))
        #expect(try busJSON(body) == question.body)
        let answer = Answer(id: question.id, .success(try busJSON(Nothing())))
        #expect(answer.envelope == frames[1])
        let refused = try #require(Answer(envelope: frames[2]))
        #expect(refused.id == question.id)
        #expect(throws: Failure(.notFound, "no such message was sent to milan")) { try refused.result.get() }
    }

    @Test(
        "What is no envelope is refused",
        arguments: [
            "", "{", "[]", "null", "{}", #"{"v":1}"#, #"{"v":2,"id":"1","method":"m","deadline":1,"trace":"","body":{}}"#,
            #"{"v":1,"id":"","method":"m","deadline":1,"trace":"","body":{}}"#,
            #"{"v":1,"id":1,"method":"m","deadline":1,"trace":"","body":{}}"#,
            #"{"v":1,"id":"1","method":"m","deadline":1.5,"trace":"","body":{}}"#,
            #"{"v":1,"id":"1","id":"2","method":"m","deadline":1,"trace":"","body":{}}"#,
            #"{"v":1,"id":"a\"b","method":"m","deadline":1,"trace":"","body":{}}"#,
            #"{"v":1,"id":"1","method":"m","deadline":1,"trace":"","body":{}"#,
            #"{"v":1,"id":"1","method":"m","deadline":1,"trace":"","body":}"#,
            #"{"v":1,"id":"1","method":"m","deadline":1,"trace":"","body":{}}x"#,
            #"{"v":1,"id":"1","method":"m","deadline":1,"trace":"","body":"\"}"#,
            #"{"v":1,"id":"1","method":"m","deadline":99999999999999999999,"trace":"","body":{}}"#,
        ])
    func noEnvelope(text: String) {
        #expect(Question(envelope: Array(text.utf8)) == nil)
    }

    @Test(
        "A body is found whatever stands in it and wherever it stands",
        arguments: [
            "{}", "[]", "1", "-1.5e3", "true", #""text""#, #"{"a":"}\"]\\","b":[{"c":{}}]}"#, "[ 1 , [ ] ]",
        ])
    func bodies(body: String) throws {
        let first = Array((#"{ "body" : "# + body + #" ,"id":"1","method":"m","deadline":1,"trace":"","v":1}"#).utf8)
        #expect(try #require(Question(envelope: first)).body == Array(body.utf8))
        let last = Array((#"{"v":1,"id":"1","method":"m","deadline":1,"trace":"","body": "# + body + "\n}").utf8)
        #expect(try #require(Question(envelope: last)).body == Array(body.utf8))
    }

    @Test("Random bytes and cut envelopes never crash the scanner")
    func fuzz() {
        var random = SeededGenerator(seed: 7)
        let whole = Question(id: "1", method: "m", deadline: Timestamp(milliseconds: 1), trace: "", body: Array(#"{"a":["\"",{}]}"#.utf8))
            .envelope
        for _ in 0..<20_000 {
            var bytes = Array(whole.prefix(Int.random(in: 0...whole.count, using: &random)))
            for _ in 0..<Int.random(in: 0...3, using: &random) where !bytes.isEmpty {
                bytes[Int.random(in: 0..<bytes.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
            }
            if let question = Question(envelope: bytes) { #expect(question.body.count < bytes.count) }
            _ = Answer(envelope: bytes)
        }
    }
}

private enum Mixed: Codable, Sendable {
    case number(Int), text(String)

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if let number = try? container.decode(Int.self) { self = .number(number) } else { self = .text(try container.decode(String.self)) }
    }
}
