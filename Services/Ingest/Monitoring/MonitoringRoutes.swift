// The routes of monitoring: pause and resume, what is not measured and why, and what devices report of themselves.

import Contracts
import HTTPKit

struct MonitoringRoutes: Sendable {
    let monitoring: Monitoring
    let limiter: RateLimiter<Int64>

    var all: [Route] { [state, pause, report] }

    private var state: Route {
        Route(
            .get, "/ingest/v1/monitoring", access: .owner, summary: "What is measured now, and what is not and why",
            answers: [.json(200, "Pause and parameters", MonitoringAnswer.self), .problem(403, Problem.readingEnded.name)]
        ) { exchange in
            let person = try exchange.person
            return try await IngestDoor.answering { try .json(try await monitoring.state(of: person, at: exchange.receivedAt)) }
        }
    }

    private var pause: Route {
        Route(
            .put, "/ingest/v1/monitoring", access: .person, summary: "Pauses or resumes monitoring",
            description: """
                While paused nothing that devices deliver is recorded, and what they measured meanwhile never is. Where AutomatedSOS is \
                active, or that cannot be found out, the answer warns that no emergency will be detected. Pausing asks for a proof of the \
                last five minutes, and the person is told by a message; resuming does not.
                """,
            body: .json(MonitoringChoice.self, limit: 1 << 12, inflatedLimit: 1 << 12),
            answers: [
                .json(200, "As it is now", MonitoringAnswer.self), .problem(401, Problem.insufficientUserAuthentication.name),
            ]
        ) { exchange in
            let person = try exchange.person
            let choice = try await exchange.json(MonitoringChoice.self)
            if choice.paused { try await exchange.requireFreshProof() }
            return try await IngestDoor.answering {
                try .json(
                    try await monitoring.pause(
                        choice.paused, by: person, at: exchange.receivedAt, trace: String(exchange.requestID.prefix(32))))
            }
        }
    }

    private var report: Route {
        Route(
            .post, "/ingest/v1/device-state", as: "reportDeviceState", access: .device, summary: "A device says how it is",
            description: "Charging, worn, battery, and how often it measures from now on; what is absent stays as it was.",
            body: .json(ConditionReport.self, limit: 1 << 12, inflatedLimit: 1 << 12),
            answers: [.json(200, "What is measured now, for the device to show", MonitoringAnswer.self)], isRateLimited: true
        ) { exchange in
            let device = try IngestDoor.device(exchange)
            try limiter.admit(device.number)
            let condition = try await exchange.json(ConditionReport.self)
            return try await IngestDoor.answering {
                try .json(
                    try await monitoring.report(
                        condition, of: device, at: exchange.receivedAt, trace: String(exchange.requestID.prefix(32))))
            }
        }
    }
}
