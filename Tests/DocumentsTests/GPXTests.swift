// Tracks in and out: GPX 1.0 and 1.1, others' recordings, what cannot be read named by its line.

import Contracts
import Foundation
import TestKit
import Testing

@testable import Documents

@Suite struct GPXTests {
    private static func read(_ text: String) throws(XMLFault) -> [GPXReading] {
        var readings: [GPXReading] = []
        try GPXReader.read(Array(text.utf8)) { readings.append($0) }
        return readings
    }

    private static func points(_ readings: [GPXReading]) -> [GPXPoint] {
        readings.compactMap { if case .point(let point) = $0 { point } else { nil } }
    }

    @Test("A track of another program is read: segments, times with offsets, heights, extensions")
    func reading() throws {
        let readings = try Self.read(
            """
            <gpx version="1.1" creator="x" xmlns="http://www.topografix.com/GPX/1/1" xmlns:g="http://www.garmin.com/xmlschemas/TrackPointExtension/v1">
            <wpt lat="1" lon="2"><time>2026-01-01T00:00:00Z</time></wpt>
            <rte><rtept lat="1" lon="2"/></rte>
            <trk><name>a</name><trkseg>
            <trkpt lat="45.5" lon="9.25"><ele> 120.5 </ele><time>2026-01-01T01:00:00+01:00</time>
            <extensions><g:TrackPointExtension><g:hr>141</g:hr><g:cad>80</g:cad></g:TrackPointExtension></extensions></trkpt>
            </trkseg><trkseg><trkpt lon="-9.25" lat="-45.5"/>
            <trkpt lat="north" lon="9"/>
            <trkpt lat="1"/><trkpt lat="1" lon="2"><ele>high</ele></trkpt></trkseg></trk></gpx>
            """)
        #expect(readings.count == 5)
        let points = Self.points(readings)
        #expect(points.count == 2)
        #expect(points[0].position == Position(latitude: 45.5, longitude: 9.25, altitude: 120.5))
        #expect(points[0].time == Timestamp(rfc3339: "2026-01-01T00:00:00Z"))
        #expect(points[0].heartRate == 141 && points[0].cadence == 80 && points[0].segment == 0 && points[0].line == 5)
        #expect(points[1].time == nil && points[1].segment == 1 && points[1].index == 1)
        #expect(
            readings.suffix(3) == [
                .unreadable(index: 2, line: 8, field: "lat"), .unreadable(index: 3, line: 9, field: "lon"),
                .unreadable(index: 4, line: 9, field: "ele"),
            ])
    }

    @Test("What is no GPX is refused, and so is a number that XML Schema does not know")
    func refusing() throws {
        #expect(throws: XMLFault.malformed(line: 1)) { try Self.read("<kml/>") }
        #expect(throws: XMLFault.documentType) { try Self.read("<!DOCTYPE gpx><gpx/>") }
        for number in ["1e2", "0x10", "nan", "inf", ""] {
            let read = try Self.read("<gpx><trk><trkseg><trkpt lat=\"\(number)\" lon=\"1\"/></trkseg></trk></gpx>")
            #expect(read == [.unreadable(index: 0, line: 1, field: "lat")], "\(number)")
        }
    }

    @Test("A written track is read back to the last bit, and broken into segments where nothing is known for long")
    func roundTrip() throws {
        var generator = SeededGenerator(seed: 11)
        var points: [(Position, Timestamp)] = []
        for place in 0..<500 {
            let altitude: Double? = place % 3 == 0 ? Double.random(in: -100...9000, using: &generator) : nil
            let position = Position(
                latitude: Double.random(in: -90...90, using: &generator), longitude: Double.random(in: -180...180, using: &generator),
                altitude: altitude, accuracy: place % 5 == 0 ? 1e-7 * Double(place) : nil)
            let gap: Int64 = place >= 250 ? 600_001 : 0
            points.append((position, Timestamp(milliseconds: 1_700_000_000_000 + Int64(place) * 1003 + gap)))
        }
        var writer = GPXWriter(creator: "test & co")
        var bytes: [UInt8] = []
        for (position, time) in points {
            writer.add(position, at: time)
            bytes += writer.take()
        }
        writer.finish()
        bytes += writer.take()
        let read = Self.points(try Self.read(String(decoding: bytes, as: UTF8.self)))
        #expect(read.map(\.position) == points.map(\.0) && read.map(\.time) == points.map(\.1))
        #expect(read.map(\.segment) == points.indices.map { $0 < 250 ? 0 : 1 })
    }

    @Test(
        "The mountain route of the test data is read whole",
        .enabled(if: TestData.has(["route-korita-zbevnica.gpx"]), "the recordings are not here; name their folder in TEST_DATA"))
    func realRoute() throws {
        let file = try #require(TestData.file("route-korita-zbevnica.gpx"))
        let text = try String(contentsOf: file, encoding: .utf8)
        let points = Self.points(try Self.read(text))
        #expect(points.count == text.components(separatedBy: "<trkpt ").count - 1)
        #expect(points.allSatisfy { $0.position.isOnEarth })
    }

    @Test("Decimals are written without an exponent and read back as the same number")
    func decimals() {
        let cases: [(Double, String)] = [
            (0, "0"), (-0.5, "-0.5"), (1e-7, "0.0000001"), (-1.25e-9, "-0.00000000125"), (1e21, "1000000000000000000000"),
            (1.5e17, "150000000000000000"), (12.5, "12.5"), (100, "100"),
        ]
        for (value, text) in cases { #expect(PlainDecimal.text(value) == text) }
        var generator = SeededGenerator(seed: 5)
        for _ in 0..<2000 {
            let value = Double(bitPattern: UInt64.random(in: .min ... .max, using: &generator))
            guard value.isFinite else { continue }
            let text = PlainDecimal.text(value)
            #expect(Double(text) == value && !text.contains("e"), "\(value)")
        }
    }
}
