// Sends test emergencies to integrators on the real way: asked for by an operator, or by itself as often as one has said.

import Bus
import Contracts
import ServiceKit
import Storage

/// A drill opens no emergency, tells nobody but the integrator, and counts in no figure of real ones.
struct DrillService: Sendable {
    /// Under whose key drills are sealed: nobody's.
    static let nobody = PersonID(bits: 0)
    static let listLimit = 1...1000
    /// How often is looked whether one is due.
    private static let look = Duration.seconds(10)

    let store: Store
    let table = DrillStore()
    let keys: PersonKeys
    let journal: Journal
    let dispatcher: Dispatcher
    let registry: IntegratorRegistry
    let letterhead: DispatchLetterhead
    let names: Names
    let clock: SteadyClock
    let answers: StoredAnswers

    func register(in methods: inout Methods) {
        methods.on(RunDrill.self) { request, context in
            guard let integrator = registry.all.first(where: { $0.name == request.integrator && !$0.isRetired }) else {
                throw Failure(.notFound, "there is no integrator \(request.integrator)")
            }
            return RunDrill.Reply(emergency: try await run(integrator, request.kind, context))
        }
        methods.on(ReadDrills.self) { request, _ in
            guard DrillService.listLimit.contains(request.limit) else { throw Failure(.invalid, "limit is from 1 to 1000") }
            let name = request.integrator.map { asked in registry.all.first { $0.name == asked }?.id ?? asked }
            var drills = try await store.read { [table] in try table.list($0, of: name, limit: request.limit) }
            // By the names that operators use, as everywhere.
            for index in drills.indices {
                drills[index].integrator = registry.integrator(drills[index].integrator)?.name ?? drills[index].integrator
            }
            return ReadDrills.Reply(drills: drills)
        }
    }

    /// Sends those that are due; runs until it is cancelled.
    func keepSchedule() async throws {
        while true {
            try await Task.sleep(for: DrillService.look)
            let latest = try await store.read { [table] in try table.latest($0) }
            for integrator in registry.all {
                guard !integrator.isRetired, let hours = integrator.settings.drillEveryHours else { continue }
                let due = latest[integrator.id].map { $0 + .seconds(hours * 3600) } ?? .now
                if due <= .now { _ = try? await run(integrator, .test, nil) }
            }
        }
    }

    private func run(_ integrator: Integrator, _ kind: RunDrill.Kind, _ context: RequestContext?) async throws -> EmergencyID {
        _ = try await keys.makeKey(for: DrillService.nobody)
        let (emergency, now) = (EmergencyID.random(), Timestamp.now)
        let id = MessageID(emergency: emergency, sequence: 0)
        let status: DispatchMessage.Status = kind == .test ? .test : .exercise
        let body = try DispatchMessage(drill: id, status: status, under: letterhead, at: now, code: names.code(of: id)).encoded()
        try await store.write { [table, answers] db in
            try table.add(db, emergency, to: integrator.id, kind, at: now)
            if let context { try answers.remember(RunDrill.Reply(emergency: emergency), to: context, in: db) }
        }
        let message = OutboxMessage(id: id, kind: .alert, body: body, createdAt: clock.now)
        var batch = StoreBatch()
        batch.messages[id] = (DrillService.nobody, message)
        batch.audit = [
            AuditNote(
                at: now, actor: context == nil ? "dispatcher" : "operator", action: "drill-started", object: "\(emergency)",
                detail: "\(kind.rawValue) with \(integrator.name)")
        ]
        journal.note(batch)
        try await journal.commit()
        await dispatcher.send(message, of: DrillService.nobody, drill: integrator.id)
        return emergency
    }
}
