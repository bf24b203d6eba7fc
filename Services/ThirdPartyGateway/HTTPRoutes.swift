// The doors of the gateway over HTTP, of all subjects together.

import HTTPKit

struct GatewayRoutes: Sendable {
    let organisations: OrganisationModule
    let requests: RequestModule
    let groups: GroupModule
    let payments: PaymentModule
    let subscriptions: SubscriptionModule

    /// Those of organisations within their limits.
    var all: [Route] {
        organisations.allowance.limiting(
            organisations.routes + requests.routes + groups.routes + payments.routes + subscriptions.routes)
    }
}
