// Jobs of one kind as whoever decides them sees them: enqueued in the transaction of the decision.

package import Contracts
import Foundation
package import GRDB
import Storage

/// One kind of job in a store whose schema holds `JobTable`. Its `JobRunner` does them; the two are apart because what a job does may
/// enqueue others.
package struct JobQueue<Body: Codable & Sendable>: Sendable {
    package enum Start: Hashable, Sendable {
        case now
        case at(Timestamp)
        /// When it is released.
        case held
    }

    package let kind: JobKind
    let seal: JobSeal
    let now: @Sendable () -> Timestamp
    let wakeUp = WakeUpSignal()
    let table = JobTable()

    package init(_ kind: JobKind, sealed seal: JobSeal, now: @escaping @Sendable () -> Timestamp = { .now }) {
        (self.kind, self.seal, self.now) = (kind, seal, now)
    }

    /// The same id again changes nothing, also where the first one is dead.
    /// - Parameters:
    ///   - id: unique within the kind for ever; not personal.
    ///   - person: whom the body is about: the job is deleted when they are erased.
    ///   - orderingKey: those with the same one are done strictly one after the other, in the order of their being enqueued; one that fails
    ///     holds up those behind it until it is done or dead.
    ///   - notAfter: it is not begun later than that, and is dead then; by `DeadlineClock`, and not in the first minute of a process.
    @discardableResult
    package func enqueue(
        _ db: Database, _ body: Body, id: String, of person: PersonID? = nil, orderingKey: String? = nil, start: Start = .now,
        notAfter: Timestamp? = nil
    ) throws -> Bool {
        let at = now()
        let due: Timestamp? =
            switch start {
            case .now: at
            case .at(let time): time
            case .held: nil
            }
        let sealed = try seal.seal(Array(JSONEncoder().encode(body)), JobSeal.Label(id: id, person: person))
        let isNew = try table.add(
            db,
            JobTable.NewJob(
                kind: kind.name, id: id, orderingKey: orderingKey, person: person, body: sealed, due: due, notAfter: notAfter,
                createdAt: at))
        if isNew { wakeAfterCommit(db) }
        return isNew
    }

    /// Lets go what is held for the person.
    package func release(_ db: Database, of person: PersonID) throws {
        try table.release(db, kind.name, of: person, at: now())
        wakeAfterCommit(db)
    }

    /// Ends it unfinished, for whoever settles the matter otherwise in this transaction. An attempt under way has no effect any more.
    /// - Returns: false where it is not there any more.
    @discardableResult
    package func withdraw(_ db: Database, id: String) throws -> Bool {
        guard let job = try table.find(db, kind.name, id: id) else { return false }
        return try table.remove(db, job)
    }

    /// Deletes the person's jobs of this kind, dead or not.
    /// - Returns: how many.
    @discardableResult
    package func forget(_ db: Database, _ person: PersonID) throws -> Int {
        try table.forget(db, person, kind: kind.name)
    }

    /// How many wait; held and dead ones do not count.
    package func waiting(_ db: Database) throws -> Int {
        try table.count(db, kind.name).waiting
    }

    func open(_ job: JobTable.StoredJob) throws -> Body {
        let plain = try seal.open(job.body, JobSeal.Label(id: job.id, person: job.person))
        return try JSONDecoder().decode(Body.self, from: Data(plain))
    }

    private func wakeAfterCommit(_ db: Database) {
        db.afterCommit { [wakeUp] in wakeUp.notify() }
    }
}

/// A job as the work on it sees it.
package struct QueuedJob<Body: Sendable>: Sendable {
    package let id: String
    package let person: PersonID?
    package let body: Body
}

/// Thrown by work that will never succeed: the job becomes a dead letter.
package struct JobGivenUp: Error {
    package let failure: Failure

    package init(_ failure: Failure) {
        self.failure = failure
    }
}
