// The consumer's rules, one by one, and all of them under loss, duplication, reordering and restarts.

@testable import Contracts
import Testing

@testable import Bus

private let news = StreamFamily(
    name: "t.news", owner: .ingest, streams: ["t.news.0"], keepsState: false, heartbeat: .milliseconds(50), consumers: [], tcpPort: 0)
private let state = StreamFamily(
    name: "t.state", owner: .ingest, streams: ["t.state"], keepsState: true, heartbeat: .milliseconds(250), consumers: [], tcpPort: 0)
private let sums = StreamFamily(
    name: "t.sums", owner: .ingest, streams: ["t.sums"], keepsState: false, heartbeat: .milliseconds(250), consumers: [], tcpPort: 0,
    tellsNewcomersAll: true)
private let start = ContinuousClock.now

@Suite("The consumer's machine")
struct ConsumerMachineTests {
    @Test("A newcomer without state begins behind the head of the first heartbeat, and stores that")
    func newcomer() {
        var desk = Desk(news)
        desk.hear(3)
        #expect(desk.take().isEmpty)
        desk.beat(3)
        #expect(desk.take() == ["apply [] next 4"])
        desk.hear(4)
        #expect(desk.take() == ["apply [4] next 5"])
    }

    @Test("What was said before a consumer of hours came for the first time was lost to it: it asks for all that the log has")
    func newcomerToLog() {
        var desk = Desk(sums)
        desk.hear(3)
        desk.beat(3)
        #expect(desk.take() == ["apply [] next 1", "replay 1...1000"])
        desk.page([1, 2, 3], head: 3)
        #expect(desk.take() == ["apply [1, 2, 3] next 4"] && desk.machine.isCurrent)
        var late = Desk(sums)
        late.beat(100)
        #expect(late.take() == ["apply [] next 1", "replay 1...1000"])
        late.page([], head: 100, oldest: 50)
        #expect(late.take() == ["pass over 49", "apply [] next 50", "replay 50...1049"])
        var again = Desk(sums, next: 4)
        again.beat(3)
        #expect(again.take().isEmpty, "who has been there goes on")
    }

    @Test("A newcomer to a state family takes the snapshot and goes on behind it")
    func newcomerToState() {
        var desk = Desk(state)
        desk.beat(7)
        #expect(desk.take() == ["snapshot"])
        desk.hear(8)
        desk.hear(9)
        #expect(desk.take().isEmpty)
        desk.machine.restarted(at: StreamPosition(stream: "t.state", epoch: "e1", next: 8), now: desk.now)
        #expect(desk.take() == ["apply [8, 9] next 10"])
    }

    @Test("What is next is applied, what was applied is dropped")
    func inOrder() {
        var desk = Desk(news, next: 1)
        for sequence in [1, 1, 2, 1, 3, 2] { desk.hear(Int64(sequence)) }
        #expect(desk.take() == ["apply [1, 2, 3] next 4"])
    }

    @Test("A gap is asked for up to what is held back, and closed in order")
    func gap() {
        var desk = Desk(news, next: 1)
        desk.hear(1)
        desk.hear(4)
        desk.hear(5)
        #expect(desk.take() == ["apply [1] next 2", "replay 2...3"])
        desk.hear(6)
        #expect(desk.take().isEmpty)
        desk.page([2, 3], head: 6)
        #expect(desk.take() == ["apply [2, 3, 4, 5, 6] next 7"])
        #expect(desk.machine.tally == ConsumerMachine.Tally(gaps: 1, replayed: 2))
        #expect(desk.machine.lag == 0)
    }

    @Test("A heartbeat shows a lost tail")
    func tail() {
        var desk = Desk(news, next: 5)
        desk.beat(4)
        #expect(desk.take().isEmpty)
        desk.beat(6)
        #expect(desk.take() == ["replay 5...1004"])
        desk.page([5, 6], head: 6)
        #expect(desk.take() == ["apply [5, 6] next 7"])
    }

    @Test("A head that is behind what was replayed already is asked about once, and changes nothing where the answer is not behind it")
    func staleHead() {
        var desk = Desk(news, next: 9)
        desk.beat(3)
        #expect(desk.take() == ["replay 9...1008"])
        desk.page([], head: 8)
        #expect(desk.take().isEmpty && desk.machine.isCurrent)
    }

    @Test("Longer gaps are asked for page by page")
    func pages() {
        var desk = Desk(news, next: 1)
        desk.beat(2500)
        #expect(desk.take() == ["replay 1...1000"])
        desk.page(Array(1...1000), head: 2500)
        let actions = desk.take()
        #expect(actions.count == 5)
        #expect(actions.last == "replay 1001...2000")
        #expect(desk.machine.tally.gaps == 1)
    }

    @Test("A replay that fails is asked again, later and later, but soon")
    func failing() {
        var desk = Desk(news, next: 1)
        desk.beat(1)
        #expect(desk.take() == ["replay 1...1000"])
        var waits: [Int] = []
        for _ in 0..<7 {
            desk.machine.failed("t.news.0", at: desk.now)
            var wait = 0
            while desk.take().isEmpty {
                desk.now += .milliseconds(10)
                wait += 10
            }
            waits.append(wait)
        }
        #expect(waits == [20, 40, 80, 160, 200, 200, 200])
    }

    @Test("A page that gives nothing of what is missing counts as a failure")
    func emptyPage() {
        var desk = Desk(news, next: 1)
        desk.beat(1)
        _ = desk.take()
        desk.page([], head: 1)
        #expect(desk.take().isEmpty)
        desk.now += .milliseconds(20)
        #expect(desk.take() == ["replay 1...1000"])
    }

    @Test("A new epoch of a family without state is heard from where the publisher says; until it has said so, nobody is up to date")
    func newEpoch() {
        var desk = Desk(news, next: 41)
        desk.beat(2, epoch: "e2")
        #expect(desk.take() == ["replay 41...1040"] && !desk.machine.isCurrent)
        desk.page([], head: 2, epoch: "e2")
        #expect(desk.take() == ["apply [] next 1 of e2", "replay 1...1000 of e2"])
        desk.page([1, 2], head: 2, epoch: "e2")
        #expect(desk.take() == ["apply [1, 2] next 3 of e2"] && desk.machine.isCurrent)
        var restored = Desk(news, next: 41)
        restored.beat(33, epoch: "e2")
        #expect(restored.take() == ["replay 41...1040"])
        restored.page([], head: 33, oldest: 31, epoch: "e2")
        #expect(restored.take() == ["apply [] next 31 of e2", "replay 31...1030 of e2"])
    }

    @Test("A fact or a replayed page of a new epoch tells it as well as a heartbeat")
    func newEpochByOtherMeans() {
        var desk = Desk(news, next: 41)
        desk.hear(1, epoch: "e2")
        #expect(desk.take() == ["replay 41...1040"])
        var other = Desk(news, next: 41)
        other.beat(41)
        #expect(other.take() == ["replay 41...1040"])
        other.page([], head: 3, epoch: "e2")
        #expect(other.take() == ["apply [] next 1 of e2", "replay 1...1000 of e2"])
    }

    @Test("Where a new epoch begins is asked until it is answered; a page that was asked for before it counts in its own epoch alone")
    func latePage() {
        var desk = Desk(news, next: 1)
        desk.beat(1)
        #expect(desk.take() == ["replay 1...1000"])
        desk.beat(2, epoch: "e2")
        #expect(desk.take().isEmpty)
        desk.page([1], head: 1)
        #expect(desk.take() == ["apply [1] next 2"])
        desk.beat(2, epoch: "e2")
        #expect(desk.take() == ["replay 2...1001"])
        desk.machine.failed("t.news.0", at: desk.now)
        desk.now += .milliseconds(20)
        #expect(desk.take() == ["replay 2...1001"])
        desk.page([], head: 2, oldest: 2, epoch: "e2")
        #expect(desk.take() == ["apply [] next 2 of e2", "replay 2...1001 of e2"])
    }

    @Test("A late frame of the epoch that is over throws nobody back")
    func lateFrame() {
        var desk = Desk(news, next: 41)
        desk.beat(30, epoch: "e2")
        _ = desk.take()
        desk.page([], head: 30, oldest: 31, epoch: "e2")
        #expect(desk.take() == ["apply [] next 31 of e2"])
        desk.hear(41)
        #expect(desk.take() == ["replay 31...1030 of e2"])
        desk.page([], head: 30, epoch: "e2")
        #expect(desk.take().isEmpty && desk.machine.isCurrent)
        desk.hear(31, epoch: "e2")
        #expect(desk.take() == ["apply [31] next 32 of e2"])
    }

    @Test("A new epoch of a state family asks for a snapshot and holds news back meanwhile")
    func newEpochOfState() {
        var desk = Desk(state, next: 9)
        desk.hear(2, epoch: "e2")
        #expect(desk.take() == ["snapshot"])
        desk.hear(3, epoch: "e2")
        desk.machine.restarted(at: StreamPosition(stream: "t.state", epoch: "e2", next: 3), now: desk.now)
        #expect(desk.take() == ["apply [3] next 4 of e2"])
    }

    @Test("Who was left behind takes a snapshot, or passes over what no log holds")
    func leftBehind() {
        var desk = Desk(state, next: 1)
        desk.beat(100)
        #expect(desk.take() == ["replay 1...1000"])
        desk.page([], head: 100, oldest: 50)
        #expect(desk.take() == ["snapshot"])
        var other = Desk(news, next: 1)
        other.beat(100)
        #expect(other.take() == ["replay 1...1000"])
        other.page([], head: 100, oldest: 50)
        #expect(other.take() == ["pass over 49", "apply [] next 50", "replay 50...1049"])
    }

    @Test("Silence of three heartbeats, but at least a second, makes the subscription anew and asks the log")
    func silence() {
        var desk = Desk(news, next: 1)
        desk.beat(0)
        desk.now += .milliseconds(999)
        #expect(desk.take().isEmpty)
        desk.now += .milliseconds(1)
        #expect(desk.take() == ["replay 1...1000", "reopen"])
        desk.page([1], head: 1)
        #expect(desk.take() == ["apply [1] next 2"])
        desk.now += .milliseconds(999)
        #expect(desk.take().isEmpty)
        desk.now += .milliseconds(1)
        #expect(desk.take() == ["replay 2...1001", "reopen"])
    }

    @Test("No more frames are held back than the limit allows; the rest is replayed")
    func holding() {
        var desk = Desk(news, next: 1)
        let last = Int64(BusLimits.framesHeldBack) + 50
        for sequence in 2...last { desk.hear(sequence) }
        #expect(desk.take() == ["replay 1...1"])
        desk.page([1], head: last)
        let applied = desk.take()
        #expect(desk.applied == Array(1...Int64(BusLimits.framesHeldBack) + 1))
        #expect(applied.last == "replay \(BusLimits.framesHeldBack + 2)...\(BusLimits.framesHeldBack + 1001)")
    }

    @Test(
        "S4: a publisher whose volume was put back was not noticed: now it is asked, the loss is said once, and the new epoch is followed")
    func putBack() {
        var desk = Desk(news, next: 10)
        desk.beat(9)
        #expect(desk.take().isEmpty && desk.machine.isCurrent)
        desk.beat(5)
        #expect(desk.take() == ["replay 10...1009"], "one probe")
        desk.beat(5)
        #expect(desk.take().isEmpty)
        desk.page([], head: 5)
        #expect(desk.take() == ["put back 4"] && !desk.machine.isCurrent)
        // What it says now is under numbers that were applied already.
        desk.hear(6)
        desk.now += .milliseconds(200)
        #expect(desk.take() == ["replay 10...1009"] && !desk.machine.isCurrent)
        desk.page([], head: 6)
        desk.now += .milliseconds(200)
        #expect(desk.take() == ["replay 10...1009"], "said once")
        desk.page([], head: 7, oldest: 6, epoch: "e2")
        #expect(desk.take() == ["apply [] next 6 of e2", "replay 6...1005 of e2"])
        desk.page([6, 7], head: 7, epoch: "e2")
        #expect(desk.take() == ["apply [6, 7] next 8 of e2"] && desk.machine.isCurrent)
    }

    @Test("A heartbeat that a replay or a frame has overtaken is no loss: the publisher's own answer decides")
    func overtaken() {
        var desk = Desk(news, next: 10)
        desk.beat(8)
        #expect(desk.take() == ["replay 10...1009"])
        desk.hear(10)
        desk.page([10], head: 10)
        #expect(desk.take() == ["apply [10] next 11"] && desk.machine.isCurrent)
        // Asked from 11 while frames go on: the answer was made before them.
        desk.beat(9)
        #expect(desk.take() == ["replay 11...1010"])
        desk.hear(11)
        desk.hear(12)
        desk.page([], head: 10)
        #expect(desk.take() == ["apply [11, 12] next 13"] && desk.machine.isCurrent)
    }

    @Test("Nonsense is passed over: unknown streams, facts without a place, pages nobody asked for")
    func nonsense() {
        var desk = Desk(news, next: 1)
        desk.machine.heard(event("t.other", 1), at: desk.now)
        desk.hear(0)
        desk.hear(-4)
        desk.page([1, 2], head: 2)
        desk.machine.failed("t.other", at: desk.now)
        desk.machine.restarted(at: StreamPosition(stream: "t.news.0", epoch: "e9", next: 4), now: desk.now)
        #expect(desk.take().isEmpty)
    }

    @Test("Many streams are asked for a few at a time, each in its turn")
    func fairness() {
        let family = StreamFamily.samples
        let positions = family.streams.map { StreamPosition(stream: $0, epoch: "e1", next: 1) }
        var machine = ConsumerMachine(family: family, streams: family.streams, positions: positions, now: start)
        machine.heard(Heartbeat(epoch: "e1", heads: Dictionary(uniqueKeysWithValues: family.streams.map { ($0, 5000) })), at: start)
        var asked: Set<String> = []
        for _ in 0..<4 {
            let streams = machine.take(at: start).compactMap { if case .replay(let request) = $0 { request.stream } else { nil } }
            #expect(streams.count == BusLimits.asksAtOnce)
            asked.formUnion(streams)
            for stream in streams {
                machine.replayed(stream, .init(epoch: "e1", head: 5000, oldest: 1, facts: [fact(stream, 1)]), at: start)
            }
        }
        #expect(asked.count == 16)
    }
}

private func event(_ stream: String, _ sequence: Int64, epoch: String = "e1") -> StreamEvent {
    let header = StreamHeader(
        stream: stream, epoch: epoch, sequence: sequence, head: sequence, type: "t.v1", subject: "", at: Timestamp(milliseconds: 0),
        trace: "")
    return StreamEvent(header: header, payload: Array("{}".utf8))
}

private func fact(_ stream: String, _ sequence: Int64, epoch: String = "e1") -> ReplayStream.Fact {
    ReplayStream.Fact(header: event(stream, sequence, epoch: epoch).header, payload: "{}")
}

/// One stream's machine with short words for what goes in and what comes out.
private struct Desk {
    var machine: ConsumerMachine
    var now = start
    var applied: [Int64] = []
    private let stream: String

    init(_ family: StreamFamily, next: Int64? = nil) {
        stream = family.streams[0]
        let positions = next.map { [StreamPosition(stream: family.streams[0], epoch: "e1", next: $0)] } ?? []
        machine = ConsumerMachine(family: family, streams: family.streams, positions: positions, now: start)
    }

    mutating func hear(_ sequence: Int64, epoch: String = "e1") {
        machine.heard(event(stream, sequence, epoch: epoch), at: now)
    }

    mutating func beat(_ head: Int64, epoch: String = "e1") {
        machine.heard(Heartbeat(epoch: epoch, heads: [stream: head]), at: now)
    }

    mutating func page(_ sequences: [Int64], head: Int64, oldest: Int64 = 1, epoch: String = "e1") {
        let facts = sequences.map { fact(stream, $0, epoch: epoch) }
        machine.replayed(stream, .init(epoch: epoch, head: head, oldest: oldest, facts: facts), at: now)
    }

    mutating func take() -> [String] {
        machine.passed(to: now)
        return machine.take(at: now).map { action in
            switch action {
            case .apply(let events, let next):
                applied += events.map(\.header.sequence)
                return "apply \(events.map(\.header.sequence)) next \(next.map(\.next).map(String.init).joined())" + of(next[0].epoch)
            case .replay(let request): return "replay \(request.from)...\(request.through)" + of(request.epoch)
            case .snapshot: return "snapshot"
            case .reopen: return "reopen"
            case .passOver(_, let facts): return "pass over \(facts)"
            case .putBack(_, let facts): return "put back \(facts)"
            }
        }
    }

    private func of(_ epoch: String) -> String {
        epoch == "e1" ? "" : " of \(epoch)"
    }
}
