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

    private static func columns(_ generator: inout some RandomNumberGenerator) -> SampleColumns {
        let isPlaces = Bool.random(using: &generator)
        let type = isPlaces ? Metric.position : [.heartRate, .bodyTemperature].randomElement(using: &generator) ?? .heartRate
        let samples = (0..<Int.random(in: 0...200, using: &generator)).map { _ in sample(&generator) }
        var time = Int64.random(in: -3_000_000_000_000...3_000_000_000_000, using: &generator)
        let times = samples.map { _ in
            time += [1, 1000, 60_000, .random(in: 1...100_000_000, using: &generator)].randomElement(using: &generator) ?? 1
            return time
        }
        return SampleColumns(
            of: type, times: times, values: isPlaces ? [] : samples.map { $0.value ?? 36.6 },
            positions: isPlaces ? samples.map { $0.position ?? Position(latitude: -1.5, longitude: 179.25) } : [])
    }

    @Test("SHR-20: a page of values reads back alike, by hand and by the decoder, whoever wrote it", arguments: 0..<200)
    func pages(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let reply = ReadSamples.Reply(
            columns: Self.columns(&generator),
            next: [nil, "1763518320000", "a \"quoted\" one"].randomElement(using: &generator) ?? nil, damaged: Self.damaged(&generator))
        let text = reply.handWritten
        let decoded = try JSONDecoder().decode(ReadSamples.Reply.self, from: Data(text))
        #expect(decoded.columns == reply.columns && decoded.next == reply.next && decoded.damaged == reply.damaged)
        if let read = ReadSamples.Reply(handWritten: text) {
            #expect(read.columns == reply.columns && read.next == reply.next && read.damaged == reply.damaged)
        } else {
            #expect(reply.next?.contains("\"") == true)
        }
    }

    @Test("SHR-20: columns as they leave the suite are, byte for byte, their entries one after the other", arguments: 0..<100)
    func rendering(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        let columns = Self.columns(&generator)
        var (together, single) = (JSONBytes(), JSONBytes())
        together.exported(columns)
        for (place, sample) in columns.samples.enumerated() {
            if place > 0 { single.byte(",") }
            single.exported(ExportedEntry(sample: sample, source: nil))
        }
        #expect(together.bytes == single.bytes)
    }

    @Test(
        "columns that do not belong together are refused, by hand and by the decoder, before anything is made of how many they say to be",
        arguments: [
            #"{"columns":{"paces":[1,2],"positions":[],"type":"heart-rate","values":[1]}}"#,
            #"{"columns":{"paces":[1,1],"positions":[],"type":"heart-rate","values":[1,2]}}"#,
            #"{"columns":{"paces":[1],"positions":[],"type":"heart-rate","values":[1]}}"#,
            #"{"columns":{"paces":[1,1,5],"positions":[],"type":"heart-rate","values":[1]}}"#,
            #"{"columns":{"paces":[1,0],"positions":[],"type":"heart-rate","values":[]}}"#,
            #"{"columns":{"paces":[1,-1,1,2],"positions":[],"type":"heart-rate","values":[1]}}"#,
            #"{"columns":{"paces":[1,9223372036854775807,1,9223372036854775807],"positions":[],"type":"heart-rate","values":[1]}}"#,
            #"{"columns":{"paces":[1,1],"positions":[],"type":"position","values":[1]}}"#,
            #"{"columns":{"paces":[1,1],"positions":[{"latitude":1,"longitude":1}],"type":"heart-rate","values":[1]}}"#,
            #"{"columns":{"paces":[1,1],"positions":[{"latitude":1,"longitude":1}],"type":"heart-rate","values":[]}}"#,
        ])
    func lengths(text: String) {
        #expect(ReadSamples.Reply(handWritten: Array(text.utf8)) == nil)
        #expect(throws: DecodingError.self) { try JSONDecoder().decode(ReadSamples.Reply.self, from: Data(text.utf8)) }
    }

    @Test("SHR-20: a thousand entries that keep one pace say it once; each change of pace is said")
    func paces() {
        let start: Int64 = 1_763_800_000_000
        let times = (0..<1000).map { (place: Int64) -> Int64 in start + place * 1000 + (place < 500 ? 0 : 250) }
        let columns = SampleColumns(of: .heartRate, times: times, values: times.map { _ in 60 }, positions: [])
        #expect(columns.paces == [start, 1, 1000, 499, 1250, 1, 1000, 499])
        #expect(columns.samples.map { $0.at.milliseconds } == times)
        #expect(SampleColumns(of: .heartRate, times: [5, 10], values: [1, 2], positions: []).paces == [5, 2])
        #expect(SampleColumns.none(of: .position).paces == [])
    }

    @Test("SHR-24: a question for a page and the record of one read back alike, by hand and by the decoder", arguments: 0..<50)
    func reads(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        func time() -> Timestamp { Timestamp(milliseconds: .random(in: .min ... .max, using: &generator)) }
        let asked = ReadSamples(
            grant: .random(), organisation: .random(), type: .heartRate, from: time(), to: time(),
            after: [nil, "1763518320000", "\\"].randomElement(using: &generator) ?? nil, limit: .random(in: 1...10_000, using: &generator))
        let question = try JSONDecoder().decode(ReadSamples.self, from: Data(asked.handWritten))
        for read in [question] + (ReadSamples(handWritten: asked.handWritten).map { [$0] } ?? []) {
            #expect(read.grant == asked.grant && read.organisation == asked.organisation && read.type == asked.type)
            #expect(read.from == asked.from && read.to == asked.to && read.after == asked.after && read.limit == asked.limit)
        }
        #expect((ReadSamples(handWritten: asked.handWritten) == nil) == (asked.after == "\\"))
        let told = DataRead(
            grant: .random(), organisation: .random(), metric: .position, from: time(), to: time(),
            count: .random(in: 1...10_000, using: &generator))
        #expect(DataRead(handWritten: told.handWritten) == told)
        #expect(try JSONDecoder().decode(DataRead.self, from: Data(told.handWritten)) == told)
    }

    private static func damaged(_ generator: inout SeededGenerator) -> [DamagedPeriod]? {
        let count = Int.random(in: -1...3, using: &generator)
        return count < 0
            ? nil
            : (0..<count).map { place in
                let from = Timestamp(milliseconds: 1_763_518_320_000 + Int64(place) * 1000)
                return DamagedPeriod(from: from, to: from + .milliseconds(Int64.random(in: 0...500, using: &generator)))
            }
    }

    @Test("SHR-14: many short reads read back alike, denials too", arguments: 0..<200)
    func ranges(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let outcomes = (0..<Int.random(in: 0...4, using: &generator)).map { _ in
            Bool.random(using: &generator)
                ? ReadSampleRanges.Outcome(
                    samples: Self.samples(&generator), readTo: Timestamp(milliseconds: 1_763_518_320_000), damaged: Self.damaged(&generator)
                )
                : ReadSampleRanges.Outcome(samples: [], readTo: nil, denial: Failure(.forbidden, "the grant is not active"))
        }
        let text = ReadSampleRanges.Reply(outcomes: outcomes).handWritten
        let decoded = try JSONDecoder().decode(ReadSampleRanges.Reply.self, from: Data(text)).outcomes
        let read = try #require(ReadSampleRanges.Reply(handWritten: text)).outcomes
        for found in [decoded, read] {
            #expect(found.map(\.samples) == outcomes.map(\.samples))
            #expect(found.map(\.readTo) == outcomes.map(\.readTo))
            #expect(found.map(\.denial) == outcomes.map(\.denial))
            #expect(found.map(\.damaged) == outcomes.map(\.damaged))
        }
    }

    @Test(
        "what is not exactly that text is left to the decoder",
        arguments: [
            "", "{", "{}", "null", #"{"columns":{"paces":[],"positions":[],"type":"heart-rate","values":[]}"#,
            #"{"columns":{"paces":[],"positions":[],"type":"heart-rate","values":[]}} "#,
            #"{"columns":{"paces":[1,1],"positions":[],"type":"no-such-type","values":[1]}}"#,
            #"{"columns":{"paces":[1,1],"positions":[],"type":"heart-rate","values":[1e999]}}"#,
            #"{"columns":{"paces":[1,1],"positions":[],"type":"heart-rate","values":[1e-999]}}"#,
            #"{"columns":{"paces":[99999999999999999999,1],"positions":[],"type":"heart-rate","values":[1]}}"#,
            #"{"columns":{"paces":[1,1],"positions":[],"type":"heart-rate","values":[]}}"#,
            #"{"columns":{"paces":[1,1],"positions":[],"type":"heart-rate","values":[1.]}}"#,
            #"{"columns":{"paces":[1,1,],"positions":[],"type":"heart-rate","values":[1]}}"#,
            #"{"next":"x","columns":{"paces":[1,1],"positions":[],"type":"heart-rate","values":[1]}}"#,
            #"{"columns": {"paces":[],"positions":[],"type":"heart-rate","values":[]}}"#,
        ])
    func others(text: String) {
        #expect(ReadSamples.Reply(handWritten: Array(text.utf8)) == nil)
    }
}
