// Figures of activities, from made-up entries and from real runs.

import Contracts
import Testing

@testable import Ingest

@Suite struct ActivityFiguresTests {
    private static func sample(_ type: Metric, _ second: Int64, _ value: Double?, _ position: Position? = nil) -> Sample {
        Sample(type: type, at: Timestamp(milliseconds: 1_700_000_000_000 + second * 1000), value: value, position: position)
    }

    @Test("ING-18, MYD-11: distance follows the path, pace the distance, heart rate its values")
    func figures() throws {
        var figures = ActivityFigures()
        // A thousandth of a degree of latitude is 111.195 m on this sphere.
        for second in 0...100 {
            figures.add(Self.sample(.position, Int64(second), nil, Position(latitude: 45 + Double(second) / 1000, longitude: 9)))
            figures.add(Self.sample(.heartRate, Int64(second), Double(100 + second)))
        }
        let distance = try #require(figures.distance)
        #expect(abs(distance - 11_119.5) < 0.1)
        #expect(figures.heartRate?.mean == 150 && figures.heartRate?.greatest == 200)
        #expect(try abs(#require(figures.pace(over: .seconds(3600))) - 3600 / distance * 1000) < 1e-9)
        #expect(figures.path.count == 101 && figures.calories == nil)
    }

    @Test("Without a path the device's count holds, as a running total or as amounts; without anything there is nothing")
    func counters() {
        let nothing = ActivityFigures()
        #expect(nothing.distance == nil && nothing.pace(over: .seconds(10)) == nil && nothing.heartRate == nil)
        var total = ActivityFigures()
        for (second, value) in [(0, 500.0), (1, 510), (2, 530)] { total.add(Self.sample(.distance, Int64(second), value)) }
        #expect(total.distance == 30)
        var amounts = ActivityFigures()
        for (second, value) in [(0, 12.0), (1, 8), (2, 10)] { amounts.add(Self.sample(.distance, Int64(second), value)) }
        #expect(amounts.distance == 30)
        var still = ActivityFigures()
        still.add(Self.sample(.position, 0, nil, Position(latitude: 1, longitude: 1)))
        still.add(Self.sample(.position, 1, nil, Position(latitude: 1, longitude: 1)))
        #expect(still.distance == 0 && still.pace(over: .seconds(1)) == nil)
    }

    @Test("A very long path is thinned evenly and keeps its length")
    func thinning() throws {
        var figures = ActivityFigures()
        for second in 0..<50_000 {
            figures.add(Self.sample(.position, Int64(second), nil, Position(latitude: Double(second) / 10_000, longitude: 0)))
        }
        #expect((10_000...ActivityFigures.mostPoints).contains(figures.path.count))
        let steps = Set(zip(figures.path, figures.path.dropFirst()).map { ($1.at - $0.at).wholeMilliseconds })
        #expect(steps.count == 1)
        #expect(try abs(#require(figures.distance) - 49_999 * 11.1195) < 10)
    }
}
