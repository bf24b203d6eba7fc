// SQL sentences of the follower of `notify.deliveries`: mails that never arrived are noted beside their account.

import Contracts
import Foundation
import GRDB
import ServiceKit
import Storage

/// `MessageSettled` facts as accounts need them (ACC-07).
struct AccountDeliveryStore: Sendable {
    let mail: AccountMailStore

    /// One fact, in the transaction of its position.
    func apply(_ db: Database, _ event: StreamEvent) throws {
        guard event.header.type == MessageSettled.type else { return }
        try mail.settled(db, CheckedJSON.decode(MessageSettled.self, from: event.payload, of: .suite), at: event.header.at)
    }

    func follower(on runtime: Runtime, store: Store) -> Follower {
        Follower(family: .deliveries, on: runtime, store: store, apply: { try apply($0, $1) })
    }
}
