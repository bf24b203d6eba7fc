// The hand-written fact against the contract's own decoder.

import Contracts
import Foundation
import TestKit
import Testing

@testable import Ingest

@Suite struct SamplesRecordedWriterTests {
    @Test("JSONDecoder reads back exactly what was written", arguments: 1...20 as ClosedRange<UInt64>)
    func decodes(_ seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let samples = (0..<40).map { index in
            let metric = Metric.all[Int.random(in: 0..<Metric.all.count, using: &generator)]
            let number = [
                72, 73.28125, -0.0, 0.1, 100.60000000000002, 1e-7, 123456.7891, Double.leastNonzeroMagnitude, 1e21, -9.2605908,
                38.75335789123,
            ][
                Int.random(in: 0..<11, using: &generator)]
            let position = Position(
                latitude: number, longitude: -number, altitude: index % 3 == 0 ? number : nil, accuracy: index % 4 == 0 ? 3.5 : nil)
            return Sample(
                type: metric, at: Timestamp(milliseconds: Int64.random(in: 1...4_000_000_000_000, using: &generator)),
                value: metric == .position ? nil : number, position: metric == .position || index % 2 == 0 ? position : nil)
        }
        let fact = SamplesRecorded(
            device: DeviceID(bits: UInt128(seed)), receivedAt: Timestamp(milliseconds: 1_768_000_000_123),
            intervalMs: seed % 2 == 0 ? 1000 : nil,
            samples: samples)
        let bytes = SamplesRecordedWriter.render(
            device: fact.device, receivedAt: fact.receivedAt, intervalMs: fact.intervalMs, samples: samples)
        let read = try JSONDecoder().decode(SamplesRecorded.self, from: Data(bytes))
        #expect(read.device == fact.device && read.receivedAt == fact.receivedAt && read.intervalMs == fact.intervalMs)
        #expect(read.samples == samples)
        #expect(read.samples.map { $0.value?.bitPattern } == samples.map { $0.value?.bitPattern })
    }

    @Test("Keys stand in the order of the contract, without spaces, numbers as short as they can be")
    func text() {
        let bytes = SamplesRecordedWriter.render(
            device: DeviceID(bits: 1), receivedAt: Timestamp(milliseconds: 5), intervalMs: 1000,
            samples: [
                Sample(type: .heartRate, at: Timestamp(milliseconds: 4), value: 72, position: Position(latitude: 45.5, longitude: -9.05)),
                Sample(type: .bodyTemperature, at: Timestamp(milliseconds: 3), value: 36.6),
            ])
        #expect(
            String(decoding: bytes, as: UTF8.self)
                == #"{"device":"dev_00000000000000000000000001","receivedAt":5,"intervalMs":1000,"samples":[{"type":"heart-rate","at":4,"value":72,"#
                + #""position":{"latitude":45.5,"longitude":-9.05}},{"type":"body-temperature","at":3,"value":36.6}]}"#)
    }

    @Test("Any text is quoted so that it reads back")
    func strings() throws {
        let text = "\"\\/\u{0}\u{1F}\n é 漢 😀"
        var json = JSONBytes()
        json.string(text)
        #expect(try JSONDecoder().decode(String.self, from: Data(json.bytes)) == text)
    }
}
