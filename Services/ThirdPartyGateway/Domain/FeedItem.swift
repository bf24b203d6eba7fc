// One item of a subscription as it travels: the same bytes by REST, SSE and webhook.

import Contracts

/// A numbered place in the log of one subscription. Numbers have no gaps: whoever has 1 to N has everything up to N.
struct FeedItem: Hashable, Sendable {
    var number: Int64
    /// What was measured, or a `FeedNotice`, as JSON members; nil where the person has withdrawn that data type since.
    var members: String?
    /// The item that told of the same type and time before: what it said holds no longer.
    var replaces: Int64?
    /// What was kept is damaged: the number stands, its content is lost here.
    var isUnreadable = false

    /// One JSON object.
    var json: String {
        if isUnreadable { return #"{"number":\#(number),"unreadable":true}"# }
        guard let members else { return #"{"number":\#(number),"withdrawn":true}"# }
        return #"{"number":\#(number),\#(members)"# + (replaces.map { #","replaces":\#($0)}"# } ?? "}")
    }

    /// `"type":…,"at":…,"value":…` or `…"position":{…}`: what is kept, and compared to tell whether a step has changed.
    static func members(of sample: Sample) -> String {
        var text = #""type":"\#(sample.type.code)","at":"\#(sample.at.rfc3339)""#
        if let value = sample.value, value.isFinite { text += #","value":\#(number(value))"# }
        if let place = sample.position {
            text += #","position":{"latitude":\#(number(place.latitude)),"longitude":\#(number(place.longitude))"#
            if let altitude = place.altitude { text += #","altitude":\#(number(altitude))"# }
            if let accuracy = place.accuracy { text += #","accuracy":\#(number(accuracy))"# }
            text += "}"
        }
        return text
    }

    /// The shortest spelling that reads back alike; whole numbers without a fraction.
    private static func number(_ value: Double) -> String {
        let text = value.description
        return text.hasSuffix(".0") ? String(text.dropLast(2)) : text
    }
}
