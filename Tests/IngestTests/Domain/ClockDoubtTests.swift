// What the devices' times say of this machine's clock: alarmed where it is wrong, silent where a device is late or wrong by itself.

import Contracts
import Testing

@testable import Ingest

/// Ingest's memory of what its devices said, and the time that has passed.
private final class Listening {
    private var doubt = ClockDoubt()
    private var now = Duration.zero

    /// One upload of each device, then time passes; what is thought after it.
    /// - Parameter wearer: whose each device is; everybody has one where it is not said.
    func hear(
        _ offsets: [Int64: Duration], of wearer: (Int64) -> Int64 = { $0 }, every interval: Duration = .seconds(1), times: Int = 1
    ) -> ClockDoubt.Finding? {
        for _ in 0..<times {
            for (device, offset) in offsets { doubt.note(device, of: wearer(device), offset: offset, at: now) }
            now += interval
        }
        return doubt.look(at: now)
    }
}

@Suite("Doubt in this machine's clock")
struct ClockDoubtTests {
    private static func all(_ count: Int64, off offset: Duration) -> [Int64: Duration] {
        Dictionary(uniqueKeysWithValues: (0..<count).map { ($0, offset + .seconds($0 % 5)) })
    }

    @Test(
        "SOS-09: the machine's clock was minutes off, nobody was watched and nothing said so: it is said within half a minute",
        arguments: [120, 3600, 259_200, -120, -3600] as [Int64])
    func wrong(_ seconds: Int64) {
        let listening = Listening()
        #expect(listening.hear(Self.all(3, off: .zero), times: 30) == nil)
        #expect(listening.hear(Self.all(3, off: .seconds(seconds)), times: 15) == nil, "it may be a leap of a moment")
        let finding = listening.hear(Self.all(3, off: .seconds(seconds)), times: 10)
        #expect(finding == ClockDoubt.Finding(offset: .seconds(seconds + 1), people: 3, sending: 3))
        #expect(finding.map { "\($0)" }?.contains(seconds > 0 ? "\(seconds + 1) s ahead" : "\(-seconds - 1) s behind") == true)
        #expect(listening.hear(Self.all(3, off: .zero)) == nil, "set right")
    }

    @Test("Where one device sends, it is enough: whoever wears it is not watched, whichever clock is wrong")
    func alone() {
        let listening = Listening()
        #expect(listening.hear([1: .seconds(125)], times: 30)?.sending == 1)
    }

    @Test(
        "A device's sentAt was wrong, its readings' times right, and the operator was told that the machine's clock is: the lesser counts",
        arguments: [
            ([500, 1], 1), ([-500, -1], -1), ([1, 3600], 1), ([150, 3750], 150), ([-150, 3450], -150), ([120], 120), ([], nil),
        ] as [([Int64], Int64?)])
    func leastOff(_ offsets: [Int64], _ expected: Int64?) {
        #expect(ClockDoubt.leastOff(offsets.map { Duration.seconds($0) }) == expected.map { Duration.seconds($0) })
    }

    @Test("A device whose own clock is wrong, among others that are right, is no sign of this machine's")
    func oneIsWrong() {
        let listening = Listening()
        #expect(listening.hear([1: .seconds(1), 2: .seconds(7200), 3: .seconds(2)], times: 60) == nil)
        #expect(listening.hear([1: .seconds(1), 2: .seconds(7200)], times: 120) == nil)
    }

    @Test("SOS-09: one person with five devices raised the alarm, or outvoted two others: people count, not devices")
    func manyOfOnePerson() {
        let wrong: [Int64: Duration] = [1: .seconds(1), 2: .seconds(2), 11: .seconds(300), 12: .seconds(301), 13: .seconds(302)]
        #expect(Listening().hear(wrong, of: { $0 / 10 == 1 ? 10 : $0 }, times: 60) == nil)
        let right: [Int64: Duration] = [1: .seconds(300), 2: .seconds(301), 11: .zero, 12: .zero, 13: .zero]
        let finding = Listening().hear(right, of: { $0 / 10 == 1 ? 10 : $0 }, times: 60)
        #expect(finding == ClockDoubt.Finding(offset: .seconds(300), people: 2, sending: 3))
        #expect(Listening().hear([1: .zero, 2: .seconds(300)], of: { _ in 1 }, times: 60) == nil, "of whom one is right, the other errs")
        let crowd = Listening()
        _ = crowd.hear(Self.all(1000, off: .zero), of: { _ in 1 })
        #expect(crowd.hear([5000: .seconds(300), 5001: .seconds(301)], times: 60)?.people == 2, "nor is there no room for others")
    }

    @Test("Devices that are wrong by different amounts are no sign of this machine's clock")
    func differently() {
        let listening = Listening()
        #expect(listening.hear([1: .seconds(90), 2: .seconds(7200), 3: .seconds(500)], times: 60) == nil)
    }

    @Test("A backlog is caught up with, and one upload is sent again and again: neither is a clock", arguments: [-60, 1] as [Int64])
    func backlog(_ change: Int64) {
        let listening = Listening()
        for second in 0..<100 {
            #expect(listening.hear([1: .seconds(7200 + Int64(second) * change)]) == nil)
        }
    }

    @Test("A device that sends every five minutes keeps the finding between its uploads; one that is gone does not keep it for ever")
    func seldom() {
        let listening = Listening()
        let off: [Int64: Duration] = [1: .seconds(200)]
        #expect(listening.hear(off, every: .seconds(300)) == nil)
        #expect(listening.hear(off) != nil)
        #expect(listening.hear([:], every: .seconds(290)) != nil)
        #expect(listening.hear([:], every: .seconds(1000)) == nil)
    }

    @Test("However many devices send, no more than so many are remembered")
    func many() {
        let listening = Listening()
        let finding = listening.hear(Self.all(3000, off: .seconds(300)), times: 25)
        #expect(finding?.sending == ClockDoubt.most)
    }
}
