// The link between the two dispatchers as parts of the service.

import Bus
import Contracts
import ServiceKit
import Storage

struct PairModule: Sendable {
    let role: PairRole
    let tables: PairTables
    /// Of what this dispatcher says to the suite and to the other one, by stream.
    let relays: [String: EventRelay]
    private let epoch: String

    init(_ database: Store, keys: PersonKeys, on runtime: Runtime) async throws {
        role = PairRole(runtime.peer)
        tables = PairTables(role: role, keys: keys, own: try runtime.key("pair"))
        let (epoch, heads) = try await database.read { db in (try StreamLog().epoch(db), try StreamLog().heads(db)) }
        var relays: [String: EventRelay] = [:]
        for family in PairModule.families(of: role) {
            let own = Dictionary(uniqueKeysWithValues: family.streams.map { ($0, heads[$0] ?? 0) })
            let relay = EventRelay(publisher: try await runtime.publisher(of: family, epoch: epoch, heads: own), heads: own)
            for stream in family.streams { relays[stream] = relay }
        }
        (self.relays, self.epoch) = (relays, epoch)
    }

    /// What this dispatcher says: of two, one alone tells the suite what happens.
    var families: [StreamFamily] { PairModule.families(of: role) }

    private static func families(of role: PairRole) -> [StreamFamily] {
        (role.speaks ? [.emergencies, .subscriptions] : []) + [role.family]
    }

    /// - Parameter journal: stores what is told.
    func state(_ settings: Settings, _ journal: Journal) -> PairState {
        PairState(
            role, lead: settings.lead, retry: settings.retry,
            say: { fact in
                var batch = StoreBatch()
                batch.told = [fact]
                journal.note(batch)
                journal.hurry()
            },
            sayAtOnce: { [role, epoch, relay = relays[role.stream]] fact in
                let header = StreamHeader(
                    stream: role.stream, epoch: epoch, sequence: 0, head: 0, type: PairFact.provisionalType,
                    subject: fact.subject.map { "\($0)" } ?? "", at: .now, trace: "")
                relay?.provisional(EventRelay.Committed(header: header) { try fact.encoded() })
            })
    }

    /// - Parameters:
    ///   - participants: what of other subjects is kept in step, by the kind of its notes.
    ///   - synthetic: whom nobody is told of.
    ///   - otherIsGone: told once it is stored that the operator says so.
    func source(
        _ database: Store, _ store: SOSStore, _ clock: SteadyClock, synthetic: SyntheticPeople,
        participants: [String: PairState.Participant], otherIsGone: @escaping @Sendable () -> Void
    ) -> StreamSource {
        let dispatches = store.streams.dispatches
        return StreamSource(
            families: families, store: database, further: dispatches.holds,
            forgetting: { [role] db, consumer in
                guard consumer == role.other.peer else { return }
                try PairTables.knowsAgain(db)
                db.afterCommit(otherIsGone)
            },
            render: { [role, tables] db, row in
                if row.stream == role.stream { return try tables.render(row) }
                return dispatches.holds(row.stream) ? try DispatchStreamStore.payload(db, row, store) : row.body
            },
            snapshot: { [role] request in
                guard request.stream == role.stream else { return try await store.snapshot(request) }
                return try await store.snapshot(request, participants: participants, steady: clock.now, except: synthetic)
            })
    }
}
