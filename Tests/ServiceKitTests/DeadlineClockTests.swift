// The clock of deadlines in played time: what it shows while the wall clock leaps, stays ahead or is set back.

import Contracts
import Synchronization
import Testing

@testable import ServiceKit

@Suite("The clock of deadlines")
struct DeadlineClockTests {
    /// A look at the clock: so many seconds after the process began, with the wall clock so many ahead of what it would show.
    struct Look: Sendable {
        let after: Int64
        let ahead: Int64
        /// What the clock is ahead by.
        let expected: Int64

        init(_ after: Int64, _ ahead: Int64, _ expected: Int64) {
            (self.after, self.ahead, self.expected) = (after, ahead, expected)
        }
    }

    private static let start = Timestamp(milliseconds: 1_768_005_060_000)
    private static let days: Int64 = 3 * 86_400
    private static let years: Int64 = 50 * 366 * 86_400

    private static let tables: [(name: String, looks: [Look])] = [
        ("nothing is done to it", [Look(0, 0, 0), Look(10, 0, 0), Look(90_000, 0, 0)]),
        ("leaps for six seconds", [Look(10, days, 0), Look(16, days, 0), Look(17, 0, 0), Look(4000, 0, 0)]),
        ("is wrong for most of an hour", [Look(10, days, 0), Look(3609, days, 0), Look(3610, 0, 0)]),
        ("leaps again and again", [Look(10, days, 0), Look(3000, 2 * days, 0), Look(3700, 2 * days, 0), Look(6599, 2 * days, 0)]),
        ("leaps after it had been a little ahead", [Look(10, 2, 0), Look(3600, days, 0), Look(3700, days, 0), Look(7199, days, 0)]),
        ("was an hour behind at the start", [Look(5, 3600, 0), Look(3604, 3600, 0), Look(3605, 3600, 3600), Look(9000, 3600, 3600)]),
        ("began in 1970", [Look(20, years, 0), Look(3620, years, years), Look(3621, years, years)]),
        ("is set back", [Look(10, -5, -5), Look(20, -3600, -3600), Look(9000, -3600, -3600)]),
        ("was set right and leaps", [Look(5, 60, 0), Look(3605, 60, 60), Look(3606, days, 60), Look(3607, 60, 60), Look(3608, 50, 50)]),
    ]

    @Test(
        "A clock that began behind and was set right was never followed until a restart; a leap that lasts for less than an hour is not",
        arguments: tables.indices)
    func follows(_ index: Int) {
        let (name, looks) = Self.tables[index]
        let played = Mutex(Look(0, 0, 0))
        let clock = DeadlineClock(
            wall: { played.withLock { Self.start + .seconds($0.after + $0.ahead) } }, steady: { played.withLock { .seconds($0.after) } })
        for look in looks {
            played.withLock { $0 = look }
            #expect(clock.now == Self.start + .seconds(look.after + look.expected), "the wall clock \(name), after \(look.after) s")
            #expect(clock.uptime == .seconds(look.after))
        }
    }
}
