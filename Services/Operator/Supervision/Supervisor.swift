// Does what the supervisor's machine decides: holds the children, asks them for their readiness, tells it what happened.

import Contracts
import Foundation

/// One part of the suite as the supervisor runs it.
struct SupervisedPart: Sendable {
    var name: String
    var command: ChildCommand
    /// Whether it answers and is ready; false at any failure. Returns within a second.
    var isReady: @Sendable () async -> Bool
}

/// Runs the parts until it is told to stop and they have ended.
struct Supervisor: Sendable {
    private enum Event: Sendable {
        case exited(String, ChildStatus)
        case answered(String)
        case ticked
        case stopRequested
    }

    /// Between probes of a part that is not ready yet, and of one that was.
    private static let eagerProbe = Duration.milliseconds(50)
    private static let calmProbe = Duration.milliseconds(500)
    private static let tick = Duration.milliseconds(100)

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

    func run() async -> ExitStatus {
        let clock = ContinuousClock()
        let start = clock.now
        var machine = SupervisorMachine(parts: parts.map(\.name), limits: limits)
        var children: [String: ChildProcess] = [:]
        var outcome: ExitStatus?
        return await withTaskGroup(of: Void.self) { group in
            for part in parts { group.addTask { await probe(part) } }
            group.addTask {
                while !Task.isCancelled {
                    try? await Task.sleep(for: Supervisor.tick)
                    happened.yield(.ticked)
                }
            }
            perform(machine.begun(at: .zero), &children, &outcome)
            for await event in events {
                let now = clock.now - start
                switch event {
                case .exited(let name, let status):
                    children[name] = nil
                    perform(machine.exited(name, status, at: now), &children, &outcome)
                case .answered(let name): perform(machine.answered(name, at: now), &children, &outcome)
                case .ticked: perform(machine.timePassed(to: now), &children, &outcome)
                case .stopRequested: perform(machine.stopRequested(at: now), &children, &outcome)
                }
                if outcome != nil { break }
            }
            group.cancelAll()
            return outcome ?? .failed
        }
    }

    private func perform(_ actions: [SupervisorAction], _ children: inout [String: ChildProcess], _ outcome: inout ExitStatus?) {
        for action in actions {
            switch action {
            case .start(let name): children[name] = start(name)
            case .terminate(let name): children[name]?.signal(SIGTERM)
            case .kill(let name): children[name]?.signal(SIGKILL)
            case .say(let what): notice(what)
            case .finished(let status): outcome = status
            }
        }
    }

    private func start(_ name: String) -> ChildProcess? {
        guard let part = parts.first(where: { $0.name == name }) else { return nil }
        let (line, happened) = (line, happened)
        return ChildProcess(part.command) {
            line(name, $0)
        } exited: {
            happened.yield(.exited(name, $0))
        }
    }

    private func probe(_ part: SupervisedPart) async {
        while !Task.isCancelled {
            let ready = await part.isReady()
            if ready { happened.yield(.answered(part.name)) }
            try? await Task.sleep(for: ready ? Supervisor.calmProbe : Supervisor.eagerProbe)
        }
    }
}
