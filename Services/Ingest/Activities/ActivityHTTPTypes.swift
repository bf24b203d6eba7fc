// HTTP bodies of activities.

import Contracts
import HTTPKit

/// What a person or a device sends of an activity.
struct NewActivity: Codable, Sendable, Documented {
    var kind: String
    var name: String?
    var start: String
    var end: String

    static let schema = JSONSchema.object(
        .required("kind", .oneOf(ActivityDraft.kinds)),
        .optional("name", .string(length: 1...ActivityDraft.longestName).nullable(), "What the person calls it."),
        .required("start", .time), .required("end", .time, "After the start, by at most seven days.")
    ).named("NewActivity")

    /// The activity as the house takes it.
    /// - Throws: `invalid-body`, naming each field.
    func draft(now: Timestamp, clockSkew: Duration) throws(Problem) -> ActivityDraft {
        var errors: [Problem.FieldError] = []
        func time(_ text: String, _ field: String) -> Timestamp? {
            let read = Timestamp(rfc3339: text)
            if read == nil { errors.append(.init(pointer: "/\(field)", .notATime)) }
            return read
        }
        let (start, end) = (time(start, "start"), time(end, "end"))
        if let start, start.milliseconds <= 0 { errors.append(.init(pointer: "/start", .beforeEpoch)) }
        if let start, let end, end <= start { errors.append(.init(pointer: "/end", .notAfter("start"))) }
        if let start, let end, end - start > ActivityDraft.longest {
            errors.append(.init(pointer: "/end", .periodTooLong(days: 7, from: "start")))
        }
        if let end, end > now + clockSkew { errors.append(.init(pointer: "/end", .inTheFuture)) }
        guard errors.isEmpty, let start, let end else { throw .invalidBody(errors) }
        return ActivityDraft(kind: kind, name: name, start: start, end: end)
    }
}

/// An activity in a list.
struct ActivityItem: Codable, Hashable, Sendable, Documented {
    var id: String
    var kind: String
    var name: String?
    var start: String
    var end: String
    var seconds: Double
    var source: String

    init(_ activity: KnownActivity) {
        (id, kind, name) = (activity.activity.description, activity.kind, activity.name)
        (start, end) = (activity.start.rfc3339, activity.end.rfc3339)
        seconds = (activity.end - activity.start) / .seconds(1)
        source = activity.source.text
    }

    static let schema = JSONSchema.object(
        .required("id", .identifier(Activity.self)), .required("kind", .string()), .optional("name", .string()),
        .required("start", .time), .required("end", .time), .required("seconds", .number(in: 0...1e6)),
        .required("source", .string(), "The device that told of it, or `manual`.")
    ).named("Activity")
}

/// An activity opened: its figures and its path (MYD-11).
struct ActivityAnswer: Sendable {
    let activity: KnownActivity
    let figures: ActivityFigures

    func write(to json: inout JSONBytes) {
        let item = ActivityItem(activity)
        json.literal("{\"id\":\"")
        json.append(item.id)
        json.literal("\",\"kind\":")
        json.string(item.kind)
        if let name = item.name {
            json.literal(",\"name\":")
            json.string(name)
        }
        json.literal(",\"start\":\"")
        json.append(item.start)
        json.literal("\",\"end\":\"")
        json.append(item.end)
        json.literal("\",\"seconds\":")
        json.number(item.seconds)
        json.literal(",\"source\":\"")
        json.append(item.source)
        json.byte("\"")
        number("distance", figures.distance, to: &json)
        number("pace", figures.pace(over: activity.end - activity.start), to: &json)
        number("heartRateMean", figures.heartRate?.mean, to: &json)
        number("heartRateMax", figures.heartRate?.greatest, to: &json)
        number("calories", figures.calories, to: &json)
        json.literal(",\"path\":")
        GeoJSON.write(figures.path, to: &json)
        json.byte("}")
    }

    private func number(_ name: String, _ value: Double?, to json: inout JSONBytes) {
        guard let value else { return }
        json.literal(",\"")
        json.append(name)
        json.literal("\":")
        json.number(value)
    }

    static let schema = JSONSchema.object(
        .required("id", .identifier(Activity.self)), .required("kind", .string()), .optional("name", .string()),
        .required("start", .time), .required("end", .time), .required("seconds", .number(in: 0...1e6)), .required("source", .string()),
        .optional("distance", .number(in: 0...1e9), "Metres along the path, else what a device counted."),
        .optional("pace", .number(in: 0...1e9), "Seconds per kilometre over the whole time."),
        .optional("heartRateMean", .number()), .optional("heartRateMax", .number()), .optional("calories", .number(), "Kilocalories."),
        .required("path", GeoJSON.schema)
    ).named("OpenedActivity")
}
