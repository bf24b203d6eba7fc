// What other subjects of the gateway do when something becomes of a request, inside the transaction that learns of it.

import Contracts
import GRDB

/// Wired in the assembly; each closure runs in the caller's transaction, so that neither is there without the other.
struct RequestEffects: Sendable {
    /// Before anybody is asked: whether this scope may be asked for so many people at the price that was shown. Throws a `Problem`.
    var opening: @Sendable (Database, OrganisationID, RequestScope, _ persons: Int, _ priceListVersion: Int?) throws -> Void = {
        _, _, _, _, _ in
    }
    /// Consent has put it before the person: the price is fixed, and whether it can be paid is looked at (PAY-02).
    var opened: @Sendable (Database, MadeRequest, _ persons: Int, _ priceListVersion: Int?) throws -> Void = { _, _, _, _ in }
    /// The person has accepted: what is due becomes due. Gives the amount in words for the mail (`12.00 EUR`).
    var approved: @Sendable (Database, MadeRequest, GrantID) throws -> String = { _, _, _ in "0.00 EUR" }
    /// Single types were withdrawn; `types` is what is left.
    var narrowed: @Sendable (Database, MadeRequest) throws -> Void = { _, _ in }
    /// Over, whatever it was before: declined, expired, revoked or ended.
    var closed: @Sendable (Database, MadeRequest) throws -> Void = { _, _ in }
    /// The first value has left. Called once or more often.
    var delivered: @Sendable (Database, RequestID) throws -> Void = { _, _ in }
    /// Everything was read and there was nothing.
    var undeliverable: @Sendable (Database, RequestID) throws -> Void = { _, _ in }
    /// Whether nothing is due for it (INV-20).
    var isPaid: @Sendable (Database, RequestID) throws -> Bool
    /// To the organisation's corporate address.
    var mail: @Sendable (Database, OrganisationID, MessageTemplate, [String: String]) throws -> Void
}

/// A list that may have been sent before under the same `Idempotency-Key`; both run inside the transaction that keeps it.
struct RepeatedSending: Sendable {
    /// The list as it was kept the first time; nil where it was not.
    var first: @Sendable (Database) throws -> JobID? = { _ in nil }
    var remember: @Sendable (Database, JobID) throws -> Void = { _, _ in }
}
