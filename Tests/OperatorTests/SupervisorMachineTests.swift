// The supervisor's decisions as tables of what happened and what to do.

import Testing

@testable import Operator

@Suite("SupervisorMachine")
struct SupervisorMachineTests {
    private func started(_ names: [String] = ["ingest", "sos-dispatcher", "edge"]) -> SupervisorMachine {
        var machine = SupervisorMachine(parts: names)
        _ = machine.begun(at: .zero)
        return machine
    }

    @Test("parts are started in order, at once")
    func begins() {
        var machine = SupervisorMachine(parts: ["ingest", "sos-dispatcher"])

        #expect(machine.begun(at: .zero) == [.start("ingest"), .start("sos-dispatcher")])
    }

    @Test("the suite is ready once, when the last part answers")
    func ready() {
        var machine = started(["ingest", "sos-dispatcher"])

        #expect(machine.answered("ingest", at: .milliseconds(80)) == [])
        #expect(machine.answered("sos-dispatcher", at: .milliseconds(90)) == [.report(.everythingIsReady)])
        #expect(machine.answered("ingest", at: .milliseconds(100)) == [])
    }

    @Test("SOS-28: a part that crashes is started again at once, and its return is told")
    func restarts() {
        var machine = started(["ingest"])
        _ = machine.answered("ingest", at: .milliseconds(50))

        let actions = machine.exited("ingest", .signalled(9), at: .seconds(30))

        #expect(actions == [.report(.restarting("ingest", status: .signalled(9))), .start("ingest")])
        #expect(machine.answered("ingest", at: .seconds(31)) == [.report(.readyAgain("ingest"))])
    }

    @Test("five crashes in ten seconds are told once, and it is still started every second")
    func crashLoop() {
        var machine = started(["ingest"])
        _ = machine.answered("ingest", at: .milliseconds(50))
        for second in 1...4 { #expect(machine.exited("ingest", .exited(1), at: .seconds(second)).last == .start("ingest")) }

        #expect(machine.exited("ingest", .exited(1), at: .seconds(5)) == [.report(.crashLoop("ingest", status: .exited(1)))])
        #expect(machine.timePassed(to: .milliseconds(5900)) == [])
        #expect(machine.timePassed(to: .seconds(6)) == [.start("ingest")])
        #expect(machine.exited("ingest", .exited(1), at: .milliseconds(6100)) == [])
        #expect(machine.timePassed(to: .milliseconds(7100)) == [.start("ingest")])
    }

    @Test("after a quiet time a crash is a first crash again")
    func forgetsOldCrashes() {
        var machine = started(["ingest"])
        for second in 1...5 { _ = machine.exited("ingest", .exited(1), at: .seconds(second)) }
        _ = machine.timePassed(to: .seconds(6))

        #expect(machine.exited("ingest", .exited(1), at: .seconds(60)).last == .start("ingest"))
    }

    private static func refused(_ name: String, _ reason: String = "damaged", again: Bool = true) -> SupervisorAction {
        .report(.refused(name, reason: reason, again: again))
    }

    @Test("SOS-28: a damaged key file of one part stopped the whole suite, dispatchers included: it is named, the others go on")
    func refusal() {
        var machine = started()

        #expect(machine.exited("ingest", .exited(78), complaint: "damaged", at: .milliseconds(20)) == [Self.refused("ingest")])
        // The dispatcher has never heard of ingest and is not ready; it has started and calls.
        #expect(machine.answered("edge", at: .milliseconds(50)) == [])
        #expect(machine.received("sos-dispatcher", hasStarted: true, at: .milliseconds(60)) == [.report(.readyWithout(["ingest"]))])
        #expect(machine.answered("sos-dispatcher", isReady: false, at: .milliseconds(70)) == [])
        #expect(machine.stopRequested(at: .seconds(1)) == [.terminate("edge")])
        #expect(machine.exited("edge", .exited(0), at: .seconds(1)) == [.terminate("sos-dispatcher")])
        #expect(machine.exited("sos-dispatcher", .exited(0), at: .seconds(1)) == [.finished(.ok)])
    }

    @Test("a suite that starts on a full disk, where nothing is ready, is not ended by whoever waits for its start")
    func startsUnready() {
        var machine = started(["ingest", "sos-dispatcher"])
        for name in ["ingest", "sos-dispatcher"] {
            #expect(machine.received(name, hasStarted: true, at: .milliseconds(10)) == [])
            #expect(machine.answered(name, isReady: false, at: .milliseconds(20)) == [])
        }
        var reports: [SupervisorAction] = []
        for tick in 1...700 {
            let now = Duration.milliseconds(tick * 100)
            for name in ["ingest", "sos-dispatcher"] { _ = machine.received(name, at: now) }
            reports += machine.timePassed(to: now)
        }
        #expect(reports == [.report(.unready(["ingest", "sos-dispatcher"]))])
        #expect(machine.answered("ingest", at: .seconds(70)) == [])
        #expect(machine.answered("sos-dispatcher", at: .seconds(70)) == [.report(.everythingIsReady)])
    }

    @Test(
        "a part that refuses is tried again after 1, 2, 4 … 30 s, is named again only where the reason is another, and starts once it is mended"
    )
    func refusesAgain() {
        var machine = started(["ingest", "sos-dispatcher"])
        _ = machine.answered("sos-dispatcher", at: .milliseconds(10))
        var now = Duration.milliseconds(20)
        #expect(
            machine.exited("ingest", .exited(78), complaint: "damaged", at: now)
                == [Self.refused("ingest"), .report(.readyWithout(["ingest"]))])
        for pause in [1, 2, 4, 8, 16, 30, 30] {
            #expect(machine.timePassed(to: now + .seconds(pause) - .milliseconds(1)) == [])
            now += .seconds(pause)
            _ = machine.answered("sos-dispatcher", at: now)
            #expect(machine.timePassed(to: now) == [.start("ingest")])
            #expect(machine.exited("ingest", .exited(78), complaint: "damaged", at: now) == [])
        }
        now += .seconds(30)
        _ = machine.answered("sos-dispatcher", at: now)
        _ = machine.timePassed(to: now)
        #expect(machine.exited("ingest", .exited(78), complaint: "lost", at: now) == [Self.refused("ingest", "lost")])
        now += .seconds(30)
        _ = machine.answered("sos-dispatcher", at: now)
        #expect(machine.timePassed(to: now) == [.start("ingest")])
        #expect(machine.received("ingest", hasStarted: true, at: now) == [.report(.mended("ingest"))])
        #expect(machine.answered("ingest", at: now) == [.report(.everythingIsReady)])
        // Mended, it begins anew with a second.
        #expect(machine.exited("ingest", .signalled(9), at: now).last == .start("ingest"))
        #expect(machine.exited("ingest", .exited(78), complaint: "damaged", at: now) == [Self.refused("ingest")])
        _ = machine.answered("sos-dispatcher", at: now + .seconds(1))
        #expect(machine.timePassed(to: now + .seconds(1)) == [.start("ingest")])
    }

    @Test("where every service refuses at the first start, the suite ends with 78, whatever the edge does")
    func everybodyRefuses() {
        var machine = SupervisorMachine(parts: ["ingest", "sos-dispatcher", "edge"], doors: ["edge"])
        _ = machine.begun(at: .zero)
        _ = machine.answered("edge", at: .milliseconds(10))

        #expect(
            machine.exited("sos-dispatcher", .exited(78), complaint: "x", at: .milliseconds(20)) == [Self.refused("sos-dispatcher", "x")])
        #expect(
            machine.exited("ingest", .exited(78), complaint: "y", at: .milliseconds(30))
                == [Self.refused("ingest", "y", again: false), .terminate("edge")])
        #expect(machine.exited("edge", .exited(0), at: .milliseconds(40)) == [.finished(.configuration)])
    }

    @Test("SOS-28: a suite that has served is never ended by what its parts refuse later, such as a disk that is full at a restart")
    func everybodyRefusesLater() {
        var machine = started(["ingest"])
        _ = machine.received("ingest", hasStarted: true, at: .milliseconds(10))
        _ = machine.exited("ingest", .signalled(9), at: .seconds(1))

        #expect(machine.exited("ingest", .exited(78), complaint: "full", at: .seconds(1)).first == Self.refused("ingest", "full"))
        #expect(machine.timePassed(to: .seconds(2)) == [.start("ingest")])
    }

    @Test("systemd ended a suite of which one part ended again and again: what can run runs, and that is said")
    func readyWithoutTheLooping() {
        var machine = started(["ingest", "notifier"])
        _ = machine.answered("ingest", at: .milliseconds(10))
        for second in 1...4 { _ = machine.exited("notifier", .exited(70), at: .seconds(second)) }

        #expect(
            machine.exited("notifier", .exited(70), at: .seconds(5))
                == [.report(.crashLoop("notifier", status: .exited(70))), .report(.readyWithout(["notifier"]))])
    }

    @Test("parts are stopped one after the other in reverse order")
    func stops() {
        var machine = started()

        #expect(machine.stopRequested(at: .seconds(1)) == [.terminate("edge")])
        #expect(machine.stopRequested(at: .seconds(1)) == [])
        #expect(machine.exited("edge", .exited(0), at: .seconds(2)) == [.terminate("sos-dispatcher")])
        #expect(machine.exited("sos-dispatcher", .exited(0), at: .seconds(3)) == [.terminate("ingest")])
        #expect(machine.exited("ingest", .exited(0), at: .seconds(4)) == [.finished(.ok)])
    }

    @Test("a part that does not stop within its bound is killed, and the exit code says so")
    func killsTheSlow() {
        var machine = started(["ingest"])
        _ = machine.stopRequested(at: .zero)

        #expect(machine.timePassed(to: .milliseconds(9900)) == [])
        #expect(machine.timePassed(to: .seconds(10)) == [.report(.killed("ingest")), .kill("ingest")])
        #expect(machine.timePassed(to: .seconds(11)) == [])
        #expect(machine.exited("ingest", .signalled(9), at: .seconds(11)) == [.finished(.failed)])
    }

    @Test("a crash while the suite stops starts nothing")
    func crashWhileStopping() {
        var machine = started(["ingest", "sos-dispatcher"])
        _ = machine.stopRequested(at: .zero)

        #expect(machine.exited("ingest", .signalled(11), at: .seconds(1)) == [])
        #expect(machine.exited("sos-dispatcher", .exited(0), at: .seconds(2)) == [.finished(.ok)])
    }

    /// Ticks as they should come; what they gave beside nothing, with its time in milliseconds.
    private func ticks(_ machine: inout SupervisorMachine, _ milliseconds: ClosedRange<Int>) -> [Int: [SupervisorAction]] {
        var given: [Int: [SupervisorAction]] = [:]
        for time in stride(from: milliseconds.lowerBound, through: milliseconds.upperBound, by: 100) {
            let actions = machine.timePassed(to: .milliseconds(time))
            if !actions.isEmpty { given[time] = actions }
        }
        return given
    }

    private static let replaced: [SupervisorAction] = [.report(.unresponsive("ingest")), .kill("ingest")]

    @Test("a part that was ready and answers nothing for ten seconds is replaced")
    func replacesTheHung() {
        var machine = started(["ingest"])
        _ = ticks(&machine, 100...1000)
        _ = machine.answered("ingest", at: .seconds(1))

        #expect(ticks(&machine, 1100...12_000) == [11_000: Self.replaced])
        #expect(machine.exited("ingest", .signalled(9), at: .seconds(12)).last == .start("ingest"))
    }

    @Test("a part that answers that it cannot work now does not hang")
    func unready() {
        var machine = started(["ingest"])
        _ = ticks(&machine, 100...1000)
        _ = machine.answered("ingest", at: .seconds(1))
        for second in 2...30 {
            #expect(machine.answered("ingest", isReady: false, at: .seconds(second)) == [])
            #expect(ticks(&machine, (second * 1000 + 100)...(second * 1000 + 1000)) == [:])
        }
    }

    @Test(
        "R6, SOS-41: a halted part was noticed after 10 s: one that was heard and is silent for a second is replaced, at its start after five; never heard, not"
    )
    func replacesTheSilent() {
        var machine = started(["ingest", "edge"])
        _ = ticks(&machine, 100...100)
        _ = machine.received("ingest", at: .milliseconds(150))

        #expect(ticks(&machine, 200...5000) == [1100: Self.replaced])
        #expect(machine.exited("ingest", .signalled(9), at: .seconds(5)).last == .start("ingest"))
        // Halted before its first beat: nobody replaced it, for ever.
        #expect(ticks(&machine, 5100...20_000) == [10_000: Self.replaced, 15_000: Self.replaced, 20_000: Self.replaced])
    }

    /// An edge that was asked after a second and is ready; it answered at 1.01 s, and its ticks came until 2 s.
    private func readyDoor() -> SupervisorMachine {
        var machine = SupervisorMachine(parts: ["edge"], doors: ["edge"])
        _ = machine.begun(at: .zero)
        _ = ticks(&machine, 100...1000)
        machine.asked("edge", at: .seconds(1))
        _ = machine.answered("edge", at: .milliseconds(1010))
        _ = ticks(&machine, 1100...2000)
        return machine
    }

    private static let doorReplaced: [SupervisorAction] = [.report(.unresponsive("edge")), .kill("edge")]

    @Test("R6, SOS-41: a halted edge cost 14 s: one that leaves a question unanswered for a second is replaced, at its start after ten")
    func replacesTheHaltedDoor() {
        var machine = readyDoor()
        #expect(ticks(&machine, 2100...4000) == [:], "nobody asks it")
        machine.asked("edge", at: .seconds(4))
        machine.asked("edge", at: .milliseconds(4500))

        #expect(ticks(&machine, 4100...5000) == [4900: Self.doorReplaced])
        #expect(machine.answered("edge", at: .milliseconds(5010)) == [], "of the life before")
        #expect(machine.exited("edge", .signalled(9), at: .milliseconds(5020)).last == .start("edge"))
        machine.asked("edge", at: .milliseconds(5050))
        #expect(ticks(&machine, 5100...15_100) == [15_100: Self.doorReplaced])
        _ = machine.exited("edge", .signalled(9), at: .milliseconds(15_110))
        machine.asked("edge", at: .milliseconds(15_150))
        #expect(machine.answered("edge", at: .milliseconds(15_300)) == [.report(.readyAgain("edge"))])
    }

    @Test("SOS-41: an edge that is busy, as under a flood, is not killed for a late answer, but after ten seconds without any")
    func busyDoor() {
        var machine = readyDoor()
        machine.asked("edge", at: .seconds(2))
        for time in stride(from: 2100, through: 11_000, by: 100) {
            machine.worked("edge", at: .milliseconds(time))
            #expect(machine.timePassed(to: .milliseconds(time)) == [])
        }
        machine.worked("edge", at: .milliseconds(11_100))
        #expect(machine.timePassed(to: .milliseconds(11_100)) == Self.doorReplaced)
    }

    @Test("SOS-41: a watch that was halted kills no edge for what it did not hear meanwhile")
    func lateWatchOfADoor() {
        var machine = readyDoor()
        machine.asked("edge", at: .milliseconds(2050))

        #expect(machine.timePassed(to: .seconds(60)) == [])
        #expect(ticks(&machine, 60_100...62_000).keys.min() == 60_900)
    }

    @Test("SOS-41: a watch that was halted or starved itself subtracts its own lateness before it kills", arguments: [1500, 60_000])
    func lateWatch(halted milliseconds: Int) {
        var machine = started(["ingest"])
        _ = ticks(&machine, 100...1000)
        _ = machine.received("ingest", at: .seconds(1))
        let awake = 1000 + milliseconds

        // The tick may be dealt with before the beats that came meanwhile.
        #expect(machine.timePassed(to: .milliseconds(awake)) == [])
        // Awake, it waits as long as ever: a tick of the silence had passed before.
        #expect(ticks(&machine, (awake + 100)...(awake + 2000)) == [awake + 800: Self.replaced])
    }

    @Test("SOS-41: a watch that runs at a third of its pace still notices, in three times the time")
    func starvedWatch() {
        var machine = started(["ingest"])
        _ = machine.received("ingest", at: .zero)
        let noticed = stride(from: 300, through: 6000, by: 300).first { !machine.timePassed(to: .milliseconds($0)).isEmpty }

        #expect(noticed == 2700)
    }

    @Test("an exit code 78 of a part that has once started is a crash, not a refusal of its settings")
    func crashAfterBeats() {
        var machine = started(["ingest"])
        _ = machine.received("ingest", hasStarted: true, at: .milliseconds(100))

        #expect(machine.exited("ingest", .exited(78), at: .milliseconds(200)).last == .start("ingest"))
    }

    @Test("a part that cannot even be started is tried again like one that crashed")
    func cannotStart() {
        var machine = started(["ingest"])

        #expect(machine.exited("ingest", .couldNotStart("no such file"), at: .milliseconds(1)).last == .start("ingest"))
    }

    @Test("whatever happens, a stop always ends, and nothing is started after it", arguments: 0..<300 as Range<UInt64>)
    func alwaysEnds(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        let names = ["a", "b", "c"]
        var machine = SupervisorMachine(parts: names)
        var now = Duration.zero
        var alive: Set<String> = []
        var finished = false
        func note(_ actions: [SupervisorAction], stopping: Bool) {
            for action in actions {
                switch action {
                case .start(let name):
                    #expect(!stopping && !alive.contains(name))
                    alive.insert(name)
                case .terminate(let name), .kill(let name): #expect(alive.contains(name))
                case .finished:
                    #expect(alive.isEmpty && !finished)
                    finished = true
                case .report: break
                }
            }
        }
        note(machine.begun(at: now), stopping: false)
        for _ in 0..<60 {
            now += .milliseconds(Int64(random.next() % 3000))
            let name = names[Int(random.next() % 3)]
            switch random.next() % 4 {
            case 0: note(machine.answered(name, at: now), stopping: false)
            case 1: note(machine.received(name, hasStarted: random.next() % 3 == 0, at: now), stopping: false)
            case 2 where alive.contains(name):
                alive.remove(name)
                note(machine.exited(name, .exited(random.next() % 3 == 0 ? 78 : Int32(random.next() % 3)), at: now), stopping: false)
            default: note(machine.timePassed(to: now), stopping: false)
            }
        }
        note(machine.stopRequested(at: now), stopping: true)
        for _ in 0..<20 where !finished {
            now += .seconds(6)
            note(machine.timePassed(to: now), stopping: true)
            if let name = alive.sorted().last {
                alive.remove(name)
                note(machine.exited(name, .exited(0), at: now), stopping: true)
            }
        }
        #expect(finished)
    }
}
