// What subscriptions need of the other subjects of the gateway, inside shared transactions.

import Contracts
import GRDB

struct SubscriptionEffects: Sendable {
    var scope: SubscriptionRepository.Scope
    var isReleased: SubscriptionRepository.IsReleased
    var admit: Admit
    /// Whether data may go to the organisation now.
    var mayAct: @Sendable (Database, OrganisationID) throws -> Bool
    /// To the organisation's corporate address.
    var mail: WebhookDeliveryStore.Mail
    /// The first item of a request is there.
    var delivered: @Sendable (Database, RequestID) throws -> Void = { _, _ in }
}
