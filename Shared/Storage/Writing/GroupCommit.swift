// One transaction for many bodies, each of which can fail alone.

import GRDB

/// Runs a group in one transaction, so that they share one flush of the disk.
struct GroupCommit: Sendable {
    let acknowledge: StoreSettings.Acknowledgement
    let metrics: StoreMetrics

    /// What became of a group.
    enum Outcome {
        case done
        /// The process must end; nobody of `unanswered` has been told anything.
        case fatal(code: Int32, unanswered: [WaitingWrite])
    }

    private struct Performed {
        let write: WaitingWrite
        let acknowledge: @Sendable () -> Void
    }

    /// Every member of the group is told how it ended, after the commit; on `.fatal` those that have not been told are returned.
    func commit(_ group: [WaitingWrite], on database: Database) -> Outcome {
        var performed: [Performed] = []
        performed.reserveCapacity(group.count)
        var next = 0
        do {
            try database.cachedStatement(sql: "BEGIN IMMEDIATE").execute()
            while next < group.count {
                let write = group[next]
                if let acknowledge = try perform(write, on: database) {
                    performed.append(Performed(write: write, acknowledge: acknowledge))
                }
                next += 1
            }
            if acknowledge == .beforeCommit { performed.forEach { $0.acknowledge() } }
            try database.cachedStatement(sql: "COMMIT").execute()
        } catch {
            let unanswered = acknowledge == .beforeCommit && next == group.count ? [] : performed.map(\.write) + group[next...]
            return undo(unanswered, because: error, on: database)
        }
        if acknowledge == .afterCommit { performed.forEach { $0.acknowledge() } }
        metrics.committed(bodies: group.count)
        return .done
    }

    /// One body in a savepoint. Nil where it threw and its own work alone was undone: it has been told so. Throws what ends the group.
    private func perform(_ write: WaitingWrite, on database: Database) throws -> (@Sendable () -> Void)? {
        try database.run("SAVEPOINT body")
        do {
            let acknowledge = try write.perform(database)
            try database.run("RELEASE body")
            return acknowledge
        } catch {
            // After a full disk or a lack of memory SQLite may have undone the whole transaction, other bodies' work too.
            guard database.isInsideTransaction, Fault(error)?.isFatal != true else { throw error }
            try database.run("ROLLBACK TO body")
            try database.run("RELEASE body")
            write.refuse(Fault.translate(error))
            return nil
        }
    }

    private func undo(_ unanswered: [WaitingWrite], because error: any Error, on database: Database) -> Outcome {
        let fault = Fault(error)
        if let fault, fault.isFatal {
            // The process is about to end; only a test goes on from here, and GRDB wants the transaction closed.
            if database.isInsideTransaction { try? database.rollback() }
            return .fatal(code: fault.code, unanswered: unanswered)
        }
        if database.isInsideTransaction {
            do {
                try database.rollback()
            } catch {
                return .fatal(code: Fault(error)?.code ?? fault?.code ?? 1, unanswered: unanswered)
            }
        }
        let answer: StoreError =
            switch Fault.translate(error) {
            case let error as StoreError: error
            default: .undone(code: fault?.code ?? 0)
            }
        unanswered.forEach { $0.refuse(answer) }
        return .done
    }
}
