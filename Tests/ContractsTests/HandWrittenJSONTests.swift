// Bodies that are written and read by hand say what their Codable form says, and nothing else is taken for them.

import Contracts
import Foundation
import TestKit
import Testing

@Suite("Bodies written by hand")
struct HandWrittenJSONTests {
    private static let numbers: [Double] = [
        0, 1, -1, 72, 36.6, 0.1, -0.0, 98.25, 1e-7, 1.5e300, 123_456_789.123, 0.1 + 0.2, 9_007_199_254_740_992, 45.4642035, -9.19, .pi,
    ]

    private static func sample(_ generator: inout some RandomNumberGenerator) -> Sample {
        func number() -> Double {
            Bool.random(using: &generator)
                ? numbers.randomElement(using: &generator) ?? 0 : Double.random(in: -1e6...1e6, using: &generator)
        }
        let at = Timestamp(milliseconds: .random(in: -1_000_000...4_000_000_000_000, using: &generator))
        guard Bool.random(using: &generator) else { return Sample(type: .heartRate, at: at, value: number()) }
        let place = Position(
            latitude: number(), longitude: number(), altitude: Bool.random(using: &generator) ? number() : nil,
            accuracy: Bool.random(using: &generator) ? number() : nil)
        return Sample(type: .position, at: at, value: nil, position: place)
    }

    private static func samples(_ generator: inout some RandomNumberGenerator) -> [Sample] {
        (0..<Int.random(in: 0...5, using: &generator)).map { _ in sample(&generator) }
    }

    @Test("SHR-20: a page of values reads back alike, by hand and by the decoder, whoever wrote it", arguments: 0..<200)
    func pages(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let reply = ReadSamples.Reply(
            samples: Self.samples(&generator), next: [nil, "1763518320000", "a \"quoted\" one"].randomElement(using: &generator) ?? nil)
        let text = reply.handWritten
        let decoded = try JSONDecoder().decode(ReadSamples.Reply.self, from: Data(text))
        #expect(decoded.samples == reply.samples && decoded.next == reply.next)
        if let read = ReadSamples.Reply(handWritten: text) {
            #expect(read.samples == reply.samples && read.next == reply.next)
        } else {
            #expect(reply.next?.contains("\"") == true)
        }
    }

    @Test("SHR-14: many short reads read back alike, denials too", arguments: 0..<200)
    func ranges(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let outcomes = (0..<Int.random(in: 0...4, using: &generator)).map { _ in
            Bool.random(using: &generator)
                ? ReadSampleRanges.Outcome(samples: Self.samples(&generator), readTo: Timestamp(milliseconds: 1_763_518_320_000))
                : ReadSampleRanges.Outcome(samples: [], readTo: nil, denial: Failure(.forbidden, "the grant is not active"))
        }
        let text = ReadSampleRanges.Reply(outcomes: outcomes).handWritten
        let decoded = try JSONDecoder().decode(ReadSampleRanges.Reply.self, from: Data(text)).outcomes
        let read = try #require(ReadSampleRanges.Reply(handWritten: text)).outcomes
        for found in [decoded, read] {
            #expect(found.map(\.samples) == outcomes.map(\.samples))
            #expect(found.map(\.readTo) == outcomes.map(\.readTo))
            #expect(found.map(\.denial) == outcomes.map(\.denial))
        }
    }

    @Test(
        "INV-04: what is not exactly that text is left to the decoder",
        arguments: [
            "", "{", "{}", "null", #"{"samples":[]"#, #"{"samples":[]} "#, #"{"samples":[{"at":1}]}"#,
            #"{"samples":[{"at":1,"type":"no-such-type","value":1}]}"#, #"{"samples":[{"at":1,"type":"heart-rate","value":1e999}]}"#,
            #"{"samples":[{"at":99999999999999999999,"type":"heart-rate","value":1}]}"#,
            #"{"samples":[{"at":1,"type":"heart-rate","value":}]}"#, #"{"samples":[{"at":1,"type":"heart-rate","value":1.}]}"#,
            #"{"samples":[{"at":1,"type":"heart-rate","value":1}],"next":"x"}"#, #"{"samples": []}"#,
        ])
    func others(text: String) {
        #expect(ReadSamples.Reply(handWritten: Array(text.utf8)) == nil)
    }
}
