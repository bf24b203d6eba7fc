// Pausing and resuming (ACC-28), what devices report of themselves (ING-19), and what is therefore not measured now.

import Bus
import Contracts
import Foundation
import HTTPKit
import Logging
import ServiceKit
import Storage

/// Whether emergencies of a person are looked for, as far as is known.
enum SupervisionStatus: String, CaseIterable, Sendable {
    case active
    case paused
    case off
    /// The dispatcher did not answer: whoever pauses is warned even so.
    case unknown

    init(_ reply: ReadSupervision.Reply?) {
        guard let reply else {
            self = .unknown
            return
        }
        self = !reply.subscribed ? .off : reply.paused ? .paused : .active
    }
}

struct Monitoring: Sendable {
    let registry: DeviceRegistry
    let households: HouseholdRepository
    let people: People
    let service: DeviceService
    let events: DeviceEventStore
    let outbox: MessageOutbox
    /// Asks the dispatcher, briefly: nobody's pause waits for it.
    let supervision: @Sendable (PersonID) async -> SupervisionStatus
    let logger: Logger
    private let pauses = PauseStore()
    private let devices = DeviceStore()

    init(
        registry: DeviceRegistry, households: HouseholdRepository, people: People, service: DeviceService, events: DeviceEventStore,
        outbox: MessageOutbox,
        supervision: @escaping @Sendable (PersonID) async -> SupervisionStatus, logger: Logger
    ) {
        (self.registry, self.households, self.people, self.service) = (registry, households, people, service)
        (self.events, self.outbox, self.supervision, self.logger) = (events, outbox, supervision, logger)
    }

    /// The request to the dispatcher, within the time that somebody waits before a screen.
    static func asking(_ dispatcher: BusClient) -> @Sendable (PersonID) async -> SupervisionStatus {
        { person in SupervisionStatus(try? await dispatcher.ask(ReadSupervision(person: person), attempts: 2)) }
    }

    // MARK: The person

    func state(of person: PersonID, at now: Timestamp) async throws -> MonitoringAnswer {
        _ = try await people.number(of: person)
        return answer(of: person, supervision: await supervision(person), at: now)
    }

    /// Repeating it is the same as once: a pause goes on from when it began.
    func pause(_ isPaused: Bool, by person: PersonID, at now: Timestamp, trace: String) async throws -> MonitoringAnswer {
        let number = try await people.number(of: person)
        let language = registry.language(of: person)
        let isNew = try await households.change(number) { [pauses, events, outbox] db, household in
            let isChanged =
                isPaused ? try pauses.begin(db, of: household.number, at: now) : try pauses.end(db, of: household.number, at: now)
            guard isChanged else { return false }
            try events.publish(db, MonitoringState(person: person, paused: isPaused), at: now, trace: trace)
            guard isPaused else { return true }
            try outbox.enqueue(
                db,
                SendMessage(
                    message: .random(), recipient: Recipient(person: person), channels: [.inbox, .push], template: .monitoringPaused,
                    language: language, values: ["time": now.rfc3339]))
            return true
        }
        if isNew { logger.notice("monitoring was \(isPaused ? "paused" : "resumed")", metadata: ["trace": "\(trace)"]) }
        return answer(of: person, supervision: await supervision(person), at: now)
    }

    private func answer(of person: PersonID, supervision: SupervisionStatus, at now: Timestamp) -> MonitoringAnswer {
        let household = registry.household(of: person)
        let bar = registry.bar(of: person)
        let since = household?.pausedSince
        return MonitoringAnswer(
            paused: since != nil, since: since?.rfc3339, automatedSOS: supervision.rawValue,
            warning: since == nil ? nil : supervision.warning, notAllowed: bar?.detail,
            parameters: report(household, isBarred: bar != nil, at: now).map(MonitoringAnswer.Parameter.init))
    }

    private func report(_ household: Household?, isBarred: Bool, at now: Timestamp) -> [ParameterReport] {
        let rows = household?.active ?? []
        let sources = Dictionary(rows.map { ($0.device, service.reported($0)) }) { $1 }
        let report = MonitoringReport(
            plan: household?.plan ?? TrackingPlan([]), sources: sources, isPaused: household?.pausedSince != nil, isBarred: isBarred)
        return report.parameters(at: now)
    }

    // MARK: Devices

    /// What the device reports of itself; what it does not mention stays as it was.
    func report(_ sent: ConditionReport, of device: KnownDevice, at now: Timestamp, trace: String) async throws -> MonitoringAnswer {
        try await households.change(device.personNumber) { [devices, events] db, household in
            guard let row = household.device(device.device) else { throw Problem.unauthorised }
            var condition = row.condition
            condition.charging = sent.charging ?? condition.charging
            condition.worn = sent.worn ?? condition.worn
            condition.battery = sent.battery ?? condition.battery
            condition.fastestIntervalMs = sent.fastestIntervalMs ?? condition.fastestIntervalMs
            condition.at = now
            try devices.setCondition(db, device.device, condition)
            if let interval = sent.intervalMs, interval != row.intervalMs { try devices.setInterval(db, device.device, interval) }
            guard let changed = try devices.device(db, device.device),
                changed.intervalMs != row.intervalMs || changed.isStoppedByCharging != row.isStoppedByCharging
            else { return }
            try events.publish(db, changed, at: now, trace: trace)
        }
        return answer(of: device.person, supervision: await supervision(device.person), at: now)
    }
}

extension SupervisionStatus {
    /// SOS-04: whoever pauses must know what that means.
    var warning: String? {
        switch self {
        case .active: "AutomatedSOS is active, but while monitoring is paused no emergency will be detected."
        case .unknown: "It could not be found out whether AutomatedSOS is active. While monitoring is paused no emergency will be detected."
        case .paused, .off: nil
        }
    }
}

extension MonitoringAnswer.Parameter {
    init(_ report: ParameterReport) {
        self.init(
            code: report.metric.code, measured: report.reason == nil, source: report.source, standIn: report.isStandIn ? true : nil,
            reason: report.reason?.rawValue, detail: report.reason?.detail)
    }
}

extension UnmeasuredReason {
    /// What the person reads.
    var detail: String {
        switch self {
        case .notAllowed: "The account does not allow anything to be recorded: accept the data policy in the app."
        case .paused: "Monitoring is paused."
        case .noDevice: "No device can measure it: pair one."
        case .notTracked: "A device can measure it, but its tracking is off."
        case .charging: "Its device is being charged."
        case .notWorn: "Its device is not worn."
        case .lost: "Nothing has been heard of its device: check its status and connection."
        }
    }
}
