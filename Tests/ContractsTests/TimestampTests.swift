// Instants as RFC 3339 and back.

import Contracts
import Foundation
import Testing

@Suite("Timestamps")
struct TimestampTests {
    @Test("Of times that a service wrote before its clock was set back none is waited for, and none counts until it has caught up")
    func setBack() {
        let now = Timestamp(milliseconds: 1_768_005_060_000)
        let (earlier, later) = (now - .seconds(3600), now + .seconds(3600))
        #expect(later.notAhead(of: now) == now && earlier.notAhead(of: now) == earlier)
        #expect(earlier.isOver(at: now, putOffAtMost: .seconds(60)) && now.isOver(at: now, putOffAtMost: .seconds(60)))
        #expect(!(now + .seconds(60)).isOver(at: now, putOffAtMost: .seconds(60)), "it was put off just now")
        #expect(later.isOver(at: now, putOffAtMost: .seconds(60)))
        #expect(now + .seconds(1) <= now.latestCounted && later > now.latestCounted)
    }

    @Test(
        "Known instants have their known form",
        arguments: [
            (Int64(0), "1970-01-01T00:00:00.000Z"), (-1, "1969-12-31T23:59:59.999Z"), (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (1_768_003_860_123, "2026-01-10T00:11:00.123Z"), (253_402_300_799_999, "9999-12-31T23:59:59.999Z"),
            (-62_135_596_800_000, "0001-01-01T00:00:00.000Z"),
        ])
    func known(milliseconds: Int64, text: String) {
        #expect(Timestamp(milliseconds: milliseconds).rfc3339 == text)
        #expect(Timestamp(rfc3339: text)?.milliseconds == milliseconds)
    }

    @Test(
        "Offsets, fractions, small letters and leap seconds are understood",
        arguments: [
            ("1970-01-01T01:00:00+01:00", Int64(0)), ("1969-12-31T18:30:00.000-05:30", 0), ("1970-01-01t00:00:00z", 0),
            ("1970-01-01T00:00:00.5Z", 500), ("1970-01-01T00:00:00.123999999Z", 123), ("2016-12-31T23:59:60Z", 1_483_228_799_999),
        ])
    func forms(text: String, milliseconds: Int64) {
        #expect(Timestamp(rfc3339: text)?.milliseconds == milliseconds)
    }

    @Test(
        "What is no instant is refused",
        arguments: [
            "", "1970-01-01", "1970-01-01T00:00:00", "1970-01-01 00:00:00Z", "2023-02-29T00:00:00Z", "2023-13-01T00:00:00Z",
            "2023-00-01T00:00:00Z",
            "2023-04-31T00:00:00Z", "2023-01-01T24:00:00Z", "2023-01-01T00:60:00Z", "2023-01-01T00:00:61Z", "2023-01-01T00:00:00.Z",
            "2023-01-01T00:00:00+24:00", "2023-01-01T00:00:00+01", "2023-01-01T00:00:00Zx", "0000-01-01T00:00:00Z", "+023-01-01T00:00:00Z",
        ])
    func refused(text: String) {
        #expect(Timestamp(rfc3339: text) == nil)
    }

    @Test("Every day of eight centuries reads back as Foundation sees it")
    func days() {
        var day = CivilDate(year: 1600, month: 1, day: 1)?.daysSince1970 ?? 0
        let last = CivilDate(year: 2400, month: 12, day: 31)?.daysSince1970 ?? 0
        var calendar = Calendar(identifier: .iso8601)
        calendar.timeZone = .gmt
        while day <= last {
            let date = CivilDate(daysSince1970: day)
            #expect(CivilDate(year: date.year, month: date.month, day: date.day)?.daysSince1970 == day)
            if day % 97 == 0 {
                let parts = calendar.dateComponents([.year, .month, .day], from: Date(timeIntervalSince1970: Double(day) * 86_400))
                #expect(parts.year == Int(date.year) && parts.month == Int(date.month) && parts.day == Int(date.day))
            }
            day += 1
        }
    }

    @Test("It is coded as a bare integer, and durations move it")
    func coding() throws {
        #expect(try JSONEncoder().encode(Timestamp(milliseconds: -5)) == Data("-5".utf8))
        let instant = Timestamp(milliseconds: 1000)
        #expect((instant + .milliseconds(250)).milliseconds == 1250)
        #expect((instant - .seconds(2)).milliseconds == -1000)
        #expect(instant - Timestamp(milliseconds: 400) == .milliseconds(600))
    }
}
