// What consent has to be told, decided already and in force here: kept until it has answered.

import Contracts
import GRDB
import ServiceKit

struct OrganisationJobStore: Sendable {
    private static let backoff = Backoff(.seconds(30), upTo: .seconds(3600))
    private static let silence = Backoff(.milliseconds(250), upTo: .seconds(10))

    let removals: JobQueue<MemberID>
    /// Its members' log-ins, its requests and grants end, and the people concerned are told.
    let closings: JobQueue<OrganisationID>

    init(now: @escaping @Sendable () -> Timestamp) {
        removals = JobQueue(JobKind("remove-member", backoff: Self.backoff, silence: Self.silence), sealed: .none, now: now)
        closings = JobQueue(JobKind("close-organisation", backoff: Self.backoff, silence: Self.silence), sealed: .none, now: now)
    }

    /// The same again changes nothing.
    func remove(_ db: Database, _ member: MemberID) throws {
        try removals.enqueue(db, member, id: "\(member)")
    }

    /// The same again changes nothing.
    func close(_ db: Database, _ organisation: OrganisationID) throws {
        try closings.enqueue(db, organisation, id: "\(organisation)")
    }
}
