// The door on the bus: questions in, one call, answers out.

import Bus
import Contracts
import ServiceKit

struct BusRoutes: Sendable {
    /// Most emergencies of one answer.
    static let listLimit = 1...1000

    let supervision: SupervisionService
    let store: SOSStore
    let history: EmergencyHistory
    let enrolment: Enrolment
    let answers: StoredAnswers
    let canary: Canary
    let role: PairRole
    let anchors: AuditAnchors

    func register(in methods: inout Methods) {
        methods.on(SubscribePerson.self, subscribe)
        methods.on(UnsubscribePerson.self) { request, context in
            try await supervision.unsubscribe(request.person) { _ in answers.remembering(Nothing(), to: context) }
            return Nothing()
        }
        methods.on(PauseSupervision.self) { request, context in
            let interval = try? await store.longestInterval(of: request.person)
            try await supervision.pause(request.person, request.paused, interval: interval) { _ in
                answers.remembering(Nothing(), to: context)
            }
            return Nothing()
        }
        methods.on(ReadSupervision.self) { request, _ in await supervision.status(of: request.person) }
        methods.on(AnswerPrompt.self) { request, context in
            try await supervision.answerPrompt(request.person, request.answer) { answers.remembering($0, to: context) }
        }
        methods.on(ListEmergencies.self, list)
        methods.on(ReadAvailability.self, availability)
        methods.on(ReadUnstored.self) { request, _ in await supervision.unstored(after: request.after) }
        methods.on(ReadTimeline.self) { request, _ in
            ReadTimeline.Reply(steps: try await history.steps(of: request.emergency))
        }
        methods.on(VerifyAudit.self) { request, _ in
            guard request.anchors?.count ?? 0 <= VerifyAudit.mostAnchors else { throw Failure(.invalid, "at most 10000 anchors") }
            return try await anchors.verify(request.anchors ?? [], except: supervision.names.synthetic)
        }
    }

    private func subscribe(_ request: SubscribePerson, _ context: RequestContext) async throws -> Nothing {
        guard request.clausesAccepted else {
            throw Failure(.invalid, "the clauses of AutomatedSOS must be accepted before supervision can start")
        }
        let own = try OwnBounds.checked(request.bounds)
        // Operators enrol people who have no account and no devices of their own to speak of: they answer for it themselves.
        if context.peer == .consent { try await enrolment.requireAbilities(of: request.person, own: own) }
        let isByPerson = context.peer == .consent
        try await enrolment.enrol(request.person, own: own, further: { _ in answers.remembering(Nothing(), to: context) }) { subscriber in
            if isByPerson { subscriber.clauses = AcceptedClauses(version: SubscriptionClauses.version, at: .now) }
            if let watchesFalls = request.watchesFalls {
                var chosen = subscriber.preferences ?? SupervisionPreferences()
                chosen.falls = watchesFalls
                subscriber.prefer(chosen)
            }
        }
        return Nothing()
    }

    private func availability(_ request: ReadAvailability, _ context: RequestContext) async throws -> ReadAvailability.Reply {
        guard ReadAvailability.hours.contains(request.hours) else { throw Failure(.invalid, "hours are from 1 to 2160") }
        let (counts, uncounted, since) = try await canary.counts(hours: request.hours)
        let last = await canary.last
        return ReadAvailability.Reply(
            dispatcher: role.peer, since: since, ok: counts.ok, late: counts.late, missed: counts.missed, lastAt: last?.at,
            last: last?.outcome.word, uncounted: uncounted, withoutDevice: try await supervision.withoutDevice())
    }

    private func list(_ request: ListEmergencies, _ context: RequestContext) async throws -> ListEmergencies.Reply {
        guard BusRoutes.listLimit.contains(request.limit) else { throw Failure(.invalid, "limit is from 1 to 1000") }
        let synthetic = supervision.names.synthetic
        let isTest = request.person.map(synthetic.contains) ?? false
        let records = try await isTest ? [] : history.newest(of: request.person, limit: request.limit, except: synthetic)
        return ListEmergencies.Reply(
            emergencies: records.map {
                ListEmergencies.Entry(
                    emergency: $0.id, person: $0.person, state: $0.state.rawValue, t0: $0.t0, dispatchedAt: $0.dispatchedAt,
                    acknowledgedAt: $0.acknowledgedAt, closedAt: $0.closedAt)
            })
    }
}
