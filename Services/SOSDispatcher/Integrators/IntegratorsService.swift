// Registers, changes and retires integrators as the operator says.

import Bus
import Contracts
import Sealing
import ServiceKit
import Storage

struct IntegratorsService: Sendable {
    let store: Store
    let table: IntegratorStore
    let maker: IntegratorMaker
    let registry: IntegratorRegistry
    let streams: DispatchStreams
    let answers: StoredAnswers
    let pair: PairState

    func add(_ request: AddIntegrator, _ context: RequestContext) async throws -> AddIntegrator.Reply {
        let settings = request.settings
        if let fault = IntegratorRules.fault(of: settings) { throw Failure(.invalid, fault) }
        guard settings.name != Integrator.configuredID, settings.name != registry.integrator(Integrator.configuredID)?.name else {
            throw Failure(.conflict, "this name belongs to the integrator of the settings (sos.integrator)")
        }
        if let peer = settings.peer, let other = registry.integrator(of: Peer(peer)), other.id != settings.name {
            throw Failure(.conflict, "the peer \(peer) is another integrator's")
        }
        let fresh = IntegratorRecord(settings)
        // Before anything is stored: an answer key that cannot be read is refused.
        do {
            _ = try maker.make(fresh)
        } catch {
            throw Failure(.invalid, "the answer key is whpk_ and 32 bytes in base64")
        }
        let publicKey = maker.signingKey.publicKey.webhookText
        let entry = try await store.write { [table, answers] db in
            let known = try table.find(db, settings.name)
            if let known, !known.isRetired, !request.replaces { throw Failure(.conflict, "\(settings.name) is registered already") }
            let count = try table.all(db).count
            guard known != nil || count < IntegratorRules.mostIntegrators else { throw Failure(.conflict, "there are 200 integrators") }
            // What was removed may have been stolen: its keys count again only where the operator asks for that.
            let kept = known.flatMap { !$0.isRetired || request.replaces ? $0.record : nil }
            var record = kept ?? fresh
            record.settings = settings
            let entry = try table.save(db, record, retired: false)
            let reply = AddIntegrator.Reply(webhookSecret: record.secrets[0], token: record.token, publicKey: publicKey)
            try answers.remember(reply, to: context, in: db)
            return entry
        }
        try await take(entry)
        return AddIntegrator.Reply(webhookSecret: entry.record.secrets[0], token: entry.record.token, publicKey: publicKey)
    }

    func list() -> ListIntegrators.Reply {
        let order = registry.order(for: nil)
        let ranked = registry.all.sorted {
            (order.firstIndex(of: $0.id) ?? .max, $0.id) < (order.firstIndex(of: $1.id) ?? .max, $1.id)
        }
        return ListIntegrators.Reply(
            integrators: ranked.map {
                ListIntegrators.Entry(
                    settings: $0.settings, isConfigured: $0.isConfigured, isRetired: $0.isRetired, streamPort: $0.streamPort)
            })
    }

    func remove(_ request: RemoveIntegrator, _ context: RequestContext) async throws -> Nothing {
        let entry = try await change(request.name, context) { entry in
            entry.isRetired = true
            return Nothing()
        }
        try await take(entry.0)
        return entry.1
    }

    func rotate(_ request: RotateIntegrator, _ context: RequestContext) async throws -> RotateIntegrator.Reply {
        let (entry, reply) = try await change(request.name, context) { entry in
            RotateIntegrator.Reply(value: entry.record.rotate(request.part))
        }
        try await take(entry)
        return reply
    }

    func schedule(_ request: ScheduleDrill, _ context: RequestContext) async throws -> Nothing {
        if let hours = request.everyHours, !IntegratorRules.drillHours.contains(hours) {
            throw Failure(.invalid, "drills come every 0.01 to 8760 hours")
        }
        let (entry, reply) = try await change(request.integrator, context) { entry in
            entry.record.settings.drillEveryHours = request.everyHours
            return Nothing()
        }
        try await take(entry)
        return reply
    }

    private func change<Reply: Encodable & Sendable>(
        _ name: String, _ context: RequestContext, _ body: @escaping @Sendable (inout IntegratorStore.Entry) -> Reply
    ) async throws -> (IntegratorStore.Entry, Reply) {
        guard name != registry.integrator(Integrator.configuredID)?.name else {
            throw Failure(.conflict, "this integrator is changed by the dispatcher's settings (sos.integrator, sos.webhook_url, …)")
        }
        return try await store.write { [table, answers] db in
            guard var entry = try table.find(db, name), !entry.isRetired else { throw Failure(.notFound, "there is no integrator \(name)") }
            let reply = body(&entry)
            entry = try table.save(db, entry.record, retired: entry.isRetired)
            try answers.remember(reply, to: context, in: db)
            return (entry, reply)
        }
    }

    private func take(_ entry: IntegratorStore.Entry) async throws {
        let integrator = try maker.make(entry.record, retired: entry.isRetired, streamPort: entry.streamPort)
        try await streams.open(integrator)
        registry.put(integrator)
        if let body = try? entry.noted() { pair.tell(.note(kind: Self.kind, subject: nil, body: body)) }
    }

    // MARK: The other dispatcher

    /// Of notes to the other dispatcher.
    static let kind = "integrators"

    /// Both dispatchers call the same emergency services, with the same secrets.
    var participant: PairState.Participant {
        PairState.Participant(
            snapshot: { [table] db in try table.all(db).map { try $0.noted() } },
            apply: { [table] db, body in
                let entry = try IntegratorStore.Entry(noted: body)
                _ = try table.save(db, entry.record, retired: entry.isRetired)
            },
            after: {
                for entry in (try? await store.read({ [table] db in try table.all(db) })) ?? [] {
                    guard let known = try? maker.make(entry.record, retired: entry.isRetired, streamPort: entry.streamPort) else {
                        continue
                    }
                    try? await streams.open(known)
                    registry.put(known)
                }
            })
    }
}
