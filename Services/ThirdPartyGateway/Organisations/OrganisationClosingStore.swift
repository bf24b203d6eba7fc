// What the closing of an organisation shows of the gateway's other subjects and ends there, in its own transaction (ORG-16).

import Contracts
import GRDB

struct OrganisationClosingStore: Sendable {
    let members: MemberStore
    let bills: BillStore
    let subscriptions: SubscriptionRepository
    let requests = RequestStore()

    func preview(_ db: Database, _ row: OrganisationRow) throws -> ClosingPreview {
        let open = try requests.openCounts(db, of: row.id)
        return ClosingPreview(
            businessName: row.details.businessName, pendingRequests: open.pending, approvedRequests: open.approved,
            members: try members.count(db, of: row.id), debts: try bills.outstanding(db, row.id))
    }

    /// Nothing more is asked or delivered. Consent ends its requests, which ends everything else; what is due stays due.
    func end(_ db: Database, _ organisation: OrganisationID) throws {
        try subscriptions.closed(db, organisation)
        try PendingRequestStore().abandon(db, of: organisation, detail: "the organisation is closed")
        try GroupRequestStore().deleteAll(db, of: organisation)
        try members.deleteAll(db, of: organisation)
        try ClientStore.deleteAll(db, of: organisation)
    }
}
