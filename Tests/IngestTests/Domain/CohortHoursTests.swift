// How hours are summed up for group data, without a store.

import Contracts
import Testing

@testable import Ingest

@Suite("Hours for group data")
struct CohortHoursTests {
    private static let hour = CohortHour.width

    @Test("an hour is to be summed up once the watermark after its end has passed", arguments: [Int64(0), 600, 3600, 86_400])
    func watermark(seconds: Int64) {
        let watermark = Duration.seconds(seconds)
        let end = 5 * Self.hour
        let due = end + seconds * 1000
        #expect(CohortHour.firstOpen(at: Timestamp(milliseconds: due - 1), after: watermark) == end - Self.hour)
        #expect(CohortHour.firstOpen(at: Timestamp(milliseconds: due), after: watermark) == end)
        #expect(CohortHour.start(of: -1) == -Self.hour && CohortHour.start(of: Self.hour) == Self.hour)
    }

    @Test("each value is rounded to thousandths by itself, hours and types are kept apart, and a sum stops at the end of the numbers")
    func values() {
        var hours = CohortHours()
        var entries = EntryColumns()
        let made: [(time: Int64, value: Double)] = [(0, 0.0004), (1, 0.0004), (Self.hour - 1, 36.6006), (Self.hour, -2), (2, 1)]
        for (time, value) in made { entries.append(time, value: value) }
        hours.add(entries, of: .bodyTemperature)
        var later = EntryColumns()
        later.append(5, value: 60)
        hours.add(later, of: .heartRate)
        hours.add(later, of: .heartRate)
        let person = PersonID.random()
        #expect(
            hours.facts(about: person) == [
                CohortHourSummed(
                    person: person, hour: Timestamp(milliseconds: 0),
                    sums: [.init(metric: .heartRate, count: 2, sum: 120_000), .init(metric: .bodyTemperature, count: 4, sum: 37_601)]),
                CohortHourSummed(
                    person: person, hour: Timestamp(milliseconds: Self.hour),
                    sums: [.init(metric: .bodyTemperature, count: 1, sum: -2000)]),
            ])
        #expect(CohortHours.thousandths(1e300) == .max && CohortHours.thousandths(-1e300) == .min)
        var most = CohortHours()
        var huge = EntryColumns()
        for time in 0..<3 { huge.append(Int64(time), value: 1e300) }
        most.add(huge, of: .distance)
        #expect(most.facts(about: person).map(\.sums) == [[.init(metric: .distance, count: 3, sum: .max)]])
    }

    @Test("places become squares, each once and in order, at most 64; what lies on no Earth becomes none")
    func places() {
        var hours = CohortHours()
        var entries = EntryColumns()
        for place in (0..<100).reversed() {
            let position = Position(latitude: 45.5, longitude: 9 + Double(place) / 10)
            for _ in 0..<2 { entries.append(Int64(place), position: position) }
        }
        entries.append(Self.hour, position: Position(latitude: 91, longitude: 9))
        hours.add(entries, of: .position)
        let facts = hours.facts(about: .random())
        let cells = (0..<64).compactMap { GridCell(latitude: 45.5, longitude: 9 + Double($0) / 10) }
        #expect(facts.map(\.cells) == [cells] && facts.map(\.sums) == [[]])
    }

    @Test("what is shared is read back as it was kept, and cut bytes are refused")
    func shares() throws {
        let shares = [
            CohortOptIn(metric: .heartRate, since: Timestamp(milliseconds: 1_768_003_200_123)),
            CohortOptIn(metric: .position, since: Timestamp(milliseconds: 0)),
        ]
        let bytes = shares.bytes
        #expect(try bytes.withUnsafeBytes { try [CohortOptIn](decoding: $0) } == shares)
        #expect(throws: CorruptBytes.self) { try bytes.dropLast().withUnsafeBytes { try [CohortOptIn](decoding: $0) } }
    }
}
