// Publishing what a transaction appends to any stream of this dispatcher.

import Contracts
import GRDB
import ServiceKit

struct StreamEffects: Sendable {
    /// Of the suite's streams and the other dispatcher's, by stream.
    let relays: [String: EventRelay]
    let dispatches: DispatchStreams

    /// As `EventRelay.publish`, through the stream's own relay; nothing where this dispatcher leaves the stream to the other one.
    func publish(_ fact: EventRelay.Committed, afterCommitOf db: Database) {
        let relay = dispatches.relay(of: fact.header.stream) ?? relays[fact.header.stream]
        relay?.publish(fact, afterCommitOf: db)
    }
}
