// A whole suite in one thread under virtual time: devices, ingest, the bus, the dispatcher and two integrators. The machines are the
// service's own; what surrounds them here does what the services do around them, with every step and every wait an event.

import Contracts
import Sealing

@testable import Bus
@testable import SOSDispatcher

enum SimulatedEvent {
    case measure(life: Int)
    case ingestReceives(upload: Int)
    case ingestStored(upload: Int, receivedAt: Int64, wall: Timestamp, process: Int, isDurable: Bool)
    case deviceHears(upload: Int)
    case deviceWaited(upload: Int, attempt: Int)
    case beat
    case heardBeat(Heartbeat)
    case heard(StreamEvent)
    case asked(ReplayStream, process: Int)
    case answered(stream: String, ReplayStream.Reply?, process: Int)
    case look(process: Int)
    case alarm(process: Int)
    case storing(process: Int)
    case stored(process: Int, isDurable: Bool, isKnown: Bool)
    case patienceOver(waiter: Int, process: Int)
    case courier(EmergencyID, process: Int)
    case received(integrator: Int, OutboxMessage, attempt: Int, process: Int)
    case attemptEnded(EmergencyID, attempt: Int, SimulatedAnswer?, process: Int)
    case calledBack(DispatchID, integrator: Int)
    case personAnswers(life: Int)
    case personHears(life: Int)
    case dispatcherCrashes(for: Int64)
    case dispatcherStarts
    case ingestCrashes(for: Int64)
    case ingestStarts
    case clockSteps(by: Int64)
}

/// What an integrator answered to one attempt, as far as it can be judged.
struct SimulatedAnswer: Sendable {
    var message: DispatchID
    var isSigned: Bool
    var accepts: Bool
}

/// Events by their time; those of one time in the order in which they were put in.
struct SimulatedTimeline {
    private struct Entry {
        var at: Int64
        var order: Int
        var event: SimulatedEvent
    }

    private var heap: [Entry] = []
    private var order = 0

    mutating func put(_ event: SimulatedEvent, at time: Int64) {
        order += 1
        heap.append(Entry(at: time, order: order, event: event))
        var index = heap.count - 1
        while index > 0, precedes(index, (index - 1) / 2) {
            heap.swapAt(index, (index - 1) / 2)
            index = (index - 1) / 2
        }
    }

    mutating func take() -> (at: Int64, event: SimulatedEvent)? {
        guard let first = heap.first else { return nil }
        heap.swapAt(0, heap.count - 1)
        heap.removeLast()
        var index = 0
        while true {
            var least = index
            for child in [2 * index + 1, 2 * index + 2] where child < heap.count && precedes(child, least) { least = child }
            guard least != index else { return (first.at, first.event) }
            heap.swapAt(index, least)
            index = least
        }
    }

    private func precedes(_ one: Int, _ other: Int) -> Bool {
        (heap[one].at, heap[one].order) < (heap[other].at, heap[other].order)
    }
}

/// One upload of one entry, from the device's memory to ingest's log.
struct SimulatedUpload {
    var life: Int
    var measuredAt: Timestamp
    var value: Double
    var attempts = 0
    var isAnswered = false
    /// When ingest received what is in the log, on the true time line and by ingest's clock.
    var receivedAt: Int64?
    var wall = Timestamp(milliseconds: 0)
    var isCritical: Bool { value < 45 || value > 120 }
    /// Whether it alarms: not what was a minute old when it came, or seemed to be by a clock that was set meanwhile.
    var alarms: Bool { isCritical && wall - measuredAt <= .seconds(60) }
}

final class SimulatedWorld {
    static let beginning = Timestamp(milliseconds: 1_800_000_000_000)
    static let instant = ContinuousClock.now

    let seed: UInt64
    let plan: SimulationPlan
    let flaw: PlantedFlaw?
    let names: Names
    let rules: SupervisionRules
    var dice: SimulationDice
    var timeline = SimulatedTimeline()
    var now: Int64 = 0
    var clockOffset: Int64 = 0
    var account = SimulationAccount()
    /// One line per event, where somebody wants to read them.
    private(set) var trace: [String]?

    var uploads: [SimulatedUpload] = []
    /// What each device has not got an answer to, in order.
    var pending: [[Int]]
    var ingest = SimulatedIngest()
    var kept = SimulatedStore()
    /// nil while the process is not running.
    var dispatcher: SimulatedDispatcher?
    var dispatcherProcess = 0
    var dispatcherSteps = 0
    var integrators = [SimulatedIntegrator](repeating: SimulatedIntegrator(), count: SimulationPlan.integrators)
    var persons: [PersonID: Int] = [:]

    init(seed: UInt64, flaw: PlantedFlaw? = nil, identity: SymmetricKey, traces: Bool = false) {
        (self.seed, self.flaw) = (seed, flaw)
        plan = SimulationPlan(seed: seed)
        dice = SimulationDice(seed: ~seed)
        names = Names(identity: identity)
        var rules = SupervisionRules()
        rules.normalBeforeClosing = .seconds(6)
        self.rules = rules
        pending = Array(repeating: [], count: plan.lives.count)
        trace = traces ? [] : nil
    }

    // MARK: Time

    /// The machine's even time line.
    var steady: Timestamp { SimulatedWorld.beginning + .milliseconds(now) }
    var wall: Timestamp { steady + .milliseconds(clockOffset) }
    /// What the dispatcher's timers go by.
    var dispatcherClock: Timestamp { flaw == .wallClockTimers ? wall : steady }
    var instant: ContinuousClock.Instant { SimulatedWorld.instant + .milliseconds(now) }

    func after(_ milliseconds: Int64, _ event: SimulatedEvent) {
        timeline.put(event, at: now + max(0, milliseconds))
    }

    func note(_ text: @autoclosure () -> String) {
        if trace != nil { trace?.append("\(now) \(text())") }
    }

    // MARK: Running

    func run() -> SimulationAccount {
        begin()
        while let (at, event) = timeline.take(), at <= SimulationPlan.end {
            now = at
            handle(event)
            crashAtSteps()
        }
        now = SimulationPlan.end
        SimulationChecker(world: self).check()
        return account
    }

    private func begin() {
        for (index, life) in plan.lives.enumerated() {
            persons[life.person] = index
            let stream = StreamFamily.samplesStream(of: life.person)
            ingest.logs[stream] = []
            kept.positions[stream] = StreamPosition(stream: stream, epoch: ingest.epoch, next: 1)
            var watched = Watched()
            var machine = Supervision(rules: rules)
            _ = machine.subscribed(own: [:], declaredInterval: nil, at: steady)
            watched.subscriber.supervision = machine.state
            kept.people[life.person] = SimulatedWatched(watched: watched)
            after(dice.between(100, 1500), .measure(life: index))
        }
        for span in plan.dispatcherCrashes { timeline.put(.dispatcherCrashes(for: span.until - span.from), at: span.from) }
        for span in plan.ingestCrashes { timeline.put(.ingestCrashes(for: span.until - span.from), at: span.from) }
        for step in plan.clockSteps { timeline.put(.clockSteps(by: step.by), at: step.at) }
        ingest.isRunning = true
        startDispatcher()
        after(50, .beat)
    }

    private func handle(_ event: SimulatedEvent) {
        switch event {
        case .measure, .ingestReceives, .ingestStored, .deviceHears, .deviceWaited, .beat, .asked, .ingestCrashes, .ingestStarts:
            handleAtIngest(event)
        case .heardBeat, .heard, .answered, .look:
            handleOnBus(event)
        case .received, .calledBack:
            handleAtIntegrator(event)
        case .clockSteps(let by):
            clockOffset += by
            note("clock steps by \(by)")
        default:
            handleAtDispatcher(event)
        }
    }

    /// What the plan says of crashes in the middle of something.
    private func crashAtSteps() {
        if plan.crashSteps.contains(dispatcherSteps), dispatcher != nil, now < SimulationPlan.calm {
            dispatcherSteps += 1
            crashDispatcher(for: dice.between(60, 800))
        }
        if plan.ingestCrashSteps.contains(ingest.steps), ingest.isRunning, now < SimulationPlan.calm {
            ingest.steps += 1
            crashIngest(for: dice.between(60, 800))
        }
    }

    func violation(_ text: String) {
        account.violations.append(text)
        note("VIOLATION \(text)")
    }
}

/// Contracts has a message's name too: that of one to a person.
typealias DispatchID = SOSDispatcher.MessageID
