// Whether the data of a request may leave as far as money goes, and who is woken when a request changes.

import Contracts
import GRDB
import ServiceKit
import Storage

struct RequestReleaseStore: Sendable {
    let watchers: Watchers<OrganisationID>
    let clock: @Sendable () -> Timestamp
    let table = RequestStore()
    let files = DataFileStore()

    /// Nothing is due for it any more: its data may leave.
    func paid(_ db: Database, _ request: RequestID) throws {
        try table.paid(db, request, at: clock())
        guard let made = try table.find(db, request) else { return }
        notifyWatchers(db, of: made.organisation)
    }

    /// What was paid goes back, is contested, or is due again: nothing more may leave.
    func unpaid(_ db: Database, _ request: RequestID, _ hold: PaymentHold?) throws {
        try table.unpaid(db, request, hold)
        try files.removeAll(db, of: request, at: clock())
        guard let made = try table.find(db, request) else { return }
        notifyWatchers(db, of: made.organisation)
    }

    /// Once what is being written is committed.
    func notifyWatchers(_ db: Database, of organisation: OrganisationID) {
        db.afterCommit { [watchers] in watchers.notify(organisation) }
    }
}
