// One erasure as consent follows it: who has confirmed, who has not, and when somebody must be told.

import Contracts

struct ErasureCase: Hashable, Sendable {
    /// Our own promise; `acc.erase_hours` is what is promised to people.
    static let ours = Duration.seconds(3600)
    /// While it is overdue, operators are told again so often.
    static let reminding = Duration.seconds(6 * 3600)

    let erasure: ErasureID
    let scope: ErasureScope
    let orderedAt: Timestamp
    /// What each service says it has erased.
    var confirmed: [Peer: [ErasedStore]]
    var completedAt: Timestamp?
    var remindedAt: Timestamp?

    /// Every service that may hold something of a person.
    static let services: [Peer] = [.consent, .ingest, .sosDispatcher, .notifier, .thirdPartyGateway, .anonymiser]

    /// The services that have not confirmed, in the order of the suite.
    var waitingFor: [Peer] {
        Self.services.filter { confirmed[$0] == nil }
    }

    var isConfirmedByAll: Bool { waitingFor.isEmpty }

    func isOverdue(at now: Timestamp) -> Bool {
        completedAt == nil && now - orderedAt > Self.ours
    }

    func isReminderDue(at now: Timestamp) -> Bool {
        isOverdue(at: now) && remindedAt.map { now - $0 >= Self.reminding } ?? true
    }
}

/// What proves an erasure: it names every store and nobody's person. Its JSON is the payload of a signed document.
struct ErasureCertificate: Hashable, Codable, Sendable {
    struct Service: Hashable, Codable, Sendable {
        var service: String
        var stores: [Store]
    }

    struct Store: Hashable, Codable, Sendable {
        var store: String
        /// Rows deleted, keys destroyed, or copies made anew.
        var removed: Int
        var at: String
        /// What had to stay, and why.
        var kept: String?
    }

    var erasure: ErasureID
    var scope: ErasureScope
    var orderedAt: String
    var completedAt: String
    var services: [Service]

    /// Nil until every service has confirmed.
    init?(_ erased: ErasureCase) {
        guard let completedAt = erased.completedAt, erased.isConfirmedByAll else { return nil }
        (erasure, scope) = (erased.erasure, erased.scope)
        (orderedAt, self.completedAt) = (erased.orderedAt.rfc3339, completedAt.rfc3339)
        services = ErasureCase.services.map { peer in
            Service(
                service: peer.name,
                stores: (erased.confirmed[peer] ?? []).map {
                    Store(store: $0.store, removed: $0.removed, at: $0.at.rfc3339, kept: $0.kept)
                })
        }
    }

    /// For a mail.
    var text: String {
        let lines = services.flatMap { service in
            service.stores.map { "\($0.store): \($0.removed), \($0.at)" + ($0.kept.map { " (\($0))" } ?? "") }
        }
        return (["\(erasure), \(scope.rawValue), \(orderedAt) – \(completedAt)"] + lines).joined(separator: "\n")
    }
}
