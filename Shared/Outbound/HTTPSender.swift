// HTTP and HTTPS to the outside, for callers that await: the face of the transfer loop.

package import Logging

/// Bounds and trust of one sender, the same for all its requests.
package struct OutboundSettings: Sendable {
    /// Holds for all requests of a sender, so that a warm connection is never one that another request must not use.
    package var policy = AddressPolicy.publicOnly
    /// PEM file of the authorities that are trusted instead of the system's.
    package var authorities: String?
    /// Transfers at once; further ones wait.
    package var parallel = 500
    /// Requests waiting for a place; one more is `queueFull`.
    package var waiting = 10_000
    /// Idle connections that are kept warm.
    package var warmConnections = 500
    package var userAgent = "TrackMe"

    package init() {}
}

/// Sends requests over connections that stay warm, on one thread of its own. Verifies certificates, follows no redirects, uses no
/// proxy and speaks HTTP/1.1. Transfers that are cancelled are aborted.
package final class HTTPSender: Sendable {
    /// Answers a request in place of the network.
    package typealias Played = @Sendable (OutboundRequest) async -> Result<OutboundResponse, OutboundError>

    private enum Way {
        case network(TransferLoop)
        case played(Played)
    }

    private let way: Way

    /// Starts the thread, which ends with `shutdown` or the last reference.
    package init(_ settings: OutboundSettings = OutboundSettings(), logger: Logger) {
        way = .network(TransferLoop(settings, logger: logger))
    }

    /// For the simulation of `Tests/Simulation`: has no thread, and nothing leaves this process.
    package init(playing played: @escaping Played) {
        way = .played(played)
    }

    deinit {
        shutdown()
    }

    /// Throws only where no answer came: every status is one. Cancelling the task aborts the transfer.
    package func send(_ request: OutboundRequest) async throws(OutboundError) -> OutboundResponse {
        try await attempt(request).outcome.get()
    }

    /// What came of a request, for callers to whom it matters whether the other side may have acted on it.
    package struct Attempt: Sendable {
        package let outcome: Result<OutboundResponse, OutboundError>
        /// False: nothing of the request left this machine. True with a failure: nobody knows what became of it.
        package let wasHandedOver: Bool
    }

    /// As `send`; says besides whether the other side may have got the request.
    package func attempt(_ request: OutboundRequest) async -> Attempt {
        guard request.isWellFormed else { return Attempt(outcome: .failure(.malformed), wasHandedOver: false) }
        switch way {
        case .played(let played): return Attempt(outcome: await played(request), wasHandedOver: true)
        case .network(let loop):
            let transfer = Transfer(.request(request))
            let outcome = await loop.carry(transfer)
            return Attempt(outcome: outcome, wasHandedOver: transfer.wasHandedOver)
        }
    }

    /// Ends all transfers as cancelled and the thread, and returns before that is done. Later requests are `cancelled`.
    package func shutdown() {
        if case .network(let loop) = way { loop.stop() }
    }
}
