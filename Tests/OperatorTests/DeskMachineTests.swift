// What the reference desk answers, by mode.

import Testing

@testable import Operator

@Suite("DeskMachine")
struct DeskMachineTests {
    private let genuine = DeskVerification(v1: true, v1a: true)

    @Test(
        "first message, repeat and second repeat are answered as the mode says",
        arguments: [
            (
                DeskMode.accept,
                [.acknowledge(.accepted, after: .zero), .acknowledge(.duplicate, after: .zero), .acknowledge(.duplicate, after: .zero)]
            ),
            (
                .refuse,
                [.acknowledge(.rejected, after: .zero), .acknowledge(.rejected, after: .zero), .acknowledge(.rejected, after: .zero)]
            ),
            (.delay(.seconds(5)), [.callBack(after: .seconds(5)), .bare(status: 202), .bare(status: 202)]),
            (.lie, [.bare(status: 200), .forged, .bare(status: 200)]),
            (.silent, [.silence, .silence, .silence]),
            (.flaky, [.bare(status: 503), .acknowledge(.accepted, after: .zero), .acknowledge(.duplicate, after: .zero)]),
        ] as [(DeskMode, [DeskReply])])
    func modes(mode: DeskMode, expected: [DeskReply]) {
        var machine = DeskMachine(mode: mode)

        #expect((0..<3).map { _ in machine.received("emg_1.0", genuine) } == expected)
        #expect(machine.distinct == 1 && machine.repeats == 2)
    }

    @Test(
        "a message without a valid signature is refused and not counted",
        arguments: [
            DeskVerification(v1: nil, v1a: nil), DeskVerification(v1: false, v1a: nil), DeskVerification(v1: true, v1a: false),
            DeskVerification(v1: false, v1a: true),
        ])
    func forgeries(verification: DeskVerification) {
        var machine = DeskMachine(mode: .accept)

        #expect(machine.received("emg_1.0", verification) == .unauthorised)
        #expect(machine.distinct == 0)
    }

    @Test("one of the two signatures is enough where the desk has only one key")
    func oneSignature() {
        #expect(DeskVerification(v1: true, v1a: nil).isVerified && DeskVerification(v1: nil, v1a: true).isVerified)
    }

    @Test("modes are read as they are written")
    func words() {
        for text in ["accept", "refuse", "delay:5s", "lie", "silent", "slow", "flaky"] { #expect(DeskMode(text)?.description == text) }
        for text in ["", "delay", "delay:", "delay:-1s", "delay:2h", "Accept"] { #expect(DeskMode(text) == nil) }
    }
}

@Suite("SpokenDuration")
struct SpokenDurationTests {
    @Test(
        "durations are read as people write them",
        arguments: [
            ("500ms", 500), ("20s", 20_000), ("5m", 300_000), ("2h", 7_200_000), ("1.5", 1500), ("0", 0),
        ] as [(String, Int64)])
    func reads(text: String, milliseconds: Int64) {
        #expect(SpokenDuration(text)?.duration == .milliseconds(milliseconds))
    }

    @Test("what is no duration is none", arguments: ["", "s", "-1s", "5 s", "5d", "1e99h", "nan", "inf"])
    func refuses(text: String) {
        #expect(SpokenDuration(text) == nil)
    }
}
