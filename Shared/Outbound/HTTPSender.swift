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
    private let loop: TransferLoop

    package init(_ settings: OutboundSettings = OutboundSettings(), logger: Logger) {
        loop = TransferLoop(settings, logger: logger)
    }

    deinit {
        loop.stop()
    }

    package func send(_ request: OutboundRequest) async throws(OutboundError) -> OutboundResponse {
        guard request.isWellFormed else { throw .malformed }
        let transfer = Transfer(request)
        let outcome = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                transfer.begin(continuation)
                loop.submit(transfer)
            }
        } onCancel: {
            loop.cancel(transfer)
        }
        return try outcome.get()
    }

    /// Ends all transfers as cancelled and the thread. Later requests are `cancelled`.
    package func shutdown() {
        loop.stop()
    }
}
