// The hand-written fact against the contract's own decoder.

import Contracts
import Foundation
import TestKit
import Testing

@testable import Ingest

@Suite struct SamplesRecordedWriterTests {
    @Test("JSONDecoder and the scanner read back exactly what was written", arguments: 1...20 as ClosedRange<UInt64>)
    func decodes(_ seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let samples = (0..<40).map { index in
            let metric = Metric.all[Int.random(in: 0..<Metric.all.count, using: &generator)]
            let number = [
                72, 73.28125, seed % 2 == 0 ? -0.0 : 5e-7, 0.1, 100.60000000000002, 1e-7, 123456.7891, Double.leastNonzeroMagnitude, 1e21,
                -9.2605908,
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
            firstTriedAt: seed % 3 == 0 ? Timestamp(milliseconds: 1_767_999_990_000) : nil,
            sentAt: seed % 4 < 2 ? Timestamp(milliseconds: 1_767_999_880_123) : nil,
            intervalMs: seed % 2 == 0 ? 1000 : nil,
            samples: samples)
        let bytes = SamplesRecordedWriter.render(
            device: fact.device, receivedAt: fact.receivedAt, firstTriedAt: fact.firstTriedAt, sentAt: fact.sentAt,
            intervalMs: fact.intervalMs, samples: samples)
        let read = try JSONDecoder().decode(SamplesRecorded.self, from: Data(bytes))
        #expect(read.device == fact.device && read.receivedAt == fact.receivedAt && read.intervalMs == fact.intervalMs)
        #expect(read.samples == samples && read.firstTriedAt == fact.firstTriedAt && read.sentAt == fact.sentAt)
        #expect(read.samples.map { $0.value?.bitPattern } == samples.map { $0.value?.bitPattern })
        // What is 0 or becomes it is left to the decoder.
        let isPlain = !samples.contains { $0.value == 0 || $0.position?.latitude == 0 }
        guard isPlain else {
            #expect(SamplesRecorded(scanning: bytes) == nil)
            return
        }
        let scanned = try #require(SamplesRecorded(scanning: bytes))
        #expect(scanned.device == fact.device && scanned.receivedAt == fact.receivedAt && scanned.intervalMs == fact.intervalMs)
        #expect(scanned.samples == samples && scanned.firstTriedAt == fact.firstTriedAt && scanned.sentAt == fact.sentAt)
        #expect(scanned.samples.map { $0.value?.bitPattern } == samples.map { $0.value?.bitPattern })
    }

    @Test("SOS-09: what the scanner takes the decoder takes, and for the same", arguments: 0..<20)
    func mutated(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let place = Position(latitude: 45.5, longitude: -9.05, altitude: 120.25, accuracy: 8)
        let whole = SamplesRecordedWriter.render(
            device: DeviceID(bits: 3), receivedAt: Timestamp(milliseconds: 1_768_000_000_123),
            firstTriedAt: Timestamp(milliseconds: 1_768_000_000_000), sentAt: Timestamp(milliseconds: 1_768_000_000_100), intervalMs: 1000,
            samples: [
                Sample(type: .heartRate, at: Timestamp(milliseconds: 1_768_000_000_000), value: 72.5, position: place),
                Sample(type: .position, at: Timestamp(milliseconds: -10), value: nil, position: place),
                Sample(type: .heartRate, at: Timestamp(milliseconds: 0), value: 1e-7),
            ])
        let alphabet = Array(#"0123456789-+.eE,:{}[]" \ntrulatepos"#.utf8)
        for _ in 0..<400 {
            var text = whole
            for _ in 0..<Int.random(in: 1...3, using: &generator) {
                let place = Int.random(in: 0..<text.count, using: &generator)
                switch Int.random(in: 0..<3, using: &generator) {
                case 0: text.remove(at: place)
                case 1: text.insert(alphabet.randomElement(using: &generator) ?? 0, at: place)
                default: text[place] = alphabet.randomElement(using: &generator) ?? 0
                }
            }
            guard let scanned = SamplesRecorded(scanning: text) else { continue }
            let said = Comment(rawValue: String(decoding: text, as: UTF8.self))
            let read = try? JSONDecoder().decode(SamplesRecorded.self, from: Data(text))
            #expect(read?.samples == scanned.samples && read?.device == scanned.device, said)
            #expect(read?.receivedAt == scanned.receivedAt && read?.intervalMs == scanned.intervalMs, said)
            #expect(read?.firstTriedAt == scanned.firstTriedAt && read?.sentAt == scanned.sentAt, said)
        }
    }

    @Test("What says the same in another spelling, or nothing of the kind, is left to the decoder")
    func others() {
        let whole = #"{"device":"dev_00000000000000000000000001","receivedAt":5,"samples":[{"type":"heart-rate","at":4,"value":72}]}"#
        #expect(SamplesRecorded(scanning: Array(whole.utf8)) != nil)
        for (old, new) in [
            (":5", ": 5"), (":5", ":05"), ("72", "072"), ("72", "72."), ("72", "1e999"), ("heart-rate", "no-such"), ("dev_", "per_"),
            ("}]}", "}]"), ("}]}", "}]} "), ("[{", "[],[{"), (#"{"type":"heart-rate","at":4,"value":72}"#, ""),
        ] {
            #expect(SamplesRecorded(scanning: Array(whole.replacingOccurrences(of: old, with: new).utf8)) == nil, "\(new)")
        }
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
