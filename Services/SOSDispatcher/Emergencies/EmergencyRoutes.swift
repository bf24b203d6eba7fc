// The doors by which a person looks back at their own emergencies, step by step (SOS-29).

import Contracts
import HTTPKit
import ServiceKit

struct EmergencyRoutes: Sendable {
    let history: EmergencyHistory

    var all: [Route] { [list, one] }

    private var list: Route {
        Route(
            .get, "/sos/v1/emergencies", access: .person, summary: "The person's own alerts and emergencies",
            parameters: [.limit, .after], answers: [.json(200, "Newest first", Page<OwnEmergency>.self)]
        ) { exchange in
            let person = try exchange.person
            let (limit, before) = (try exchange.pageLimit, try exchange.cursor { Int64($0) })
            let records = try await SubscriberDoor.answering {
                try await history.newest(of: person, before: before.map(Timestamp.init(milliseconds:)), limit: limit)
            }
            return try .json(
                Page(
                    items: records.map { OwnEmergency($0) },
                    next: records.count == limit ? records.last.map { String($0.t0.milliseconds) } : nil))
        }
    }

    private var one: Route {
        Route(
            .get, "/sos/v1/emergencies/{id}", access: .person, summary: "One of them, with everything that happened",
            parameters: [.path("id", .identifier(Emergency.self), "One of the person's own.")],
            answers: [.json(200, "With its steps, in order", OwnEmergency.self)]
        ) { exchange in
            let person = try exchange.person
            let id = try exchange.identifier("id", of: Emergency.self)
            let found: OwnEmergency = try await SubscriberDoor.answering {
                guard let record = try await history.one(id), record.person == person else { throw Problem.notFound }
                return OwnEmergency(record, steps: try await history.steps(of: id))
            }
            return try .json(found)
        }
    }
}
