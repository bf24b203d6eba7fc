// One transaction for many bodies, each of which can fail alone.

import GRDB

/// Runs a group in one transaction, so that they share one flush of the disk.
struct GroupCommit: Sendable {
    let acknowledge: StoreSettings.Acknowledgement
    let metrics: StoreMetrics
    let room: DiskRoom
    let scope: WriteScope

    /// What became of a group.
    enum Outcome {
        case done
        /// The process must end; nobody of `unanswered` has been told anything.
        case fatal(code: Int32, unanswered: [WaitingWrite])
    }

    /// Bodies of which only the commit is missing, and what tells their waiters so.
    private struct Performed {
        let writes: ArraySlice<WaitingWrite>
        let acknowledge: @Sendable () -> Void
    }

    /// Every member of the group is told how it ended, after the commit; on `.fatal` those that have not been told are returned.
    func commit(_ group: [WaitingWrite], on database: Database) -> Outcome {
        var performed: [Performed] = []
        var next = 0
        do {
            try database.cachedStatement(sql: "BEGIN IMMEDIATE").execute()
            let isOneRun = group[0].kind != nil && Self.run(in: group, from: 0).count == group.count
            if isOneRun, let all = try inTransaction(on: database, { try Self.perform(group[...], on: database) }) {
                performed.append(all)
                next = group.count
            }
            while next < group.count {
                let run = Self.run(in: group, from: next)
                if run.count > 1, !isOneRun, let all = try inSavepoint(on: database, { try Self.perform(run, on: database) }) {
                    performed.append(all)
                    next = run.endIndex
                    continue
                }
                while next < run.endIndex {
                    let write = group[next]
                    if let acknowledge = try inSavepoint(on: database, orElse: write.refuse, { try write.perform(database) }) {
                        performed.append(Performed(writes: group[next...next], acknowledge: acknowledge))
                    }
                    next += 1
                }
            }
            if acknowledge == .beforeCommit { performed.forEach { $0.acknowledge() } }
            try database.cachedStatement(sql: "COMMIT").execute()
        } catch {
            let unanswered = acknowledge == .beforeCommit && next == group.count ? [] : performed.flatMap(\.writes) + group[next...]
            return undo(unanswered, because: error, on: database)
        }
        scope.run()
        if acknowledge == .afterCommit { performed.forEach { $0.acknowledge() } }
        metrics.committed(bodies: group.count)
        return .done
    }

    /// The writes from `start` that may be performed together; at least one.
    private static func run(in group: [WaitingWrite], from start: Int) -> ArraySlice<WaitingWrite> {
        var end = start + 1
        if let kind = group[start].kind {
            while end < group.count, group[end].kind == kind { end += 1 }
        }
        return group[start..<end]
    }

    /// - Parameter run: gathered bodies of one kind; at least one.
    private static func perform(_ run: ArraySlice<WaitingWrite>, on database: Database) throws -> Performed {
        guard case .gathered(let work)? = run.first else { preconditionFailure("a run is of gathered bodies") }
        return Performed(writes: run, acknowledge: try work.perform(run, in: database))
    }

    /// For work that is all of the transaction: a savepoint would keep a copy of each page that is changed. Nil where it threw: then
    /// it is undone and the transaction begun again.
    private func inTransaction<Value>(on database: Database, _ work: () throws -> Value) throws -> Value? {
        do {
            return try work()
        } catch {
            guard database.isInsideTransaction, Fault(error)?.isFatal != true else { throw error }
            try database.rollback()
            scope.drop()
            try database.cachedStatement(sql: "BEGIN IMMEDIATE").execute()
            return nil
        }
    }

    /// Nil where the work threw and it alone was undone: `orElse` has been told why. Throws what ends the group.
    private func inSavepoint<Value>(
        on database: Database, orElse refuse: (any Error) -> Void = { _ in }, _ work: () throws -> Value
    ) throws -> Value? {
        let before = scope.count
        try database.run("SAVEPOINT body")
        do {
            let value = try work()
            try database.run("RELEASE body")
            return value
        } catch {
            // After a full disk or a lack of memory SQLite may have undone the whole transaction, other bodies' work too.
            guard database.isInsideTransaction, Fault(error)?.isFatal != true else { throw error }
            scope.drop(from: before)
            try database.run("ROLLBACK TO body")
            try database.run("RELEASE body")
            let answer = Fault.translate(error)
            room.note(answer)
            refuse(answer)
            return nil
        }
    }

    private func undo(_ unanswered: [WaitingWrite], because error: any Error, on database: Database) -> Outcome {
        scope.drop()
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
        room.note(answer)
        unanswered.forEach { $0.refuse(answer) }
        return .done
    }
}
