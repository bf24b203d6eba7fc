// The routes to activities: sent by a person or a device, listed, opened with figures and path, deleted.

import Contracts
import HTTPKit
import ServiceKit

struct ActivityRoutes: Sendable {
    let activities: Activities
    let people: People
    let clockSkew: Duration

    var all: [Route] { [create, list, open, delete] }

    private var create: Route {
        Route(
            .post, "/ingest/v1/activities", access: .owner, summary: "Tells of an activity",
            description: """
                By hand or by a device. An activity is known by its times: telling it again changes nothing (200), telling something else \
                for the same times is refused.
                """,
            body: .json(NewActivity.self, limit: 16 << 10, inflatedLimit: 16 << 10),
            answers: [
                .json(201, "Stored", ActivityItem.self), .json(200, "Stored before", ActivityItem.self),
                .problem(403, Problem.readingEnded.name), .problem(409, Problem.conflictingActivity.name),
                .problem(422, Problem.tooManyActivities.name),
            ]
        ) { exchange in
            let draft = try await exchange.json(NewActivity.self).draft(now: exchange.receivedAt, clockSkew: clockSkew)
            let device = (exchange.caller.context as? KnownDevice)?.number
            return try await OwnDataDoor.answering {
                switch try await activities.create(draft, of: people.reader(of: exchange.person), device: device) {
                case .created(let activity): return try .json(ActivityItem(activity), status: 201)
                case .known(let activity): return try .json(ActivityItem(activity))
                case .contradicted:
                    throw Problem.conflictingActivity.saying(
                        "There is another activity with the same start and end. Delete it first, or correct the times.",
                        italian: "C'è un'altra attività con lo stesso inizio e la stessa fine. Prima la elimini, o corregga gli orari.",
                        errors: [.init(pointer: "/start", .sameTimes)])
                case .tooMany:
                    throw Problem.tooManyActivities.saying(
                        "A person has at most \(ActivityStore.perPerson) activities. Delete some first.",
                        italian: "Una persona ha al massimo \(ActivityStore.perPerson) attività. Prima ne elimini qualcuna.")
                }
            }
        }
    }

    private var list: Route {
        Route(
            .get, "/ingest/v1/activities", access: .person, summary: "One's own activities, the latest first",
            parameters: [.limit, .after], answers: [.json(200, "A page", Page<ActivityItem>.self)]
        ) { exchange in
            let after = try exchange.cursor { text in
                let parts = text.split(separator: ".", omittingEmptySubsequences: false)
                return parts.count == 2 && parts.allSatisfy { Int64($0) != nil } ? text : nil
            }
            let limit = try exchange.pageLimit
            return try await OwnDataDoor.answering {
                let (items, next) = try await activities.list(of: people.reader(of: exchange.person), after: after, limit: limit)
                return try .json(Page(items: items.map(ActivityItem.init), next: next))
            }
        }
    }

    private var open: Route {
        Route(
            .get, "/ingest/v1/activities/{activity}", access: .person, summary: "An activity with path, time, distance, pace, heart rate",
            description: "Computed from the entries measured between its start and end. Figures without entries behind them are absent.",
            answers: [.json(200, "The activity", ActivityAnswer.schema)]
        ) { exchange in
            let id: ActivityID = try exchange.identifier("activity")
            return try await OwnDataDoor.answering {
                guard let (activity, figures) = try await activities.find(id, of: people.reader(of: exchange.person)) else {
                    throw Problem.notFound
                }
                var json = JSONBytes(capacity: 1 << 12)
                ActivityAnswer(activity: activity, figures: figures).write(to: &json)
                return .bytes(json.bytes, contentType: MediaType.json)
            }
        }
    }

    private var delete: Route {
        Route(
            .delete, "/ingest/v1/activities/{activity}", access: .person, summary: "Deletes an activity",
            description: "What was measured during it stays.", answers: [Answer(204, "Deleted")]
        ) { exchange in
            let id: ActivityID = try exchange.identifier("activity")
            return try await OwnDataDoor.answering {
                guard try await activities.delete(id, of: people.reader(of: exchange.person)) else { throw Problem.notFound }
                return .empty()
            }
        }
    }
}
