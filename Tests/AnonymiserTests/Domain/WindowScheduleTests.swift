// Windows of subscriptions: each released once, merged with others, or withheld.

import TestKit
import Testing

@testable import Anonymiser

@Suite("WindowSchedule")
struct WindowScheduleTests {
    private static let policy = AnonymityPolicy()

    private static func schedule(_ granularity: Granularity = .hour, days: Range<Int> = 100..<110, begin: Int? = nil) -> WindowSchedule {
        WindowSchedule(granularity, period: DayWindow(days), begin: begin ?? days.lowerBound * 96, policy)
    }

    @Test("a window of 1000 people is held and released together with the next; of 1001 at once")
    func merging() throws {
        var schedule = Self.schedule()
        let first = TimeSpan(9600, 9604), second = TimeSpan(9604, 9608), third = TimeSpan(9608, 9612)

        #expect(try schedule.close(first) { _ in [1000, 5000] } == [])
        #expect(schedule.held == first)
        let pushes = try schedule.close(second) { span in
            #expect(span == TimeSpan(9600, 9608))
            return [1001, 5000]
        }
        #expect(pushes == [WindowPush(sequence: 1, span: TimeSpan(9600, 9608), content: .release)] && schedule.held == nil)
        #expect(try schedule.close(third) { _ in [1001, 1001] } == [WindowPush(sequence: 2, span: third, content: .release)])
    }

    @Test("a window that is closed twice is released once; one that is skipped is an error")
    func order() throws {
        var schedule = Self.schedule()
        let first = TimeSpan(9600, 9604)
        #expect(throws: WindowSkipped(expected: first)) { try schedule.close(TimeSpan(9604, 9608)) { _ in [2000] } }
        #expect(try schedule.close(first) { _ in [2000] }.count == 1)
        #expect(try schedule.close(first) { _ in [2000] } == [] && schedule.sequence == 1)
        #expect(throws: WindowSkipped.self) { try schedule.close(TimeSpan(9604, 9609)) { _ in [2000] } }
        #expect(schedule.window == TimeSpan(9604, 9608))
    }

    @Test(
        "seven days of too few are withheld and told; then it begins anew",
        arguments: [
            (Granularity.hour, 168), (.sixHours, 28), (.day, 7), (.week, 1),
        ])
    func withheld(granularity: Granularity, windows: Int) throws {
        // From a Monday on, so that weeks begin there too.
        var schedule = Self.schedule(granularity, days: 102..<130)
        var pushes: [WindowPush] = []
        for _ in 0..<windows {
            #expect(pushes.isEmpty)
            let window = try #require(schedule.window)
            pushes += try schedule.close(window) { _ in [1000] }
        }
        #expect(pushes == [WindowPush(sequence: 1, span: TimeSpan(102 * 96, 109 * 96), content: .withheld)] && schedule.held == nil)
    }

    @Test("at the end of the period what is held is withheld; after it there is no window")
    func end() throws {
        var schedule = Self.schedule(.day, days: 100..<102)
        #expect(try schedule.close(TimeSpan(9600, 9696)) { _ in [3] } == [])
        #expect(try schedule.close(TimeSpan(9696, 9792)) { _ in [3] }.map(\.content) == [.withheld])
        #expect(schedule.window == nil)
        #expect(try schedule.close(TimeSpan(9792, 9888)) { _ in [3000] } == [])
    }

    @Test("who pauses is told what was held; who comes back finds numbers going on and no windows of the time between")
    func pause() throws {
        var schedule = Self.schedule()
        _ = try schedule.close(TimeSpan(9600, 9604)) { _ in [3] }
        #expect(schedule.pause() == [WindowPush(sequence: 1, span: TimeSpan(9600, 9604), content: .withheld)] && schedule.pause() == [])
        schedule.resume(at: 9617)
        #expect(schedule.window == TimeSpan(9620, 9624))
        #expect(try schedule.close(TimeSpan(9620, 9624)) { _ in [2000] }.map(\.sequence) == [2])
        #expect(Self.schedule(begin: 9601).window == TimeSpan(9604, 9608))
    }

    @Test("over random dips, repeats and restarts every release has 1001 distinct people, spans are disjoint, numbers have no gap")
    func dips() throws {
        let seed: UInt64 = 0x71DE
        var generator = SeededGenerator(seed: seed)
        for round in 0..<16 {
            let granularity: Granularity = [.hour, .sixHours, .day].randomElement(using: &generator) ?? .hour
            var schedule = Self.schedule(granularity, days: 100..<130)
            // Who contributes in each window; the merged count is of distinct people.
            var people: [TimeSpan: Set<Int>] = [:]
            func represented(_ span: TimeSpan) -> [Int] {
                let length = granularity.length ?? 1
                let found = stride(from: span.start, to: span.end, by: length).reduce(into: Set<Int>()) {
                    $0.formUnion(people[TimeSpan($1, $1 + length)] ?? [])
                }
                return [found.count, found.count + 5]
            }
            var pushes: [WindowPush] = []
            var closed: [TimeSpan] = []
            let usual = Int.random(in: 0...2, using: &generator)
            while let window = schedule.window {
                let size = Int.random(in: 0...9, using: &generator) < 3 + usual * 3 ? Int.random(in: 900...1100, using: &generator) : 400
                let start = Int.random(in: 0...300, using: &generator)
                people[window] = Set(start..<start + size)
                pushes += try schedule.close(window, represented: represented)
                closed.append(window)
                if let again = closed.randomElement(using: &generator) {
                    #expect(try schedule.close(again, represented: represented) == [])
                }
                // As after a restart.
                schedule = WindowSchedule(
                    granularity, period: schedule.period, sequence: schedule.sequence, next: schedule.next, held: schedule.held, Self.policy
                )
            }
            let label: Comment = "seed \(seed), round \(round)"
            #expect(pushes.map(\.sequence) == Array(1...max(1, pushes.count)).prefix(pushes.count).map { $0 }, label)
            #expect(zip(pushes, pushes.dropFirst()).allSatisfy { $0.span.end == $1.span.start }, label)
            #expect(pushes.first?.span.start == 9600 && pushes.last?.span.end == 130 * 96, label)
            for push in pushes {
                #expect(push.span.length <= 7 * 96, label)
                #expect(push.content == (represented(push.span).allSatisfy { $0 >= 1001 } ? .release : .withheld), label)
            }
        }
    }
}
