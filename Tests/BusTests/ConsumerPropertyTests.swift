// Whatever the network and the processes do: each fact once, in order, none left out.

@testable import Contracts
import TestKit
import Testing

@testable import Bus

@Suite("The consumer's machine under a bad network")
struct ConsumerPropertyTests {
    @Test("Under loss, duplication, reordering and restarts every fact is applied exactly once and in order", arguments: 0..<300)
    func exactlyOnce(seed: Int) {
        var world = World(seed: UInt64(seed))
        world.run()
        for stream in world.family.streams {
            let applied = world.applied[stream, default: []]
            let isWhole = applied == Array(1..<world.heads[stream, default: 0] + 1)
            #expect(isWhole, "seed \(seed), \(stream): \(applied.count) of \(world.heads[stream, default: 0])")
        }
    }
}

/// A publisher with its log, a network without manners and a consumer that crashes, all under one seed and one virtual clock.
private struct World {
    let family: StreamFamily
    var random: SeededGenerator
    var now = ContinuousClock.now
    var heads: [String: Int64] = [:]
    var wire: [Frame] = []
    var questions: [ReplayStream] = []
    var machine: ConsumerMachine
    /// What the consumer's store holds: effects and positions change together.
    var applied: [String: [Int64]] = [:]
    var stored: [String: StreamPosition] = [:]
    let badness: Double

    enum Frame {
        case fact(StreamEvent)
        case heartbeat(Heartbeat)
    }

    init(seed: UInt64) {
        random = SeededGenerator(seed: seed)
        badness = Double.random(in: 0...0.6, using: &random)
        family = StreamFamily(
            name: "w", owner: .ingest, streams: (0..<Int.random(in: 1...6, using: &random)).map { "w.\($0)" }, keepsState: false,
            heartbeat: .milliseconds(50), consumers: [], tcpPort: 0)
        for stream in family.streams { stored[stream] = StreamPosition(stream: stream, epoch: "e", next: 1) }
        machine = ConsumerMachine(family: family, streams: family.streams, positions: Array(stored.values), now: now)
    }

    mutating func run() {
        for _ in 0..<400 { step(isPublishing: true, badness: badness) }
        // The weather improves: now everything has to arrive.
        var calm = 0
        while calm < 2000, !isComplete {
            step(isPublishing: false, badness: 0)
            calm += 1
        }
    }

    private var isComplete: Bool {
        family.streams.allSatisfy { Int64(applied[$0, default: []].count) == heads[$0, default: 0] }
    }

    private func fact(_ stream: String, _ sequence: Int64) -> StreamEvent {
        StreamEvent(
            header: StreamHeader(
                stream: stream, epoch: "e", sequence: sequence, head: sequence, type: "t", subject: "", at: Timestamp(milliseconds: 0),
                trace: ""),
            payload: [])
    }

    private mutating func happens(_ probability: Double) -> Bool {
        Double.random(in: 0..<1, using: &random) < probability
    }

    private mutating func step(isPublishing: Bool, badness: Double) {
        now += .milliseconds(Int.random(in: 1...30, using: &random))
        if isPublishing {
            for _ in 0..<Int.random(in: 0...4, using: &random) {
                let stream = family.streams.randomElement(using: &random) ?? ""
                heads[stream, default: 0] += 1
                if !happens(badness) { wire.append(.fact(fact(stream, heads[stream, default: 0]))) }
            }
        }
        if !happens(badness) { wire.append(.heartbeat(Heartbeat(epoch: "e", heads: heads))) }
        if happens(badness / 2) { wire.shuffle(using: &random) }
        if happens(badness), let again = wire.randomElement(using: &random) { wire.append(again) }
        // A publisher that dies loses what it has not sent; its log stays.
        if happens(badness / 20) { wire = [] }
        for frame in wire.prefix(Int.random(in: 0...8, using: &random)) {
            switch frame {
            case .fact(let event): machine.heard(event, at: now)
            case .heartbeat(let heartbeat): machine.heard(heartbeat, at: now)
            }
            wire.removeFirst()
        }
        answerQuestions(badness)
        machine.passed(to: now)
        for action in machine.take(at: now) { perform(action) }
        if happens(badness / 10) {
            questions = []
            machine = ConsumerMachine(family: family, streams: family.streams, positions: Array(stored.values), now: now)
        }
    }

    private mutating func answerQuestions(_ badness: Double) {
        questions.shuffle(using: &random)
        // Every question ends, with an answer or as a failure: the driver sees to that.
        while !happens(0.2), let question = questions.popLast() {
            if happens(badness) {
                machine.failed(question.stream, at: now)
                continue
            }
            let head = heads[question.stream, default: 0]
            let through = min(question.through, head, question.from + Int64.random(in: 0...50, using: &random))
            let facts =
                question.from <= through
                ? (question.from...through).map { ReplayStream.Fact(header: fact(question.stream, $0).header, payload: "") } : []
            machine.replayed(question.stream, .init(epoch: "e", head: head, oldest: 1, facts: facts), at: now)
        }
    }

    private mutating func perform(_ action: ConsumerMachine.Action) {
        switch action {
        case .apply(let events, let next):
            for event in events { applied[event.header.stream, default: []].append(event.header.sequence) }
            for position in next { stored[position.stream] = position }
        case .replay(let request): questions.append(request)
        case .snapshot, .passOver, .putBack: Issue.record("not in this world")
        case .reopen: wire = []
        }
    }
}
