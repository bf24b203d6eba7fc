// What closing an organisation asks of the other subjects of the gateway.

import Contracts
import GRDB

/// What closing an organisation asks of the other subjects, inside its transaction (ORG-16).
struct ClosingEffects: Sendable {
    /// What stays due.
    var debts: @Sendable (Database, OrganisationID) throws -> [Amount] = { _, _ in [] }
    /// How many of its requests are PENDING, and how many APPROVED.
    var openRequests: @Sendable (Database, OrganisationID) throws -> (pending: Int, approved: Int) = { _, _ in (0, 0) }
    /// Called in the transaction that closes it: nothing more is delivered.
    var closed: [@Sendable (Database, OrganisationID) throws -> Void] = []
}
