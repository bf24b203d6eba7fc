// The header frame: its bytes, its scanner, and that both roads read the same.

import Contracts
import Foundation
import Testing

@Suite("The header frame")
struct StreamHeaderTests {
    private let header = StreamHeader(
        stream: "ingest.samples.07", epoch: "5f3c0a", sequence: 12, head: 14, type: "samples-recorded.v1",
        subject: "per_0123456789abcdefghjkmnpqrs", at: Timestamp(milliseconds: 1_768_003_860_123), trace: "a1b2")

    @Test("Its bytes are those of the golden file: the documented keys in the documented order without spaces")
    func golden() throws {
        let golden = Array(try Golden.bytes("header.v1.json"))
        #expect(header.frame == golden)
        #expect(StreamHeader(frame: golden) == header)
    }

    @Test(
        "What the writer writes, the scanner and the decoder read alike",
        arguments: [
            (Int64(0), Int64(0)), (1, .max), (.max, 1), (42, -1), (7, .min),
        ])
    func bothRoads(sequence: Int64, at: Int64) {
        var header = header
        (header.sequence, header.at) = (sequence, Timestamp(milliseconds: at))
        header.frame.withUnsafeBytes { bytes in
            #expect(StreamHeader(scanning: bytes) == header)
            #expect(StreamHeader(decoding: bytes) == header)
        }
    }

    @Test("Other JSON that says the same is read by the slow road")
    func otherForms() {
        let spaced =
            #"{ "stream":"ingest.samples.07","v":1,"epoch":"5f3c0a","sequence":12,"head":14,"type":"samples-recorded.v1",""#
            + #"subject":"per_0123456789abcdefghjkmnpqrs","at":1768003860123,"trace":"a1b2","later":true}"#
        #expect(StreamHeader(frame: Array(spaced.utf8)) == header)
        spaced.utf8.withContiguousStorageIfAvailable { #expect(StreamHeader(scanning: UnsafeRawBufferPointer($0)) == nil) }
    }

    @Test("What is no header of this version is refused")
    func refused() {
        let whole = String(decoding: header.frame, as: UTF8.self)
        let bad = [
            "", "{}", "null", "[1]", String(whole.dropLast()), whole + "x", whole.replacingOccurrences(of: #""v":1"#, with: #""v":2"#),
            whole.replacingOccurrences(of: #":12,"#, with: #":-12,"#), whole.replacingOccurrences(of: #":14,"#, with: #":-1,"#),
            whole.replacingOccurrences(of: #":12,"#, with: #":12.5,"#), whole.replacingOccurrences(of: #":12,"#, with: #":1e99,"#),
            whole.replacingOccurrences(of: #":12,"#, with: #":99999999999999999999,"#),
            whole.replacingOccurrences(of: #":12,"#, with: #":"12","#),
            whole.replacingOccurrences(of: "a1b2", with: String(repeating: "x", count: 5000)),
        ]
        for text in bad { #expect(StreamHeader(frame: Array(text.utf8)) == nil, "\(text.prefix(200))") }
    }

    @Test("A string that would break the form is made harmless")
    func harmless() throws {
        var odd = header
        odd.trace = "a\"b\\c\nd\u{e9}"
        let read = try #require(StreamHeader(frame: odd.frame))
        #expect(read.trace == "a?b?c?d??")
    }

    @Test("Where the scanner reads a frame, the decoder reads the same: cut, changed and random bytes")
    func agreement() {
        var random = SystemRandomNumberGenerator()
        let whole = header.frame
        for _ in 0..<5000 {
            var bytes = Array(whole.prefix(Int.random(in: whole.count - 8...whole.count, using: &random)))
            for _ in 0..<Int.random(in: 0...3, using: &random) {
                bytes[Int.random(in: 0..<bytes.count, using: &random)] = UInt8.random(in: 0x20...0x7f, using: &random)
            }
            bytes.withUnsafeBytes { frame in
                guard let scanned = StreamHeader(scanning: frame) else { return }
                #expect(StreamHeader(decoding: frame) == scanned)
            }
        }
    }
}
