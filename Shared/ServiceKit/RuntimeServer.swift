// The door of a service on what every service stands on.

import Contracts
import Foundation
package import HTTPKit
import Logging
import Sealing
package import Storage

extension Runtime {
    /// An HTTP server as the suite's settings have it: its address, its limits, its event streams that end with their sessions, and a
    /// readiness that looks at the store.
    /// - Parameters:
    ///   - webhooks: see `HTTPServer`, as for `authenticate` and `recognise`.
    ///   - store: not ready while its disk has no room, whether or not somebody has tried to write.
    ///   - tokens: what is known of sessions, for event streams; nil where nobody logs in.
    ///   - missing: see `Health`, as for `remarks`.
    ///   - isEnded: what only this service knows of those who listen, beside their sessions: a device that was removed.
    package func server(
        _ description: HTTPServer.Description, routes: [Route], webhooks: [WebhookDescription] = [], store: Store, tokens: TokenChecker?,
        missing: @escaping @Sendable () async -> [String] = { [] }, remarks: @escaping @Sendable () async -> [String] = { [] },
        authenticate: @escaping Authenticate, recognise: Recognise? = nil,
        isEnded: @escaping @Sendable (Caller) -> Bool = { _ in false }
    ) -> HTTPServer {
        HTTPServer(
            description, routes: routes, webhooks: webhooks, host: settings.httpHost, port: settings.httpPort, limits: settings.httpLimits,
            // Nobody comes through the edge where nothing is served.
            publicOrigin: settings.publicOrigin, edge: routes.isEmpty ? nil : edge,
            health: Health(
                missing: { await missing() + (await store.hasRoom() ? [] : ["room on the disk for the store"]) },
                remarks: { [self] in faults.remarks + keyRemarks + (await remarks()) }, metrics: metrics),
            authenticate: authenticate, recognise: recognise ?? Self.recognition(tokens),
            standing: { caller, provedAt in tokens?.stands(caller, since: provedAt) != false && !isEnded(caller) }, logger: logger)
    }

    /// Of those who were proved lately.
    private static func recognition(_ tokens: TokenChecker?) -> Recognise? {
        guard let tokens else { return nil }
        return { credentials, access in try tokens.known(credentials, access: access) }
    }

    /// No reason not to start: without it only the counting by address is coarser, since all that comes through the edge counts as one.
    private var edge: EdgeSecret? {
        guard FileManager.default.fileExists(atPath: keys.edgeSecretFile.path) else {
            logger.warning("no secret of an edge: callers count under the address of their connection")
            return nil
        }
        do {
            return EdgeSecret(Hex.encode(try keys.key(in: keys.edgeSecretFile)))
        } catch {
            faults.note("\(error); until then all that comes through the edge counts as one address")
            return nil
        }
    }
}
