// The disk of one dispatcher: in the order of the writes, now and then slow, hanging, full or broken. What it takes is real SQLite.

import Contracts
import Storage

@testable import SOSDispatcher

/// Writes come one after the other, as to the writer's thread.
/// Unchecked: all tasks of a simulation run on its one thread.
final class SimulatedDisk: PlayedDisk, @unchecked Sendable {
    private let suite: SimulatedSuite
    private let role: PairRole
    private let process: Int
    private var busyUntil: Int64 = 0

    init(_ suite: SimulatedSuite, _ role: PairRole, process: Int) {
        (self.suite, self.role, self.process) = (suite, role, process)
    }

    func write<Value: Sendable>(_ commit: @Sendable () throws -> Value) async throws -> Value {
        let disk = suite.plan.disk(of: role, at: suite.now)
        let isReady = max(busyUntil, suite.now)
        switch disk?.fault {
        case .slow?: busyUntil = isReady + suite.dice.between(100, 700)
        case .hangs?: busyUntil = max(isReady, disk?.until ?? 0) + 1
        case .full?, .breaks?, nil: busyUntil = isReady + suite.dice.between(1, 6)
        }
        // Of virtual time.
        try? await Task.sleep(for: .milliseconds(busyUntil - suite.now))
        // What a start writes needs no further page.
        if case .full? = disk?.fault, suite.dispatcher(role).isUp { throw StoreError.full }
        guard case .breaks? = disk?.fault, suite.broken[role] != disk?.until else { return try commit() }
        suite.broken[role] = disk?.until
        // Nobody knows whether it is on the disk: the process ends, and the next one reads what is there.
        if suite.dice.happens(50) { _ = try commit() }
        suite.note("\(role)'s disk breaks")
        suite.crash(process, for: suite.dice.between(60, 500))
        throw StoreError.broken
    }
}
