// The doors of the gateway over HTTP, of all subjects together.

import HTTPKit

struct GatewayRoutes: Sendable {
    var all: [Route] {
        []
    }
}
