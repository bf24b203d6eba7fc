// The notifier's part in erasing a person: what was to be sent to them, their inbox, and how they are reached.

import Contracts
import ServiceKit

struct NotifierErasure: Sendable {
    let store: MessageRepository

    /// Nothing that was collected is here: with the data alone everything stays.
    var steps: ErasureSteps {
        ErasureSteps(
            destroysKey: { $0.scope == .account },
            delete: { [store] db, order in order.scope == .account ? try store.forget(db, order.person) : 0 },
            streams: { $0.scope == .account ? StreamFamily.deliveries.streams : [] })
    }
}
