// Connections for reads that are done before a change of thread would be.

import Dispatch
import GRDB
import Synchronization

/// Gives each to one caller at a time, who reads on its own thread. They are opened when they are first needed.
final class BriefReaders: Sendable {
    private struct State {
        var free: [DatabaseQueue] = []
        var opened = 0
        var isClosed = false
    }

    private let state = Mutex(State())
    /// Those who read at this moment.
    private let reading = DispatchGroup()
    private let most: Int
    private let open: @Sendable () throws -> DatabaseQueue

    init(most: Int, open: @escaping @Sendable () throws -> DatabaseQueue) {
        (self.most, self.open) = (most, open)
    }

    /// Nil where all are in use, since nobody waits here for another's read, or where no further one can be opened now. `giveBack`
    /// follows.
    /// - Throws: what says that the file cannot be believed.
    func take() throws -> DatabaseQueue? {
        let (free, mayOpen): (DatabaseQueue?, Bool) = state.withLock { state in
            if state.isClosed { return (nil, false) }
            if let free = state.free.popLast() {
                reading.enter()
                return (free, false)
            }
            guard state.opened < most else { return (nil, false) }
            state.opened += 1
            reading.enter()
            return (nil, true)
        }
        guard mayOpen else { return free }
        do {
            return try open()
        } catch {
            state.withLock { $0.opened -= 1 }
            reading.leave()
            if Fault(error)?.isFatal == true { throw error }
            return nil
        }
    }

    func giveBack(_ reader: DatabaseQueue) {
        let isClosed = state.withLock { state in
            if !state.isClosed { state.free.append(reader) }
            return state.isClosed
        }
        if isClosed { try? reader.close() }
        reading.leave()
    }

    /// Blocks until those in use are given back, and closes all.
    func close() {
        let free = state.withLock { state in
            state.isClosed = true
            defer { state.free = [] }
            return state.free
        }
        for reader in free { try? reader.close() }
        reading.wait()
    }
}
