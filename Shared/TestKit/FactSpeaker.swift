// A peer of the service under test that only publishes: it puts facts on the bus as their owner does.

package import Bus
package import Contracts
package import Foundation
package import ServiceKit
package import Storage
import Synchronization

extension Migration {
    /// A store that holds streams and nothing else.
    package static let streams = Migration(1, "streams") { db in
        try StreamLog.create(in: db)
        try Confirmations.create(in: db)
    }
}

/// Says one family of streams as its owner does: a log of its own, replay, snapshots of grants, heartbeats.
package final class FactSpeaker: Sendable {
    private let runtime: Runtime
    private let store: Store
    private let stream: FactStream
    private let relay: EventRelay
    private let grants = GrantStates()

    /// What every grant is now.
    private final class GrantStates: Sendable {
        private let states = Mutex<[GrantID: GrantState]>([:])

        var active: [GrantState] { states.withLock { $0.values.filter(\.active) } }

        func note(_ state: GrantState) {
            states.withLock { $0[state.grant] = state }
        }
    }

    /// - Parameter methods: what it answers besides.
    package init(_ family: StreamFamily, _ runtime: Runtime, _ folder: URL, methods: Methods = Methods()) async throws {
        self.runtime = runtime
        let store = try Store.open(
            folder.appendingPathComponent("\(family.name).db"), applicationID: 3, migrations: [.streams], logger: runtime.logger)
        let (relay, epoch) = try await runtime.relay(of: family, in: store)
        let stream = FactStream(stream: family.streams[0], epoch: epoch, relay: relay)
        (self.store, self.stream, self.relay) = (store, stream, relay)
        var methods = methods
        StreamSource(families: [family], store: store, render: { _, row in row.body }) { [grants] _ in
            try await store.read { db in
                try stream.snapshot(db, type: GrantState.type, facts: grants.active.map { ($0.person, $0) }, next: nil)
            }
        }.register(in: &methods)
        try await runtime.answer(methods)
    }

    package func say(_ body: some Encodable & Sendable, type: String, of person: PersonID?) async throws {
        if let state = body as? GrantState { grants.note(state) }
        try await store.write { [stream] db in try stream.publish(db, type: type, subject: person, body: body, at: .now) }
    }

    /// In the log for no moment that anybody could ask in, and never on the wire.
    package func sayIntoTheVoid(_ body: some Encodable & Sendable, type: String, of person: PersonID) async throws {
        try await store.write { [stream, relay] db in
            let fact = try stream.log.append(db, type: type, subject: person, body: body, at: .now)
            _ = try StreamLog().release(db, stream.stream, before: .now + .seconds(1), confirmedBy: [])
            relay.publish(.init(header: fact.header) { throw Unheard() }, afterCommitOf: db)
        }
    }

    private struct Unheard: Error {}

    /// As a crash: nothing is heard of it any more.
    package func close() async {
        await runtime.bus.shutdown()
        await store.close()
    }
}
