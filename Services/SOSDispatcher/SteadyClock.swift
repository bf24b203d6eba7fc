// A clock that runs evenly through wall-clock steps and restarts: what timers of life and death go by.

import Contracts
import Foundation
import ServiceKit

/// Milliseconds of the kernel's boot-time clock plus an offset that is fixed for as long as the machine is up. At the machine's
/// start it shows what the wall clock showed; a step of the wall clock afterwards neither fires nor delays anything.
struct SteadyClock: Sendable {
    private let offset: Int64

    init(offset: Int64) {
        self.offset = offset
    }

    var now: Timestamp { Timestamp(milliseconds: SteadyClock.sinceBoot + offset) }

    /// When something was, that the wall clock of now would call `wall`. Never in the future: another machine's clock may be ahead.
    func steady(fromWall wall: Timestamp) -> Timestamp {
        min(now, now + (wall - .now))
    }

    /// What people call this instant.
    func wall(fromSteady steady: Timestamp) -> Timestamp {
        .now + (steady - now)
    }

    /// Milliseconds since the machine was started, time asleep included.
    static var sinceBoot: Int64 {
        var time = timespec()
        clock_gettime(CLOCK_BOOTTIME, &time)
        return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
    }

    /// Another one after each start of the machine; empty where the kernel does not tell, which means: anchor anew.
    static var boot: String {
        let text = try? String(contentsOfFile: "/proc/sys/kernel/random/boot_id", encoding: .utf8)
        return text?.trimmingCharacters(in: .whitespacesAndNewlines) ?? ""
    }
}
