// What is said and asked when a person's data are to be gone (ACC-29, ACC-30).

/// How much is erased.
package enum ErasureScope: String, Codable, Sendable, CaseIterable {
    /// Everything collected; the account stays and may collect again.
    case data
    /// Everything, the account included.
    case account
}

/// Said by consent on `consent.erasures` of the family `consent.accounts`; the snapshot holds those that not every service has
/// confirmed. Each consumer of it makes the person's data unreadable at once, destroys keys and rows, and then confirms.
package struct PersonErased: Hashable, Codable, Sendable {
    package static let type = "person-erased.v1"

    /// What confirmations and the certificate name instead of the person.
    package var erasure: ErasureID
    package var person: PersonID
    package var scope: ErasureScope
    /// When the person confirmed. Data-only: what is recorded after a service has erased stays.
    package var orderedAt: Timestamp

    package init(erasure: ErasureID, person: PersonID, scope: ErasureScope, orderedAt: Timestamp) {
        (self.erasure, self.person, self.scope, self.orderedAt) = (erasure, person, scope, orderedAt)
    }
}

/// A service's word that nothing readable of the person is left in its files. Asking again is the same as once.
package struct ConfirmErasure: BusRequest {
    package static let method = "confirm-erasure"
    package static let owner = Peer.consent
    package static let clients: Set<Peer> = [.ingest, .sosDispatcher, .notifier, .thirdPartyGateway, .anonymiser]
    package static let mutates = true
    package typealias Reply = Nothing

    /// `not-found` for an order that was never given.
    package var erasure: ErasureID
    /// Every store that held something or could have; the certificate names each.
    package var stores: [ErasedStore]

    package init(erasure: ErasureID, stores: [ErasedStore]) {
        (self.erasure, self.stores) = (erasure, stores)
    }
}

/// One store in a certificate of erasure.
package struct ErasedStore: Hashable, Codable, Sendable {
    /// `ingest.db`, `ingest-keys.db`, `ingest-keys.db backups`, …
    package var store: String
    /// Keys destroyed or rows deleted.
    package var removed: Int
    /// When it was done, by the clock of the service that did it.
    package var at: Timestamp
    /// What had to stay, and why; absent where nothing did.
    package var kept: String?

    package init(store: String, removed: Int, at: Timestamp, kept: String? = nil) {
        (self.store, self.removed, self.at, self.kept) = (store, removed, at, kept)
    }
}
