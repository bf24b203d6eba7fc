// Does what the supervisor's machine decides: holds the children, probes their readiness, reports to it what happened.

import Contracts
import Foundation
import ServiceKit
import Synchronization

/// One part of the suite as the supervisor runs it.
struct SupervisedPart: Sendable {
    var name: String
    var command: ChildCommand
    /// For its first start alone; a start after an end is the same part going on.
    var firstArguments: [String] = []
    /// Path of the socket for its heartbeats; nil for a program that sends none.
    var heartbeat: String?
    /// Whether it only leads to others, as the edge does: for it alone nothing is kept running.
    var isDoor = false
    /// Asks it whether it is ready, within a second; nil for one that is not asked.
    var probe: (@Sendable () async -> ProbeAnswer)?
}

/// What came of asking a part for its readiness.
enum ProbeAnswer: Sendable {
    case ready
    /// It answers that it cannot take work now.
    case unready
    /// No answer.
    case silent
}

/// Runs the parts until it is asked to stop and they have ended.
struct Supervisor: Sendable {
    private enum Event: Sendable {
        case exited(String, ChildStatus, complaint: String)
        case asked(String)
        case answered(String, isReady: Bool)
        case received(String, ServiceKit.Heartbeat.Message, life: Int)
        case ticked
        case stopRequested
    }

    /// Between probes of a part that is not ready yet, of one that was, and of a door that was: as often as others send heartbeats.
    private static let eagerProbe = Duration.milliseconds(50)
    private static let calmProbe = Duration.milliseconds(500)
    private static let doorProbe = Duration.milliseconds(200)
    /// Processor time by which a part is busy: more than a process uses that only waits, less than one gets on a machine full of others.
    private static let work = Duration.milliseconds(20)
    /// Of what a part writes for people, which is not JSON, at most so many lines are its complaint when it refuses to start.
    private static let complaintLines = 4

    /// A part while it runs.
    private struct Child {
        let process: ChildProcess
        let heartbeat: HeartbeatSocket?
        let life: Int
        /// How much of its processor time was reported to the machine.
        var worked = Duration.zero
    }

    private struct Children {
        var running: [String: Child] = [:]
        /// Names of those that were started before.
        var begun: Set<String> = []
    }

    /// Counts the starts of all parts.
    private static let lives = Atomic(0)

    let parts: [SupervisedPart]
    let limits: SupervisorMachine.Limits
    /// A line of a part's output.
    let line: @Sendable (String, String) -> Void
    let notice: @Sendable (SupervisorNotice) -> Void

    private let events: AsyncStream<Event>
    private let happened: AsyncStream<Event>.Continuation

    init(
        _ parts: [SupervisedPart], limits: SupervisorMachine.Limits = .init(),
        line: @escaping @Sendable (String, String) -> Void, notice: @escaping @Sendable (SupervisorNotice) -> Void
    ) {
        (self.parts, self.limits, self.line, self.notice) = (parts, limits, line, notice)
        (events, happened) = AsyncStream.makeStream()
    }

    /// Stops the parts one after the other; `run` returns when all have ended. May be called from anywhere, also twice.
    func stop() {
        happened.yield(.stopRequested)
    }

    /// Runs until SIGINT or SIGTERM, and until the parts have ended then; or until the parts end it.
    /// - Parameter interrupted: called at each of these signals.
    func runUntilInterrupted(_ interrupted: @escaping @Sendable () -> Void = {}) async -> ExitStatus {
        await withTaskGroup(of: ExitStatus?.self) { group in
            group.addTask {
                for await _ in Interrupt.signals() {
                    interrupted()
                    stop()
                }
                return nil
            }
            group.addTask { await run() }
            while let ended = await group.next() {
                guard let ended else { continue }
                group.cancelAll()
                return ended
            }
            return .failed
        }
    }

    func run() async -> ExitStatus {
        let clock = ContinuousClock()
        let start = clock.now
        var machine = SupervisorMachine(
            parts: parts.map(\.name), doors: Set(parts.filter(\.isDoor).map(\.name)), limits: limits)
        var children = Children()
        var outcome: ExitStatus?
        return await withTaskGroup(of: Void.self) { group in
            for part in parts { group.addTask { await probe(part) } }
            group.addTask {
                while !Task.isCancelled {
                    try? await Task.sleep(for: limits.tick)
                    happened.yield(.ticked)
                }
            }
            perform(machine.begun(at: .zero), &children, &outcome)
            for await event in events {
                let now = clock.now - start
                switch event {
                case .exited(let name, let status, let complaint):
                    children.running.removeValue(forKey: name)?.heartbeat?.close()
                    perform(machine.exited(name, status, complaint: complaint, at: now), &children, &outcome)
                case .asked(let name): machine.asked(name, at: now)
                case .answered(let name, let isReady):
                    perform(machine.answered(name, isReady: isReady, at: now), &children, &outcome)
                case .received(let name, let message, let life) where children.running[name]?.life == life:
                    perform(machine.received(name, hasStarted: message == .ready, at: now), &children, &outcome)
                case .received: break
                case .ticked:
                    for part in parts where part.isDoor {
                        if Self.hasWorked(&children.running[part.name]) { machine.worked(part.name, at: now) }
                    }
                    perform(machine.timePassed(to: now), &children, &outcome)
                case .stopRequested: perform(machine.stopRequested(at: now), &children, &outcome)
                }
                if outcome != nil { break }
            }
            group.cancelAll()
            return outcome ?? .failed
        }
    }

    /// Whether the child has worked since this was last true.
    private static func hasWorked(_ child: inout Child?) -> Bool {
        guard let time = child?.process.processorTime, let known = child?.worked, time - known >= work else { return false }
        child?.worked = time
        return true
    }

    private func perform(_ actions: [SupervisorAction], _ children: inout Children, _ outcome: inout ExitStatus?) {
        for action in actions {
            switch action {
            case .start(let name):
                children.running[name] = start(name, isFirst: children.begun.insert(name).inserted)
            case .terminate(let name): children.running[name]?.process.signal(SIGTERM)
            case .kill(let name): children.running[name]?.process.signal(SIGKILL)
            case .report(let what): notice(what)
            case .finished(let status): outcome = status
            }
        }
    }

    private func start(_ name: String, isFirst: Bool) -> Child? {
        guard let part = parts.first(where: { $0.name == name }) else { return nil }
        let (line, happened) = (line, happened)
        let life = Supervisor.lives.add(1, ordering: .relaxed).newValue
        let socket: HeartbeatSocket?
        do {
            socket = try part.heartbeat.map { path throws(HeartbeatSocket.Fault) in
                try HeartbeatSocket(path) { happened.yield(.received(name, $0, life: life)) }
            }
        } catch {
            happened.yield(.exited(name, .couldNotStart("\(error)"), complaint: ""))
            return nil
        }
        var command = part.command
        if isFirst { command.arguments += part.firstArguments }
        command.environment = HeartbeatSocket.environment(command.environment, at: part.heartbeat)
        let complaint = Mutex<[String]>([])
        let process = ChildProcess(command) { text in
            if !text.hasPrefix("{") { complaint.withLock { $0 = ($0 + [text]).suffix(Supervisor.complaintLines) } }
            line(name, text)
        } exited: { status in
            happened.yield(.exited(name, status, complaint: complaint.withLock { $0.joined(separator: "; ") }))
        }
        return Child(process: process, heartbeat: socket, life: life)
    }

    private func probe(_ part: SupervisedPart) async {
        guard let probe = part.probe else { return }
        while !Task.isCancelled {
            happened.yield(.asked(part.name))
            let answer = await probe()
            if answer != .silent { happened.yield(.answered(part.name, isReady: answer == .ready)) }
            let calm = part.isDoor ? Supervisor.doorProbe : Supervisor.calmProbe
            try? await Task.sleep(for: answer == .ready ? calm : Supervisor.eagerProbe)
        }
    }
}
