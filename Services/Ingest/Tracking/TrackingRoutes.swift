// The routes of Device Management: devices listed, named and removed, and what is tracked from which (ACC-24 to ACC-26).

import Contracts
import HTTPKit

struct TrackingRoutes: Sendable {
    let service: DeviceService
    let trackings: Trackings

    var all: [Route] { [devices, device, change, remove, tracking, choose, prefer] }

    private static let deviceParameter = Parameter.path("device", .identifier(Device.self), "One of the person's devices.")

    // MARK: Devices

    private var devices: Route {
        Route(
            .get, "/ingest/v1/devices", access: .person, summary: "The person's devices",
            description: "Each with everything that it can measure and whether that is tracked from it.",
            answers: [.json(200, "Oldest first; at most \(Devices.perPerson)", Page<DeviceItem>.self)]
        ) { exchange in
            let person = try exchange.person
            return try await IngestDoor.answering {
                try .json(Page(items: try await service.list(of: person, at: exchange.receivedAt), next: nil))
            }
        }
    }

    private var device: Route {
        Route(
            .get, "/ingest/v1/devices/{device}", access: .person, summary: "One of the person's devices",
            parameters: [Self.deviceParameter], answers: [.json(200, "The device", DeviceItem.self)]
        ) { exchange in
            let person = try exchange.person
            let device = try exchange.identifier("device", of: Device.self)
            return try await IngestDoor.answering { try .json(try await service.device(device, of: person, at: exchange.receivedAt)) }
        }
    }

    private var change: Route {
        Route(
            .patch, "/ingest/v1/devices/{device}", access: .person, summary: "Gives a device another name or kind",
            parameters: [Self.deviceParameter], body: .json(DeviceChange.self, limit: 1 << 12, inflatedLimit: 1 << 12),
            answers: [.json(200, "The device as it is now", DeviceItem.self)]
        ) { exchange in
            let person = try exchange.person
            let device = try exchange.identifier("device", of: Device.self)
            let change = try await exchange.json(DeviceChange.self)
            try Devices.requireOneLine(change.name, at: "/name")
            return try await IngestDoor.answering {
                try await service.change(device, of: person, name: change.name, kind: change.kind)
                return try .json(try await service.device(device, of: person, at: exchange.receivedAt))
            }
        }
    }

    private var remove: Route {
        Route(
            .delete, "/ingest/v1/devices/{device}", access: .personAnew, summary: "Removes a device",
            description:
                "Nothing of it is taken from then on; what it has delivered stays. Parameters that came from it are no longer tracked.",
            parameters: [Self.deviceParameter], answers: [Answer(204, "It is none of the person's devices any more")]
        ) { exchange in
            let person = try exchange.person
            let device = try exchange.identifier("device", of: Device.self)
            return try await IngestDoor.answering {
                try await service.remove(device, of: person, trace: String(exchange.requestID.prefix(32)))
                return .empty()
            }
        }
    }

    // MARK: Tracking

    private var tracking: Route {
        Route(
            .get, "/ingest/v1/tracking", access: .person, summary: "Which device each parameter comes from",
            answers: [.json(200, "Sources and priority", TrackingAnswer.self)]
        ) { exchange in
            let person = try exchange.person
            return try await IngestDoor.answering { try .json(try await trackings.tracking(of: person)) }
        }
    }

    private var choose: Route {
        Route(
            .put, "/ingest/v1/tracking", access: .person, summary: "Confirms which parameters come from which device",
            description: """
                Everything at once or nothing. A device that is not named keeps what it delivers. Where a more reliable device delivers a \
                wanted parameter the answer is 409 and names both; ask the person, and send `whenTracked` as `keep` or `switch`. What takes \
                a parameter from the device that delivers it asks for a proof of the last five minutes, and the person is told by a message.
                """,
            body: .json(TrackingChoice.self, limit: 1 << 16, inflatedLimit: 1 << 16),
            answers: [
                .json(200, "As it is now", TrackingAnswer.self), .problem(401, Problem.insufficientUserAuthentication.name),
                .problem(409, Problem.trackedElsewhere.name), .problem(422, Problem.impossibleTracking.name),
            ]
        ) { exchange in
            let person = try exchange.person
            let choice = try await exchange.json(TrackingChoice.self)
            let wanted = try Self.wanted(choice)
            let whenTracked = choice.whenTracked.flatMap { WhenTracked(rawValue: $0) }
            if trackings.withdraws(wanted, whenTracked, of: person) { try await exchange.requireFreshProof() }
            return try await IngestDoor.answering {
                switch try await trackings.choose(wanted, whenTracked, by: person) {
                case .settled(let answer): return try .json(answer)
                case .undecided(let items): throw Self.problem(of: items, in: choice)
                case .faulty(let faults): throw Self.problem(of: faults, in: choice)
                }
            }
        }
    }

    private static func wanted(_ choice: TrackingChoice) throws(Problem) -> [DeviceID: MetricSet] {
        var wanted: [DeviceID: MetricSet] = [:]
        for (place, item) in choice.devices.enumerated() {
            guard wanted.updateValue(MetricSet(item.tracked.compactMap { Metric(code: $0) }), forKey: item.device) == nil else {
                throw .invalidBody([.init(pointer: "/devices/\(place)/device", .namedTwice)])
            }
        }
        return wanted
    }

    /// Where in the body a device wants a metric.
    private static func pointer(_ device: DeviceID, _ metric: Metric?, in choice: TrackingChoice) -> String {
        guard let place = choice.devices.firstIndex(where: { $0.device == device }) else { return "/devices" }
        guard let metric, let index = choice.devices[place].tracked.firstIndex(of: metric.code) else { return "/devices/\(place)/device" }
        return "/devices/\(place)/tracked/\(index)"
    }

    private static func problem(of items: [TrackedElsewhere], in choice: TrackingChoice) -> Problem {
        Problem.trackedElsewhere.saying(
            "Nothing was changed. Send it again with whenTracked `keep`, to leave these parameters where they are, or `switch`.",
            italian: "Nulla è stato cambiato. Invii di nuovo con whenTracked `keep`, per lasciare queste misure dove sono, o `switch`.",
            errors: items.map { item in
                .init(
                    pointer: pointer(item.wanted, item.metric, in: choice),
                    .trackedElsewhere(item.metric, device: item.current, kind: item.currentKind.rawValue))
            })
    }

    private static func problem(of faults: [TrackingFault], in choice: TrackingChoice) -> Problem {
        Problem.impossibleTracking.saying(
            "Nothing was changed. Correct the named devices and parameters.",
            italian: "Nulla è stato cambiato. Corregga i dispositivi e le misure indicati.",
            errors: faults.map { fault in
                switch fault {
                case .unknownDevice(let device):
                    .init(pointer: pointer(device, nil, in: choice), .noSuchDevice)
                case .cannotMeasure(let device, let metric):
                    .init(pointer: pointer(device, metric, in: choice), .notMeasured(metric))
                case .twice(let metric, _, let second):
                    .init(pointer: pointer(second, metric, in: choice), .fromTwoDevices(metric))
                }
            })
    }

    private var prefer: Route {
        Route(
            .put, "/ingest/v1/tracking/priority", as: "setSourcePriority", access: .person,
            summary: "Says which kinds of sources are trusted more",
            description: "What is tracked stays where it is; later choices are measured by it.",
            body: .json(PriorityChoice.self, limit: 1 << 12, inflatedLimit: 1 << 12),
            answers: [.json(200, "As it is now", TrackingAnswer.self)]
        ) { exchange in
            let person = try exchange.person
            let choice = try await exchange.json(PriorityChoice.self)
            guard let priority = SourcePriority(chosen: choice.priority) else {
                throw Problem.invalidBody([.init(pointer: "/priority", .priorityIncomplete)])
            }
            return try await IngestDoor.answering { try .json(try await trackings.prefer(priority, by: person)) }
        }
    }
}
