// The doors of thresholds: what is in force and why, own ones, and what they would have done (SOS-05 to SOS-08).

import Contracts
import HTTPKit
import ServiceKit

struct ThresholdRoutes: Sendable {
    private static let bodyLimit = 1 << 16

    let service: ThresholdService

    var all: [Route] { [read, choose, preview] }

    private var read: Route {
        Route(
            .get, "/sos/v1/thresholds", as: "getThresholds", access: .person, summary: "The thresholds in force, and where they come from",
            description: "Own thresholds come before personalised ones, these before the defaults. Who has not joined sees the defaults.",
            answers: [.json(200, "Of every metric", ThresholdsAnswer.self)]
        ) { exchange in
            let person = try exchange.person
            return try .json(await answer(to: person, exchange.language))
        }
    }

    private var choose: Route {
        Route(
            .put, "/sos/v1/thresholds", access: .person, summary: "Sets own thresholds, for instance together with a doctor",
            description: """
                All of them or nothing; they take the place of those that were. Try them first: POST /sos/v1/thresholds/preview. Where \
                something would no longer be critical that is, they ask for a proof of the last five minutes, and the person is told by a \
                message.
                """,
            body: .json(ThresholdChoice.self, limit: Self.bodyLimit, inflatedLimit: Self.bodyLimit),
            answers: [
                .json(200, "As they are now", ThresholdsAnswer.self), SubscriberDoor.mayAskForProof, .problem(409, "not-subscribed"),
                .problem(422, "invalid-bounds"),
            ]
        ) { exchange in
            let person = try exchange.person
            let own = try OwnBounds.checked(try await exchange.json(ThresholdChoice.self).bounds, under: "/bounds")
            let proof = await SubscriberDoor.freshProof(exchange)
            try await SubscriberDoor.answering { try await service.setOwn(own, of: person, proof) }
            return try .json(await answer(to: person, exchange.language))
        }
    }

    private var preview: Route {
        Route(
            .post, "/sos/v1/thresholds/preview", as: "previewThresholds", access: .person,
            summary: "How many alerts the last 30 days would have raised",
            description: "Nothing is saved.",
            body: .json(ThresholdChoice.self, limit: Self.bodyLimit, inflatedLimit: Self.bodyLimit),
            answers: [
                .json(200, "Beside those of the thresholds in force", PreviewAnswer.self), .problem(422, "invalid-bounds"),
                .problem(503, "unavailable"),
            ], isRateLimited: true
        ) { exchange in
            let person = try exchange.person
            let own = try OwnBounds.checked(try await exchange.json(ThresholdChoice.self).bounds, under: "/bounds")
            let (proposed, present) = try await SubscriberDoor.answering {
                try await service.forecasts(own: own, of: person, at: exchange.receivedAt)
            }
            return try .json(
                PreviewAnswer(
                    from: proposed.period.lowerBound.rfc3339, to: proposed.period.upperBound.rfc3339, proposed: Forecast(proposed),
                    present: Forecast(present), method: PreviewAnswer.method))
        }
    }

    private func answer(to person: PersonID, _ language: Language) async -> ThresholdsAnswer {
        let subscriber = await service.supervision.subscriber(of: person)
        let state = subscriber?.supervision ?? Supervision.State()
        let thresholds = Supervision(rules: service.supervision.rules, state: state).thresholds
        let usual = service.supervision.defaults
        let items = Metric.all.filter { $0.definition.shape == .scalar }.map { metric in
            let possible = metric.definition.possible
            return MetricThresholds(
                type: metric.code, unit: metric.definition.unit,
                allowed: Bounds(low: possible.lowerBound, high: possible.upperBound), usual: usual[metric],
                personal: subscriber?.fit?.bounds[metric], own: state.own[metric], inForce: thresholds.inForce(metric))
        }
        return ThresholdsAnswer(
            items: items, pressuresTogether: thresholds.pairInForce,
            personalised: Self.personalised(subscriber), notice: SubscriptionClauses.notice(language))
    }

    private static func personalised(_ subscriber: Subscriber?) -> ThresholdsAnswer.Personalised {
        let isOn = subscriber?.preferences?.personalised ?? true
        guard let fit = subscriber?.fit else { return .init(on: isOn) }
        return .init(
            on: isOn, fittedAt: fit.at.rfc3339, daysWithData: fit.days, enough: fit.isEnough,
            detail: fit.isEnough ? nil : "There are not enough data yet to fit thresholds to you: the defaults stay.")
    }
}
