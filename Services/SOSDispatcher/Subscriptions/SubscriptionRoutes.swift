// The doors of the subscription: joining, looking, pausing, leaving, and what the person prefers (SOS-01 to SOS-04).

import Contracts
import HTTPKit
import ServiceKit

struct SubscriptionRoutes: Sendable {
    private static let bodyLimit = 1 << 16

    let service: SubscriptionService

    var all: [Route] { [read, join, leave, pause, resume, preferences, prefer] }

    private var read: Route {
        Route(
            .get, "/sos/v1/subscription", access: .person, summary: "Whether AutomatedSOS watches over the person",
            description: "With the clauses to be accepted, and what thresholds assume of one's health.",
            answers: [.json(200, "As it is now", SubscriptionAnswer.self)]
        ) { exchange in
            let person = try exchange.person
            return try .json(await answer(to: person, exchange, missing: await service.missing(of: person)))
        }
    }

    private var join: Route {
        Route(
            .put, "/sos/v1/subscription", as: "joinAutomatedSOS", access: .person, summary: "Joins AutomatedSOS",
            description: """
                Needs the clauses accepted, and paired devices that deliver at least one vital parameter in real time and positions. Who \
                has joined already changes what is given; what is watched less by it asks for a proof of the last five minutes, as in \
                PUT /sos/v1/thresholds and PUT /sos/v1/preferences.
                """,
            body: .json(SubscriptionRequest.self, limit: Self.bodyLimit, inflatedLimit: Self.bodyLimit),
            answers: [
                .json(200, "Supervision has started", SubscriptionAnswer.self), SubscriberDoor.mayAskForProof,
                .problem(409, "ability-missing"),
                .problem(422, "clauses-not-accepted", "invalid-bounds", "invalid-body"), .problem(503, "unavailable"),
            ]
        ) { exchange in
            let person = try exchange.person
            let request = try await exchange.json(SubscriptionRequest.self)
            guard request.acceptedClauses == SubscriptionClauses.version else {
                throw Problem.clausesNotAccepted(SubscriptionClauses.version, while: await service.watch(over: person))
            }
            let own = try request.bounds.map { bounds throws(Problem) in try OwnBounds.checked(bounds, under: "/bounds") }
            let preferences = try request.preferences.map { chosen throws(Problem) in
                try Self.checked(chosen, under: "/preferences", at: exchange.receivedAt)
            }
            let checked = ProtectionChanges.Request(own: own, preferences: preferences)
            let proof = await SubscriberDoor.freshProof(exchange)
            try await SubscriberDoor.answering { try await service.join(person, checked, at: exchange.receivedAt, proof) }
            return try .json(await answer(to: person, exchange, missing: []))
        }
    }

    private var leave: Route {
        Route(
            .delete, "/sos/v1/subscription", as: "leaveAutomatedSOS", access: .personAnew, summary: "Leaves AutomatedSOS",
            description: """
                Supervision ends at once; contacts, own thresholds and preferences are forgotten. An emergency that is running is \
                completed. The person is told by a message.
                """,
            parameters: [.query("confirm", .boolean, "Must be true.")],
            answers: [
                .json(200, "Nobody watches over the person any more", SubscriptionAnswer.self), .problem(409, "confirmation-required"),
            ]
        ) { exchange in
            let person = try exchange.person
            guard try exchange.queryFlag("confirm") == true else { throw Problem.confirmationRequired }
            try await SubscriberDoor.answering { try await service.leave(person) }
            return try .json(await answer(to: person, exchange, missing: nil))
        }
    }

    private var pause: Route {
        Route(
            .post, "/sos/v1/subscription/pause", as: "pauseSupervision", access: .personAnew, summary: "Pauses supervision",
            description: "No emergency is detected meanwhile; the person is told by a message and reminded of it.",
            answers: [
                .json(200, "Paused, with the warning", SubscriptionAnswer.self), .problem(409, "not-subscribed", "emergency-running"),
            ]
        ) { exchange in
            let person = try exchange.person
            try await SubscriberDoor.answering { try await service.pause(person, true) }
            return try .json(await answer(to: person, exchange, missing: nil))
        }
    }

    private var resume: Route {
        Route(
            .post, "/sos/v1/subscription/resume", as: "resumeSupervision", access: .person, summary: "Resumes supervision",
            answers: [.json(200, "Watched over again", SubscriptionAnswer.self), .problem(409, "not-subscribed")]
        ) { exchange in
            let person = try exchange.person
            try await SubscriberDoor.answering { try await service.pause(person, false) }
            return try .json(await answer(to: person, exchange, missing: nil))
        }
    }

    // MARK: Preferences

    private var preferences: Route {
        Route(
            .get, "/sos/v1/preferences", as: "getPreferences", access: .person, summary: "What the person has chosen beside thresholds",
            answers: [.json(200, "As they are", SupervisionPreferences.self), .problem(409, "not-subscribed")]
        ) { exchange in
            let person = try exchange.person
            guard let subscriber = await service.supervision.subscriber(of: person), subscriber.supervision.subscribed else {
                throw Problem.notSubscribed
            }
            return try .json(subscriber.preferences ?? SupervisionPreferences())
        }
    }

    private var prefer: Route {
        Route(
            .put, "/sos/v1/preferences", access: .person, summary: "Chooses them",
            description: """
                What switches off an alarm for falls or shaking, or its ambulance, or widens thresholds, asks for a proof of the last five \
                minutes, and the person is told by a message. A pause of falls for sport, or a longer one, asks for none and is told as \
                well, with its end. Of other medical notes the person is told by a message, once an hour.
                """,
            body: .json(SupervisionPreferences.self, limit: Self.bodyLimit, inflatedLimit: Self.bodyLimit),
            answers: [
                .json(200, "As they are now", SupervisionPreferences.self), SubscriberDoor.mayAskForProof, .problem(409, "not-subscribed"),
            ]
        ) { exchange in
            let person = try exchange.person
            let chosen = try Self.checked(try await exchange.json(SupervisionPreferences.self), under: "", at: exchange.receivedAt)
            let proof = await SubscriberDoor.freshProof(exchange)
            try await SubscriberDoor.answering { try await service.prefer(chosen, of: person, proof) }
            return try .json(chosen)
        }
    }

    /// Empty notes are none.
    /// - Parameter pointer: to where they stand in the body.
    /// - Throws: `invalid-body` where falls are paused for too long.
    private static func checked(
        _ chosen: SupervisionPreferences, under pointer: String, at now: Timestamp
    ) throws(Problem) -> SupervisionPreferences {
        if let until = chosen.fallsPausedUntil, until > now + SupervisionPreferences.longestFallPause {
            throw Problem.invalidBody([.init(pointer: pointer + "/fallsPausedUntil", .pauseTooLong)])
        }
        var tidied = chosen
        if chosen.medicalNotes?.allSatisfy(\.isWhitespace) ?? true { tidied.medicalNotes = nil }
        return tidied
    }

    // MARK: The answer

    private func answer(to person: PersonID, _ exchange: Exchange, missing: [NeededAbility]?) async -> SubscriptionAnswer {
        let subscriber = await service.supervision.subscriber(of: person)
        let state = subscriber?.supervision ?? Supervision.State()
        let language = exchange.language
        let isPaused = state.subscribed && state.stage == .paused
        let since = isPaused ? subscriber?.pausedSince : nil
        let next = since.map { since in
            since + service.reminder * (PauseReminders.number(since: since, at: exchange.receivedAt, service.reminder) + 1)
        }
        let hours = service.reminder.wholeMilliseconds / 3_600_000
        return SubscriptionAnswer(
            subscribed: state.subscribed, state: state.stage.rawValue, monitoringPaused: state.monitoringPaused ?? false,
            pausedSince: since?.rfc3339, nextReminder: next?.rfc3339,
            warning: isPaused ? SubscriptionClauses.pauseWarning(language, reminderHours: "\(hours)") : nil,
            emergencyRuns: Supervision(rules: service.supervision.rules, state: state).emergencyRuns,
            isProtected: state.subscribed && state.isProtected(by: service.supervision.rules, missing: missing),
            signals: state.subscribed
                ? state.signals(by: service.supervision.rules).map {
                    .init(parameter: "\($0.parameter)", state: $0.standing.rawValue, since: $0.since?.rfc3339)
                } : [], mutedUntil: state.mutedUntil.isEmpty ? nil : state.mutedUntil.mapValues(\.rfc3339),
            missing: missing?.map { .init(ability: $0.rawValue, detail: $0.detail) }, notice: SubscriptionClauses.notice(language),
            clauses: .init(
                version: SubscriptionClauses.version, language: language, text: SubscriptionClauses.text(language),
                acceptedVersion: subscriber?.clauses?.version, acceptedAt: subscriber?.clauses?.at.rfc3339))
    }
}
