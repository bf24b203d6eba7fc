// The integrators' own streams: one family for each, opened when it is registered, heard by its peer alone.

import Bus
import Contracts
import Logging
import ServiceKit
import Storage
import Synchronization

final class DispatchStreams: Sendable {
    private let runtime: Runtime
    private let store: Store
    private let relays = Mutex<[String: EventRelay]>([:])

    init(_ runtime: Runtime, _ store: Store) {
        (self.runtime, self.store) = (runtime, store)
    }

    /// Publishes the integrator's stream from where its log stands; nothing where it is published already.
    func open(_ integrator: Integrator) async throws {
        // Of two dispatchers the first speaks to integrators' peers.
        guard PairRole(runtime.peer).speaks, let stream = integrator.stream, let port = integrator.streamPort, !holds(stream)
        else { return }
        let family = StreamFamily.dispatches(to: integrator.id, tcpPort: port)
        let relay = try await runtime.relay(of: family, in: store).relay
        relays.withLock { $0[stream] = $0[stream] ?? relay }
    }

    /// Whether it is one of these streams.
    func holds(_ stream: String) -> Bool {
        relay(of: stream) != nil
    }

    /// nil for another stream of the service.
    func relay(of stream: String) -> EventRelay? {
        relays.withLock { $0[stream] }
    }

    /// Lets the logs forget what is old and what the integrator's peer has confirmed; runs until it is cancelled, once a minute.
    func forget(_ registry: IntegratorRegistry) async throws {
        while true {
            for integrator in registry.all {
                guard let stream = integrator.stream, let peer = integrator.settings.peer else { continue }
                let before = Timestamp.now - runtime.settings.logRetention
                _ = try await store.write { db in
                    try StreamLog().release(db, stream, before: before, confirmedBy: integrator.isRetired ? [] : [Peer(peer)])
                }
            }
            // Once a minute, as the other logs.
            try await Task.sleep(for: .seconds(60))
        }
    }
}
