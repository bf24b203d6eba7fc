// HTTP bodies of devices, their pairing, tracking and monitoring.

import Contracts
import HTTPKit

/// One of the person's devices.
struct DeviceItem: Codable, Sendable {
    struct Parameter: Codable, Sendable {
        var code: String
        var tracked: Bool
        /// The device from which it comes instead.
        var trackedFrom: DeviceID?
    }

    var device: DeviceID
    var name: String
    var model: String?
    var kind: DeviceKind
    /// False for one that whoever runs the suite has enrolled.
    var pairedByPerson: Bool
    var addedAt: String
    var intervalMs: Int64?
    var keyFingerprint: String?
    var parameters: [Parameter]
    var charging: Bool?
    var worn: Bool?
    var battery: Int?
    var lastHeardAt: String?
    /// Why nothing comes from it; nil where nothing is wrong.
    var trouble: String?
}

/// `PATCH` of a device.
struct DeviceChange: Codable, Sendable {
    var name: String?
    var kind: DeviceKind?
}

/// What a device reports of itself while it works.
struct ConditionReport: Codable, Sendable {
    var charging: Bool?
    var worn: Bool?
    var battery: Int?
    var intervalMs: Int64?
    /// The shortest interval that it can do, for alerts (SOS-11).
    var fastestIntervalMs: Int64?
}

/// Answer to the offer of a device.
struct PairingOffered: Codable, Sendable {
    var pairing: PairingID
    var secret: String
    var number: String
    var expiresAt: String
}

/// An offer as the person sees it.
struct PairingItem: Codable, Sendable {
    var pairing: PairingID
    var model: String
    var kind: DeviceKind
    var measures: [String]
    var intervalMs: Int64?
    var keyFingerprint: String?
    var expiresAt: String
}

/// What a device sends when it asks how its offer stands.
struct PairingPoll: Codable, Sendable {
    var secret: String
    var signature: String?
}

struct PairingProgress: Codable, Sendable {
    var state: String
    /// To be shown while waiting.
    var number: String?
    var expiresAt: String
    var device: DeviceID?
    var token: String?
}

/// What the person confirms.
struct PairingConfirmation: Codable, Sendable {
    var number: String
    var name: String?
    var replaces: DeviceID?
}

struct PairingSuccess: Codable, Sendable {
    var device: DeviceID
    var tracked: [String]
    var trackedElsewhere: [TrackedElsewhereItem]
    var replaced: DeviceID?
}

/// A parameter that another device delivers.
struct TrackedElsewhereItem: Hashable, Codable, Sendable {
    var code: String
    var wanted: DeviceID
    var current: DeviceID
    var currentKind: DeviceKind
    /// Whether the current one is trusted more than the wanted one.
    var moreReliable: Bool

    init(_ item: TrackedElsewhere) {
        (code, wanted, current) = (item.metric.code, item.wanted, item.current)
        (currentKind, moreReliable) = (item.currentKind, item.isMoreReliable)
    }
}

/// What the person confirms in Device Management: for each named device all parameters whose tracking is on.
struct TrackingChoice: Codable, Sendable {
    struct Choice: Codable, Sendable {
        var device: DeviceID
        var tracked: [String]
    }

    var devices: [Choice]
    var whenTracked: String?
}

struct TrackingAnswer: Hashable, Codable, Sendable {
    struct Parameter: Hashable, Codable, Sendable {
        var code: String
        var source: DeviceID?
        var candidates: [DeviceID]
    }

    var priority: [DeviceKind]
    var parameters: [Parameter]
    /// Of a change: what moved from one device to another, and what stayed where it was.
    var moved: [TrackedElsewhereItem]?
    var kept: [TrackedElsewhereItem]?
}

struct PriorityChoice: Codable, Sendable {
    var priority: [DeviceKind]
}

struct MonitoringChoice: Codable, Sendable {
    var paused: Bool
}

struct MonitoringAnswer: Codable, Sendable {
    struct Parameter: Codable, Sendable {
        var code: String
        var measured: Bool
        var source: DeviceID?
        var standIn: Bool?
        var reason: String?
        var detail: String?
    }

    var paused: Bool
    var since: String?
    /// `active`, `paused`, `off`, or `unknown` where it does not answer.
    var automatedSOS: String
    var warning: String?
    /// Why nothing of the person is recorded at all.
    var notAllowed: String?
    var parameters: [Parameter]
}

extension Devices {
    /// What people and devices call a device is one line, as every name.
    static func requireOneLine(_ text: String?, at pointer: String) throws(Problem) {
        guard let text, !PlainText.isClean(text, ofOneLine: true) else { return }
        throw .invalidBody([.init(pointer: pointer, .unreadableCharacters)])
    }
}

// MARK: Shapes

enum DeviceSchemas {
    private static let interval = JSONSchema.integer(in: Int(Devices.intervals.lowerBound)...Int(Devices.intervals.upperBound))
    private static let device = JSONSchema.identifier(Device.self)
    private static let codes = JSONSchema.array(of: IngestSchemas.metricCode, count: 0...256)
    private static let kind = JSONSchema.oneOf(DeviceKind.allCases.map(\.rawValue)).named("DeviceKind")
    private static let offeredKind = JSONSchema.oneOf(DeviceKind.devices.map(\.rawValue))
    private static let deviceName = JSONSchema.string(length: 1...Devices.longestName)
    private static let percent = JSONSchema.integer(in: 0...100)

    static let item = JSONSchema.object(
        .required("device", device), .required("name", .string()), .optional("model", .string()), .required("kind", kind),
        .required("pairedByPerson", .boolean, "False for one that whoever runs the suite has enrolled."), .required("addedAt", .time),
        .optional("intervalMs", interval, "How often it measures."),
        .optional("keyFingerprint", .string(), "Of the Ed25519 key that it made, if it has one."),
        .required(
            "parameters",
            .array(
                of: .object(
                    .required("code", IngestSchemas.metricCode), .required("tracked", .boolean),
                    .optional("trackedFrom", device, "The device from which it comes instead."))),
            "Everything that it can measure."),
        .optional("charging", .boolean), .optional("worn", .boolean), .optional("battery", percent, "Percent."),
        .optional("lastHeardAt", .time, "Since this service was started."),
        .optional("trouble", .oneOf(UnmeasuredReason.allCases.map(\.rawValue)), "Why nothing comes from it.")
    ).named("DeviceItem")

    static let change = JSONSchema.object(.optional("name", deviceName), .optional("kind", offeredKind)).named("DeviceChange")

    static let condition = JSONSchema.object(
        .optional("charging", .boolean), .optional("worn", .boolean), .optional("battery", percent, "Percent."),
        .optional("intervalMs", interval, "How often it measures from now on."),
        .optional("fastestIntervalMs", interval, "The shortest interval that it can do, for alerts; 3 a second unless told.")
    ).named("ConditionReport")

    static let offer = JSONSchema.object(
        .required("model", .string(length: 1...OfferedDevice.longestModel), "As the person shall recognise it."),
        .required("kind", offeredKind), .required("measures", .array(of: IngestSchemas.metricCode, count: 1...256)),
        .optional("intervalMs", interval),
        .optional("publicKey", .string(pattern: "^[A-Za-z0-9_-]{43}$"), "Ed25519, 32 bytes as base64url.")
    ).named("OfferedDevice")

    private static let number = JSONSchema.string(pattern: "^[0-9]{\(PairingOffer.digits)}$")

    static let offered = JSONSchema.object(
        .required("pairing", .identifier(Pairing.self), "To be made known to the phone: by Bluetooth, or as a code to scan."),
        .required("secret", .string(), "To poll with; never shown."), .required("number", number, "To be shown on the display."),
        .required("expiresAt", .time)
    ).named("PairingOffered")

    static let pairing = JSONSchema.object(
        .required("pairing", .identifier(Pairing.self)), .required("model", .string()), .required("kind", kind),
        .required("measures", codes),
        .optional("intervalMs", interval), .optional("keyFingerprint", .string()), .required("expiresAt", .time)
    ).named("PairingItem")

    static let poll = JSONSchema.object(
        .required("secret", .string(length: 1...64)),
        .optional(
            "signature", .string(length: 1...128),
            "Ed25519 as base64url over `trackme-pairing.v1|<pairing>|<number shown>`; needed for the token where a key was offered.")
    ).named("PairingPoll")

    static let progress = JSONSchema.object(
        .required("state", .oneOf(PairingOffer.State.allCases.map(\.rawValue))),
        .optional("number", number, "To be shown from now on; it is another one after a wrong number."), .required("expiresAt", .time),
        .optional("device", device),
        .optional(
            "token", .string(pattern: DeviceToken.pattern),
            "The Bearer token of every upload; given until it is first used. Before its dot: the last two characters of the person's id.")
    ).named("PairingProgress")

    static let confirmation = JSONSchema.object(
        .required("number", .string(length: 1...32), "As the display shows it."), .optional("name", deviceName, "The model unless told."),
        .optional("replaces", device, "A device that stops in the same instant; what it delivered comes from the new one.")
    ).named("PairingConfirmation")

    private static let elsewhere = JSONSchema.object(
        .required("code", IngestSchemas.metricCode), .required("wanted", device), .required("current", device),
        .required("currentKind", kind), .required("moreReliable", .boolean, "Whether the current one is trusted more.")
    ).named("TrackedElsewhere")

    static let success = JSONSchema.object(
        .required("device", device), .required("tracked", codes, "What comes from it from now on."),
        .required("trackedElsewhere", .array(of: elsewhere), "What it could measure too; the person may change it."),
        .optional("replaced", device)
    ).named("PairingSuccess")

    static let choice = JSONSchema.object(
        .required(
            "devices",
            .array(
                of: .object(.required("device", device), .required("tracked", codes, "Everything that shall come from it.")),
                count: 1...Devices.perPerson)),
        .optional("whenTracked", .oneOf(WhenTracked.allCases.map(\.rawValue)), "For parameters that a more reliable device delivers.")
    ).named("TrackingChoice")

    static let tracking = JSONSchema.object(
        .required("priority", .array(of: kind), "The most trusted kind first."),
        .required(
            "parameters",
            .array(
                of: .object(
                    .required("code", IngestSchemas.metricCode), .optional("source", device),
                    .required("candidates", .array(of: device), "Devices that can measure it."))),
            "Those that some device can measure."),
        .optional("moved", .array(of: elsewhere)), .optional("kept", .array(of: elsewhere))
    ).named("Tracking")

    static let priority = JSONSchema.object(
        .required("priority", .array(of: kind, count: DeviceKind.allCases.count...DeviceKind.allCases.count), "Every kind once.")
    ).named("PriorityChoice")

    static let monitoringChoice = JSONSchema.object(.required("paused", .boolean)).named("MonitoringChoice")

    static let monitoring = JSONSchema.object(
        .required("paused", .boolean), .optional("since", .time),
        .required("automatedSOS", .oneOf(SupervisionStatus.allCases.map(\.rawValue)), "Whether emergencies are looked for."),
        .optional("warning", .string()), .optional("notAllowed", .string(), "Why nothing is recorded at all."),
        .required(
            "parameters",
            .array(
                of: .object(
                    .required("code", IngestSchemas.metricCode), .required("measured", .boolean), .optional("source", device),
                    .optional("standIn", .boolean, "It stands in for a device that is being charged."),
                    .optional("reason", .oneOf(UnmeasuredReason.allCases.map(\.rawValue))), .optional("detail", .string()))))
    ).named("Monitoring")
}

extension DeviceChange: Documented {
    static var schema: JSONSchema { DeviceSchemas.change }
}

extension ConditionReport: Documented {
    static var schema: JSONSchema { DeviceSchemas.condition }
}

extension OfferedDevice: Documented {
    static var schema: JSONSchema { DeviceSchemas.offer }
}

extension PairingPoll: Documented {
    static var schema: JSONSchema { DeviceSchemas.poll }
}

extension PairingConfirmation: Documented {
    static var schema: JSONSchema { DeviceSchemas.confirmation }
}

extension TrackingChoice: Documented {
    static var schema: JSONSchema { DeviceSchemas.choice }
}

extension PriorityChoice: Documented {
    static var schema: JSONSchema { DeviceSchemas.priority }
}

extension MonitoringChoice: Documented {
    static var schema: JSONSchema { DeviceSchemas.monitoringChoice }
}

extension DeviceItem: Documented {
    static var schema: JSONSchema { DeviceSchemas.item }
}

extension PairingOffered: Documented {
    static var schema: JSONSchema { DeviceSchemas.offered }
}

extension PairingItem: Documented {
    static var schema: JSONSchema { DeviceSchemas.pairing }
}

extension PairingProgress: Documented {
    static var schema: JSONSchema { DeviceSchemas.progress }
}

extension PairingSuccess: Documented {
    static var schema: JSONSchema { DeviceSchemas.success }
}

extension TrackingAnswer: Documented {
    static var schema: JSONSchema { DeviceSchemas.tracking }
}

extension MonitoringAnswer: Documented {
    static var schema: JSONSchema { DeviceSchemas.monitoring }
}
