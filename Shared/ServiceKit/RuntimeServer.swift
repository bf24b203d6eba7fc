// The door of a service on what every service stands on.

import Contracts
package import HTTPKit
package import Storage

extension Runtime {
    /// An HTTP server as the suite's settings have it: its address, its limits, its event streams that end with their sessions, and a
    /// readiness that looks at the store.
    /// - Parameters:
    ///   - webhooks: see `HTTPServer`, as for `authenticate` and `recognise`.
    ///   - store: not ready while it refuses writes for want of room.
    ///   - tokens: what is known of sessions, for event streams.
    ///   - missing: see `Health`, as for `remarks`.
    ///   - isEnded: what only this service knows of those who listen, beside their sessions: a device that was removed.
    package func server(
        _ description: HTTPServer.Description, routes: [Route], webhooks: [WebhookDescription] = [], store: Store, tokens: TokenChecker,
        missing: @escaping @Sendable () async -> [String] = { [] }, remarks: @escaping @Sendable () async -> [String] = { [] },
        authenticate: @escaping Authenticate, recognise: Recognise? = nil,
        isEnded: @escaping @Sendable (Caller) -> Bool = { _ in false }
    ) -> HTTPServer {
        HTTPServer(
            description, routes: routes, webhooks: webhooks, host: settings.httpHost, port: settings.httpPort, limits: settings.httpLimits,
            publicOrigin: settings.publicOrigin,
            health: Health(
                missing: { await missing() + (await store.hasRoom() ? [] : ["room on the disk: the store refuses writes"]) },
                remarks: { [faults] in faults.remarks + (await remarks()) }, metrics: metrics),
            authenticate: authenticate, recognise: recognise,
            standing: { caller, provedAt in tokens.stands(caller, since: provedAt) && !isEnded(caller) }, logger: logger)
    }
}
