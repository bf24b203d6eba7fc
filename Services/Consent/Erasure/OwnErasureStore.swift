// Consent's own part in an erasure: the account with everything that refers to it. Data alone take nothing from here.

import Contracts
import GRDB
import ServiceKit
import Storage

struct OwnErasureStore: Sendable {
    let sharing: SharingClosingStore
    let further: [FurtherStore]
    private let accounts = AccountStore()

    init(sharing: SharingClosingStore, further: [FurtherStore]) {
        (self.sharing, self.further) = (sharing, further)
    }

    var steps: ErasureSteps {
        ErasureSteps(
            destroysKey: { $0.scope == .account }, delete: { db, order in try erase(db, order.person, scope: order.scope) },
            streams: { order in
                guard order.scope == .account else { return [] }
                return StreamFamily.people.streams + StreamFamily.emergencyCards.streams + StreamFamily.cohortProfiles.streams
                    + StreamFamily.grants.streams + StreamFamily.requests.streams + [StreamFamily.sessionsStream]
            }, kept: "first answers to repeated requests, sealed, gone within 24 hours", further: further)
    }

    /// Frees e-mail, user name and fiscal code (ACC-31); what refers to the account goes with its row.
    private func erase(_ db: Database, _ person: PersonID, scope: ErasureScope) throws -> Int {
        guard scope == .account else { return 0 }
        let shared = try sharing.erase(db, person, scope: scope)
        guard shared == 0 else { return shared }
        var count = try JobTable().forget(db, person)
        count += try EmergencySubscriberStore().forget(db, person)
        count += try CohortSharerStore().forget(db, person)
        guard let account = try accounts.find(db, person: person) else { return count }
        try accounts.delete(db, account.number)
        return count + 1
    }
}
