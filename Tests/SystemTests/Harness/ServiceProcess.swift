// One executable of the suite as a test runs it: started, killed, started again at once, stopped.

import Contracts
import Foundation
import Synchronization
import TestKit

@testable import Operator

/// Its output is appended to a log file. While it is wanted, it is started again at once whenever it ends.
final class ServiceProcess: Sendable {
    let name: String
    let port: Int
    private let command: ChildCommand
    private let log: Mutex<FileHandle>

    private struct State {
        var child: ChildProcess?
        var generation = 0
        var isWanted = false
        var ends: [ChildStatus] = []
    }

    private let state = Mutex(State())
    private static let readiness = Readiness()
    /// One that cannot start is not started more often than this.
    private static let pauseAfterFailure = 0.1

    init(_ name: String, port: Int, command: ChildCommand, log: URL) throws {
        (self.name, self.port, self.command) = (name, port, command)
        let descriptor = open(log.path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw CocoaError(.fileWriteUnknown) }
        self.log = Mutex(FileHandle(fileDescriptor: descriptor, closeOnDealloc: true))
    }

    /// How it has ended so far, the oldest first.
    var ends: [ChildStatus] { state.withLock { $0.ends } }

    /// - Parameter again: whether it is wanted from here on.
    func start(again: Bool = true) {
        state.withLock { $0.isWanted = again }
        spawn()
    }

    /// Returns when it answers that it is ready.
    func untilReady(within limit: Duration = .seconds(20)) async throws {
        try await eventually("\(name) is ready", within: limit) { await ServiceProcess.readiness.isReady(port: self.port) }
    }

    func signal(_ number: Int32) {
        state.withLock { $0.child }?.signal(number)
    }

    /// `kill -9`; returns when it has ended. Where it is wanted it is being started again by then.
    func kill() async throws {
        let before = ends.count
        signal(SIGKILL)
        try await eventually("\(name) ended") { self.ends.count > before }
    }

    /// From the kill until it is ready again.
    func killAndRecover() async throws -> Duration {
        let begun = ContinuousClock.now
        try await kill()
        try await untilReady()
        return ContinuousClock.now - begun
    }

    /// Does not start it again when it ends from here on.
    func abandon() {
        state.withLock { $0.isWanted = false }
    }

    /// A clean stop; nil where it was not running.
    @discardableResult
    func stop(with number: Int32 = SIGTERM) async throws -> ChildStatus? {
        abandon()
        guard let child = state.withLock({ $0.child }) else { return nil }
        let before = ends.count
        child.signal(number)
        try await eventually("\(name) stopped") { self.ends.count > before }
        return ends.last
    }

    private func spawn() {
        let generation = state.withLock { state in
            state.generation += 1
            return state.generation
        }
        let begun = ContinuousClock.now
        let child = ChildProcess(
            command, line: { [self] in write($0) },
            exited: { [self] status in
                if ContinuousClock.now - begun < .seconds(ServiceProcess.pauseAfterFailure), status != .signalled(SIGKILL) {
                    // On the child's own thread: nobody else waits.
                    Thread.sleep(forTimeInterval: ServiceProcess.pauseAfterFailure)
                }
                ended(status, generation)
            })
        state.withLock { if $0.generation == generation { $0.child = child } }
    }

    private func ended(_ status: ChildStatus, _ generation: Int) {
        let again = state.withLock { state in
            if state.generation == generation { state.child = nil }
            state.ends.append(status)
            return state.isWanted
        }
        if again { spawn() }
    }

    private func write(_ line: String) {
        log.withLock { try? $0.write(contentsOf: Data((line + "\n").utf8)) }
    }
}
