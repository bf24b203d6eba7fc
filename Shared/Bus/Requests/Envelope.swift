// The envelopes of questions and answers as bytes: what Contracts' RequestEnvelope and ReplyEnvelope say, around a body that is
// JSON already.

import Contracts
import Foundation

/// A question as it arrived.
struct Question {
    let id: String
    let method: String
    let deadline: Timestamp
    let trace: String
    let body: [UInt8]

    init(id: String, method: String, deadline: Timestamp, trace: String, body: [UInt8]) {
        (self.id, self.method, self.deadline, self.trace, self.body) = (id, method, deadline, trace, body)
    }

    /// Nil for what is no envelope of this version.
    init?(envelope: [UInt8]) {
        guard let members = JSONMembers(envelope), members.integer("v") == 1, let id = members.word("id"), !id.isEmpty,
            let method = members.word("method"), let deadline = members.integer("deadline"), let trace = members.word("trace"),
            let body = members.value("body")
        else { return nil }
        self.init(id: id, method: method, deadline: Timestamp(milliseconds: deadline), trace: trace, body: body)
    }

    var envelope: [UInt8] {
        let head =
            "{\"v\":1,\"id\":\"\(id)\",\"method\":\"\(method)\",\"deadline\":\(deadline.milliseconds),\"trace\":\"\(trace)\",\"body\":"
        return enveloped(head, body)
    }
}

/// An answer as it travels: the bytes of `ok`, or a failure.
struct Answer {
    let id: String
    let result: Result<[UInt8], Failure>

    init(id: String, _ result: Result<[UInt8], Failure>) {
        (self.id, self.result) = (id, result)
    }

    init?(envelope: [UInt8]) {
        guard let members = JSONMembers(envelope), members.integer("v") == 1, let id = members.word("id") else { return nil }
        if let body = members.value("ok") {
            self.init(id: id, .success(body))
        } else if let failure = members.value("failure").flatMap({ try? CheckedJSON.decode(Failure.self, from: $0, of: .suite) }) {
            self.init(id: id, .failure(failure))
        } else {
            return nil
        }
    }

    var envelope: [UInt8] {
        let head = "{\"v\":1,\"id\":\"\(id)\","
        switch result {
        case .success(let body):
            return enveloped(head + "\"ok\":", body)
        case .failure(let failure):
            // A failure is two strings: encoding it cannot fail.
            let body = (try? JSONEncoder().encode(failure)).map(Array.init) ?? Array("{\"code\":\"internal\",\"reason\":\"\"}".utf8)
            return enveloped(head + "\"failure\":", body)
        }
    }
}

/// `body` as the last member of an object that `head` begins; copied once.
private func enveloped(_ head: String, _ body: [UInt8]) -> [UInt8] {
    var envelope: [UInt8] = []
    envelope.reserveCapacity(head.utf8.count + body.count + 1)
    envelope += head.utf8
    envelope += body
    envelope.append(UInt8(ascii: "}"))
    return envelope
}

/// How bodies are written; the same value always gives the same bytes.
func busJSON(_ value: some Encodable) throws -> [UInt8] {
    if let value = value as? any HandWrittenJSON { return value.handWritten }
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.withoutEscapingSlashes, .sortedKeys]
    return Array(try encoder.encode(value))
}

/// Whether an envelope can hold it as it is, and it says something.
func isBusWord(_ text: String) -> Bool {
    (1...BusLimits.wordBytes).contains(text.utf8.count) && text.utf8.allSatisfy(isWordByte)
}

/// For words that name nothing: letters that an envelope may not hold become `?`; longer ones are cut.
func busWord(_ text: String) -> String {
    String(decoding: text.utf8.prefix(BusLimits.wordBytes).map { isWordByte($0) ? $0 : UInt8(ascii: "?") }, as: UTF8.self)
}

/// 128 random bits in hex.
func randomQuestionID() -> String {
    var rest = UInt128.random(in: .min ... .max)
    return String(unsafeUninitializedCapacity: 32) { text in
        for place in 0..<32 {
            let digit = UInt8(truncatingIfNeeded: rest & 15)
            text[place] = digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10
            rest >>= 4
        }
        return 32
    }
}

/// The wall clock, for deadlines and for `at` of heartbeats.
func busTime() -> Timestamp {
    var now = timespec()
    clock_gettime(CLOCK_REALTIME, &now)
    return Timestamp(milliseconds: Int64(now.tv_sec) * 1000 + Int64(now.tv_nsec) / 1_000_000)
}
