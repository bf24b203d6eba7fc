// What all requests of one server share.

import Contracts
import Synchronization

/// Limits and what is counted against them.
final class ServerState: Sendable {
    let limits: HTTPLimits
    let load = ServerLoad()
    let budget: CallerBudget
    let streams: OpenStreams
    let publicOrigin: String?
    /// Nil where there is no edge: then no caller's word on addresses counts.
    let edge: EdgeSecret?
    /// By address: tokens and secrets that were wrong.
    private let wrongCredentials: RateLimiter<String>

    init(
        _ limits: HTTPLimits, publicOrigin: String?, edge: EdgeSecret?, standing: @escaping SessionStanding = { _, _ in true }
    ) {
        (self.limits, self.publicOrigin, self.edge) = (limits, publicOrigin, edge)
        budget = CallerBudget(limits)
        streams = OpenStreams(limits, standing: standing)
        wrongCredentials = RateLimiter(rate: limits.refusalsRefilled, burst: Double(limits.refusalsPerAddress))
    }

    /// Counts a wrong token or secret of an address. Right ones always pass: none can be guessed (256 bits of chance, or a signature), so
    /// whoever shares an address with an attacker is not locked out with them.
    /// - Throws: 429 where the address has used up what it may guess.
    func countWrongCredentials(of address: String) throws(Refusal) {
        try wrongCredentials.admit(address)
    }

    /// Runs until it is cancelled: one task for all connections and streams, none of which has a timer of its own.
    func sweep(_ connections: OpenConnections) async {
        var forgetAt = ContinuousClock.now
        while !Task.isCancelled {
            streams.sweep()
            connections.relieve()
            if forgetAt < .now {
                budget.forget()
                forgetAt = .now + .seconds(30)
            }
            // The interval of the sweep.
            try? await Task.sleep(for: limits.sweepInterval)
        }
    }
}

extension Exchange {
    /// For secrets that a handler checks by itself: call it before refusing a wrong one.
    /// - Throws: 429 `too-many-requests` where the caller's address has shown too many wrong ones.
    package func countWrongCredentials() throws(Refusal) {
        try server.countWrongCredentials(of: remoteAddress)
    }
}
