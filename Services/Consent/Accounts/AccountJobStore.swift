// What is still to be asked of other services for an account, kept until it is answered.

import Contracts
import GRDB
import Sealing
import ServiceKit

/// The queues, sealed under the person's key. A job's id is the question's, so that asking again changes nothing.
struct AccountJobStore: Sendable {
    private static let backoff = Backoff(.milliseconds(200), upTo: .seconds(60))
    /// How long a job waits that is tried at once by whoever made it.
    private static let head = Duration.seconds(10)

    /// Weight and height as data entries, at ingest.
    let entries: JobQueue<RecordEntries>
    /// Supervision, at the SOS dispatcher.
    let joins: JobQueue<SubscribePerson>

    init(vault: ProfileVault) {
        // Seals of before there were jobs are bound to their table's name.
        @Sendable func place(_ label: JobSeal.Label) -> String { "account_duties.body \(label.id)" }
        @Sendable func subject(_ label: JobSeal.Label) throws -> AccountSubject {
            guard let person = label.person else { throw KeyDestroyed() }
            return .person(person)
        }
        let seal = JobSeal(
            seal: { plain, label in try vault.seal(plain, at: place(label), of: subject(label)) },
            open: { sealed, label in try vault.open(sealed, at: place(label), of: subject(label)) })
        entries = JobQueue(JobKind("record-entries", concurrency: 16, backoff: Self.backoff), sealed: seal)
        joins = JobQueue(JobKind("join-sos", concurrency: 16, backoff: Self.backoff), sealed: seal)
    }

    /// - Parameter held: until the account is active.
    func record(_ db: Database, _ samples: [Sample], of person: PersonID, held: Bool) throws {
        try entries.enqueue(
            db, RecordEntries(person: person, samples: samples), id: Self.newID(), of: person, start: held ? .held : .now)
    }

    /// - Returns: the job's id; whoever makes it tries it at once.
    func join(_ db: Database, _ person: PersonID, held: Bool, at: Timestamp) throws -> String {
        let id = Self.newID()
        try joins.enqueue(
            db, SubscribePerson(person: person, clausesAccepted: true, bounds: [:]), id: id, of: person,
            start: held ? .held : .at(at + Self.head))
        return id
    }

    /// The account has become active.
    func release(_ db: Database, of person: PersonID) throws {
        try entries.release(db, of: person)
        try joins.release(db, of: person)
    }

    private static func newID() -> String { Hex.encode(Random.bytes(16)) }
}
