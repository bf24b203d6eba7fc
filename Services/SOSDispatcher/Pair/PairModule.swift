// The link between the two dispatchers as parts of the service.

import Bus
import Contracts
import ServiceKit
import Storage

struct PairModule: Sendable {
    let role: PairRole
    let tables: PairTables
    let state: PairState

    init(_ settings: Settings, keys: PersonKeys, on runtime: Runtime) throws {
        role = PairRole(runtime.peer)
        tables = PairTables(role: role, keys: keys, own: try runtime.key("pair"))
        state = PairState(role, lead: settings.lead, retry: settings.retry)
    }

    /// What this dispatcher says: of two, one alone tells the suite what happens.
    var families: [StreamFamily] { (role.speaks ? [.emergencies, .subscriptions] : []) + [role.family] }

    /// By stream.
    func relays(_ database: Store, on runtime: Runtime) async throws -> [String: EventRelay] {
        let (epoch, heads) = try await database.read { db in (try StreamLog().epoch(db), try StreamLog().heads(db)) }
        var relays: [String: EventRelay] = [:]
        for family in families {
            let own = Dictionary(uniqueKeysWithValues: family.streams.map { ($0, heads[$0] ?? 0) })
            let relay = EventRelay(publisher: try await runtime.publisher(of: family, epoch: epoch, heads: own), heads: own)
            for stream in family.streams { relays[stream] = relay }
        }
        guard let relay = relays[role.stream] else { return relays }
        state.speakAtOnce { [role] fact in
            let header = StreamHeader(
                stream: role.stream, epoch: epoch, sequence: 0, head: 0, type: PairFact.provisionalType,
                subject: fact.subject.map { "\($0)" } ?? "", at: .now, trace: "")
            relay.provisional(EventRelay.Committed(header: header) { try fact.encoded() })
        }
        return relays
    }

    func source(_ database: Store, _ store: SOSStore, _ clock: SteadyClock) -> StreamSource {
        let dispatches = store.streams.dispatches
        return StreamSource(
            families: families, store: database, further: dispatches.holds,
            render: { [role, tables] db, row in
                if row.stream == role.stream { return try tables.render(row) }
                return dispatches.holds(row.stream) ? try DispatchStreamStore.payload(db, row, store) : row.body
            },
            snapshot: { [state, role] request in
                guard request.stream == role.stream else { return try await store.snapshot(request) }
                return try await store.snapshot(request, participants: state.participants, steady: clock.now)
            })
    }
}
