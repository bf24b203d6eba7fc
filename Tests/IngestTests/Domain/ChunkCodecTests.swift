// Chunks, roll-ups and log rows: what goes in comes out, and strange bytes do no harm.

import Contracts
import Foundation
import TestKit
import Testing

@testable import Ingest

@Suite struct ChunkCodecTests {
    private static func roundTrip(_ samples: [Sample]) throws -> [Sample] {
        let bytes = ChunkCodec.encode(samples)
        #expect(try bytes.withUnsafeBytes { try ChunkCodec.decodeTimes($0) } == samples.map(\.at.milliseconds))
        return try bytes.withUnsafeBytes { try ChunkCodec.decode($0, metric: samples[0].type) }
    }

    /// Equal to the last bit, which `==` on Doubles does not say of zeros.
    private static func expectSameBits(_ one: [Sample], _ other: [Sample]) {
        func bits(_ sample: Sample) -> [UInt64?] {
            [
                UInt64(bitPattern: sample.at.milliseconds), sample.value?.bitPattern, sample.position?.latitude.bitPattern,
                sample.position?.longitude.bitPattern, sample.position?.altitude?.bitPattern, sample.position?.accuracy?.bitPattern,
            ]
        }
        #expect(one.map(bits) == other.map(bits))
    }

    @Test("Any samples come back in their order and to the last bit", arguments: 1...40 as ClosedRange<UInt64>)
    func roundTrip(_ seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let metric = seed % 4 == 0 ? Metric.position : Metric.heartRate
        func number() -> Double {
            switch Int.random(in: 0..<6, using: &generator) {
            case 0: Double.random(in: -400...400, using: &generator)
            case 1:
                [-0.0, 0, Double.leastNonzeroMagnitude, .greatestFiniteMagnitude, -1e300, 0.1 + 0.2][
                    Int.random(in: 0..<6, using: &generator)]
            default: (Double.random(in: 0...400, using: &generator) * 100).rounded() / 100
            }
        }
        func position() -> Position? {
            guard metric == .position || Bool.random(using: &generator) else { return nil }
            return Position(
                latitude: number(), longitude: number(), altitude: Bool.random(using: &generator) ? number() : nil,
                accuracy: Bool.random(using: &generator) ? number() : nil)
        }
        let samples = (0..<Int.random(in: 1...300, using: &generator)).map { _ in
            Sample(
                type: metric,
                at: Timestamp(
                    milliseconds: seed % 7 == 0
                        ? Int64.random(in: .min ... .max, using: &generator) : .random(in: 1...9_000_000, using: &generator)),
                value: metric == .position ? nil : number(), position: position())
        }
        Self.expectSameBits(try Self.roundTrip(samples), samples)
    }

    @Test("The first of a period are those of the whole, in order of time or not", arguments: 1...40 as ClosedRange<UInt64>)
    func period(_ seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        var times = (0..<Int.random(in: 1...60, using: &generator)).map { _ in Int64.random(in: 0...100, using: &generator) }
        if seed % 2 == 0 { times.sort() }
        let samples = times.enumerated().map {
            Sample(type: .heartRate, at: Timestamp(milliseconds: $1), value: Double(60 + $0))
        }
        let bytes = ChunkCodec.encode(samples)
        for _ in 0..<20 {
            let from = Int64.random(in: -5...105, using: &generator)
            let period = from..<from + Int64.random(in: 0...60, using: &generator)
            let limit = Int.random(in: 0...70, using: &generator)
            let found = try bytes.withUnsafeBytes { try ChunkCodec.decode($0, metric: .heartRate, in: period, limit: limit) }
            let all = samples.filter { period.contains($0.at.milliseconds) }
            Self.expectSameBits(seed % 2 == 0 ? found : Array(found.prefix(all.count)), seed % 2 == 0 ? Array(all.prefix(limit)) : all)
            let columns = try bytes.withUnsafeBytes { try ChunkCodec.columns($0, metric: .heartRate, in: period, limit: limit) }
            #expect(columns.times == found.map(\.at.milliseconds) && columns.values == found.map(\.value))
            #expect(columns.positions.isEmpty)
        }
    }

    @Test("As columns, positions come without values and everything else without its places")
    func columns() throws {
        let place = Position(latitude: 45.5, longitude: 9.25, accuracy: 5)
        let pulses = (0..<5).map { Sample(type: .heartRate, at: Timestamp(milliseconds: $0), value: 0.1 + Double($0), position: place) }
        let places = (0..<5).map { Sample(type: .position, at: Timestamp(milliseconds: $0), value: nil, position: place) }
        func columns(_ samples: [Sample]) throws -> EntryColumns {
            try ChunkCodec.encode(samples).withUnsafeBytes {
                try ChunkCodec.columns($0, metric: samples[0].type, in: 1..<4, limit: 10)
            }
        }
        #expect(try columns(pulses) == EntryColumns(times: [1, 2, 3], values: [1.1, 2.1, 3.1]))
        #expect(try columns(places) == EntryColumns(times: [1, 2, 3], positions: [place, place, place]))
        let bytes = ChunkCodec.encode(pulses)
        #expect(throws: CorruptBytes.self) {
            try bytes.withUnsafeBytes { try ChunkCodec.columns($0, metric: .position, in: 0..<5, limit: 5).positions.count == 5 }
        }
    }

    @Test("A regular series takes about two bytes an entry")
    func small() {
        let samples = (0..<3600).map {
            Sample(type: .heartRate, at: Timestamp(milliseconds: 1_768_000_000_000 + $0 * 1000), value: 60 + Double($0 % 20) / 2)
        }
        #expect(ChunkCodec.encode(samples).count < 3600 * 9 / 4)
    }

    private static let recordingNames = ["run-lisbon-2017.csv", "run-highlands-2013.csv", "icu-vitals-32h.csv"]

    @Test(
        "Real recordings come back to the last bit",
        .enabled(if: TestData.has(recordingNames), "the recordings are not here; name their folder in TEST_DATA"), arguments: recordingNames
    )
    func recordings(_ name: String) throws {
        for samples in try Recording.samples(name) {
            Self.expectSameBits(try Self.roundTrip(samples), samples)
        }
    }

    @Test("Bytes that are damaged or made up are refused or read as something, never worse", arguments: 1...20 as ClosedRange<UInt64>)
    func hostile(_ seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        let samples = (0..<50).map { index in
            Sample(
                type: .position, at: Timestamp(milliseconds: Int64(index)), value: nil,
                position: Position(latitude: 45.4642137, longitude: 9, altitude: index % 2 == 0 ? 3 : nil))
        }
        for _ in 0..<400 {
            var bytes = ChunkCodec.encode(samples)
            for _ in 0..<Int.random(in: 1...4, using: &generator) {
                bytes[Int.random(in: 0..<bytes.count, using: &generator)] = UInt8.random(in: .min ... .max, using: &generator)
            }
            bytes.removeLast(Int.random(in: 0..<bytes.count, using: &generator) * Int.random(in: 0...1, using: &generator))
            let read = bytes.withUnsafeBytes { try? ChunkCodec.decode($0, metric: .position) }
            #expect((read?.count ?? 0) <= bytes.count)
            _ = try? UploadRecord(decoding: bytes)
            bytes.withUnsafeBytes { try? RollUpCodec.decode($0) { _, _ in } }
        }
        #expect(throws: CorruptBytes.self) { try [UInt8]().withUnsafeBytes { try ChunkCodec.decode($0, metric: .position) } }
    }

    @Test("A log row's body comes back, with the times that its device told; a cut one is refused", arguments: 0..<4)
    func uploadRecord(told: Int) throws {
        let record = UploadRecord(
            device: .random(), receivedAt: Timestamp(milliseconds: 1_768_000_000_000),
            firstTriedAt: told & 1 == 0 ? nil : Timestamp(milliseconds: 1_767_999_990_000),
            sentAt: told & 2 == 0 ? nil : Timestamp(milliseconds: 1_768_000_120_000), intervalMs: nil, chunks: [7, 9, 8],
            runs: [.init(chunk: 0, count: 3), .init(chunk: 2, count: 1), .init(chunk: 1, count: 700)])
        #expect(try UploadRecord(decoding: record.encoded()) == record)
        for length in 0..<record.encoded().count {
            #expect(throws: CorruptBytes.self) { try UploadRecord(decoding: Array(record.encoded().prefix(length))) }
        }
    }
}

/// The recordings as samples, one list a column, as a device would send them.
enum Recording {
    private static let metrics = [
        "heart_rate_bpm": "heart-rate", "distance_m": "distance", "speed_mps": "speed", "cadence_rpm": "cadence", "HR_bpm": "heart-rate",
        "ABPSys_mmHg": "blood-pressure-max", "ABPDias_mmHg": "blood-pressure-min", "PULSE_bpm": "pulse-rate", "SpO2_%": "oxygen-saturation",
    ]

    static func samples(_ name: String) throws -> [[Sample]] {
        let file = try #require(TestData.file(name))
        let rows = try String(contentsOf: file, encoding: .utf8).split(whereSeparator: \.isNewline)
            .map { $0.split(separator: ",", omittingEmptySubsequences: false) }
        let header = rows[0].map(String.init)
        var series: [[Sample]] = header.indices.compactMap { column in
            guard let metric = metrics[header[column]].flatMap({ Metric(code: $0) }) else { return nil }
            return rows.dropFirst().compactMap { row in
                guard let at = Timestamp(rfc3339: row[0]), let value = Double(row[column]), metric.definition.possible.contains(value)
                else {
                    return nil
                }
                return Sample(type: metric, at: at, value: value)
            }
        }
        if let latitude = header.firstIndex(of: "latitude") {
            series.append(
                rows.dropFirst().compactMap { row in
                    guard let at = Timestamp(rfc3339: row[0]), let north = Double(row[latitude]), let east = Double(row[latitude + 1])
                    else { return nil }
                    return Sample(
                        type: .position, at: at, value: nil,
                        position: Position(latitude: north, longitude: east, altitude: Double(row[latitude + 2])))
                })
        }
        return series.filter { !$0.isEmpty }
    }
}
