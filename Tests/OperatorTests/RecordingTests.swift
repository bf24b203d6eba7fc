// The real recordings: every row and cell is accounted for. The expected numbers were counted with another tool.

import Contracts
import Foundation
import TestKit
import Testing

@testable import Operator

@Suite("Recording")
struct RecordingTests {
    private func recording(_ name: String) throws -> Recording {
        let file = try #require(TestData.file(name))
        return try Recording(csv: Array(Data(contentsOf: file)))
    }

    private static func isThere(_ name: String) -> Bool { TestData.file(name) != nil }

    @Test("ING-08: the 32 hours of intensive care: a disconnected sensor's 0 is no reading", .enabled(if: isThere("icu-vitals-32h.csv")))
    func intensiveCare() throws {
        let recording = try recording("icu-vitals-32h.csv")
        let account = recording.account

        #expect(account.rows == 1936 && account.rowsWithoutTime == 0)
        #expect(account.tallies.count == 10)
        #expect(account.tallies[.heartRate] == .init(readings: 1890, empty: 0, noReadings: 46, unreadable: 0))
        #expect(account.tallies[.bloodPressureMax] == .init(readings: 7, empty: 0, noReadings: 1929, unreadable: 0))
        #expect(account.tallies[.oxygenSaturation] == .init(readings: 1573, empty: 0, noReadings: 363, unreadable: 0))
        #expect(account.tallies[.respirationRate] == .init(readings: 1891, empty: 0, noReadings: 45, unreadable: 0))
        let cuff = try #require(Metric(code: "cuff-blood-pressure-max"))
        #expect(account.tallies[cuff] == .init(readings: 152, empty: 1784, noReadings: 0, unreadable: 0))
        #expect(account.total.all == 1936 * 10)
        #expect(recording.mapping.ignored.isEmpty)
    }

    @Test("the run of Lisbon: all columns are known, altitude belongs to the position", .enabled(if: isThere("run-lisbon-2017.csv")))
    func lisbon() throws {
        let recording = try recording("run-lisbon-2017.csv")

        #expect(recording.account.rows == 3424)
        #expect(recording.mapping.ignored.isEmpty)
        #expect(Set(recording.mapping.targets.map(\.metric.code)) == ["heart-rate", "position", "distance", "speed", "cadence"])
        #expect(recording.account.total == .init(readings: 3424 * 5, empty: 0, noReadings: 0, unreadable: 0))
        let first = try #require(recording.rows.first)
        #expect(
            first.outcomes.contains(
                .reading(
                    Sample(
                        type: .position, at: first.at, value: nil,
                        position: Position(latitude: 38.7533578, longitude: -9.2605908, altitude: 100.60000000000002)))))
    }

    @Test("the run in the Highlands: rows without a position keep their other readings", .enabled(if: isThere("run-highlands-2013.csv")))
    func highlands() throws {
        let account = try recording("run-highlands-2013.csv").account

        #expect(account.rows == 590)
        #expect(account.tallies[.position] == .init(readings: 583, empty: 7, noReadings: 0, unreadable: 0))
        #expect(account.tallies[.heartRate]?.readings == 590)
        #expect(account.tallies[.distance]?.readings == 590)
        #expect(account.tallies[Metric(code: "cadence")!] == .init(readings: 0, empty: 590, noReadings: 0, unreadable: 0))
    }

    @Test("rows without a time and cells that are no numbers are counted, not lost")
    func badCells() throws {
        let text =
            "time,heart_rate_bpm,mood\n2026-01-10T00:31:00Z,sixty,good\nnever,61,bad\n2026-01-10T00:30:00Z,62,\n2026-01-10T00:32:00Z\n"

        let recording = try Recording(csv: Array(text.utf8))

        #expect(recording.account.rows == 4 && recording.account.rowsWithoutTime == 1)
        #expect(recording.account.tallies[.heartRate] == .init(readings: 1, empty: 1, noReadings: 0, unreadable: 1))
        #expect(recording.mapping.ignored == [2])
        #expect(recording.rows.map(\.at.rfc3339).first == "2026-01-10T00:30:00.000Z", "rows go out in order of time")
    }

    @Test(
        "what a file must have is named when it is missing",
        arguments: [
            ("heart_rate_bpm\n61\n", "no column for the time"), ("time,mood\n", "none of the columns is known"),
            ("time,hr,heart-rate\n", "both heart-rate"), ("time,lat\n", "both a latitude and a longitude"),
        ])
    func unusable(text: String, complaint: String) {
        #expect { try Recording(csv: Array(text.utf8)) } throws: { "\($0)".contains(complaint) }
    }
}

@Suite("ColumnTable")
struct ColumnTableTests {
    @Test(
        "columns are recognised by name and unit",
        arguments: [
            ("HR_bpm", "heart-rate", 1.0, 61.0), ("Heart rate (bpm)", "heart-rate", 1, 61),
            ("blood-pressure-min", "blood-pressure-min", 1, 61),
            ("SpO2_%", "oxygen-saturation", 1, 61), ("NBPMean_mmHg", "cuff-blood-pressure-mean", 1, 61),
            ("Glucose (mmol/L)", "glucose", 5, 90.078),
            ("temp_F", "body-temperature", 98.6, 37), ("Speed [km/h]", "speed", 36, 10), ("distance_km", "distance", 1.5, 1500),
            ("weight_lb", "weight", 100, 45.359237), ("cadence_rpm", "cadence", 68, 68), ("RESP_pm", "respiration-rate", 14.6, 14.6),
        ])
    func recognised(header: String, code: String, written: Double, value: Double) throws {
        guard case .metric(let metric, let conversion)? = ColumnTable.role(of: header) else {
            Issue.record("\(header) is not recognised")
            return
        }
        let given = value == 61 ? 61 : written

        #expect(metric.code == code)
        #expect(abs(conversion(given) - value) < 1e-9)
    }

    @Test("a name with a unit of something else is not recognised", arguments: ["heart_rate_kg", "weight_bpm", "latitude_km", "mood", ""])
    func refused(header: String) {
        #expect(ColumnTable.role(of: header) == nil)
    }

    @Test(
        "times are read as devices write them",
        arguments: [
            "2026-01-10T00:31:00Z", "2026-01-10T01:31:00+01:00", "2026-01-10 00:31:00", "2026-01-10T00:31:00.000", "1768005060",
            "1768005060000",
            " 2026-01-10 00:31:00Z ",
        ])
    func times(text: String) {
        #expect(RecordedTime.read(text) == Timestamp(milliseconds: 1_768_005_060_000))
    }

    @Test("what is no time is none", arguments: ["", "yesterday", "2026-13-10T00:31:00Z", "-5", "12:30", "99999999999999"])
    func noTimes(text: String) {
        #expect(RecordedTime.read(text) == nil)
    }
}

@Suite("ReplaySchedule")
struct ReplayScheduleTests {
    private let first = Timestamp(milliseconds: 1_000_000)
    private let row = Timestamp(milliseconds: 1_060_000)
    private let now = Timestamp(milliseconds: 9_000_000)

    @Test("recorded times stay as they are and go out at once")
    func recorded() {
        let schedule = ReplaySchedule(first: first, live: nil, speed: nil)

        #expect(schedule.time(of: row) == row && schedule.due(row) == .zero)
    }

    @Test("recorded times with a speed keep their times and are paced")
    func paced() {
        let schedule = ReplaySchedule(first: first, live: nil, speed: 60)

        #expect(schedule.time(of: row) == row && schedule.due(row) == .seconds(1))
    }

    @Test("live moves the first row to now and keeps the pace")
    func live() {
        let schedule = ReplaySchedule(first: first, live: now, speed: nil)

        #expect(schedule.time(of: first) == now && schedule.time(of: row) == now + .seconds(60) && schedule.due(row) == .seconds(60))
    }

    @Test("a faster life is pressed together, so that no entry is from the future")
    func faster() {
        let schedule = ReplaySchedule(first: first, live: now, speed: 10)

        #expect(schedule.time(of: row) == now + .seconds(6) && schedule.due(row) == .seconds(6))
    }
}
