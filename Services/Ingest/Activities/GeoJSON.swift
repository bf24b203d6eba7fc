// A path for a map, as GeoJSON has it (RFC 7946): longitude first.

import Contracts
import HTTPKit

enum GeoJSON {
    static let mediaType = "application/geo+json"

    /// A Feature with the path; its geometry is null where there are fewer than two points, since a line has two.
    static func feature(_ path: [(at: Timestamp, position: Position)], damaged: DamagedPeriods) -> [UInt8] {
        var json = JSONBytes(capacity: 128 + path.count * 64)
        write(path, damaged: damaged, to: &json)
        return json.bytes
    }

    static func write(_ path: [(at: Timestamp, position: Position)], damaged: DamagedPeriods? = nil, to json: inout JSONBytes) {
        json.literal("{\"type\":\"Feature\",\"geometry\":")
        if path.count < 2 {
            json.literal("null")
        } else {
            json.literal("{\"type\":\"LineString\",\"coordinates\":[")
            for (place, point) in path.enumerated() {
                if place > 0 { json.byte(",") }
                json.coordinates(point.position)
            }
            json.literal("]}")
        }
        json.literal(",\"properties\":{\"times\":[")
        if path.count >= 2 {
            for (place, point) in path.enumerated() {
                if place > 0 { json.byte(",") }
                json.byte("\"")
                json.append(point.at.rfc3339)
                json.byte("\"")
            }
        }
        json.byte("]")
        if let damaged { json.damaged(damaged) }
        json.literal("}}")
    }

    static let schema: JSONSchema = {
        let line = JSONSchema.object(
            .required("type", .oneOf(["LineString"])), .required("coordinates", .array(of: .array(of: .number(), count: 2...3))))
        return JSONSchema.object(
            .required("type", .oneOf(["Feature"])), .required("geometry", line.nullable(), "Null for fewer than two points."),
            .required("properties", .object(.required("times", .array(of: .time), "Of each point."), .damaged))
        ).named("Track")
    }()
}

extension JSONBytes {
    fileprivate mutating func coordinates(_ position: Position) {
        byte("[")
        number(position.longitude)
        byte(",")
        number(position.latitude)
        if let altitude = position.altitude {
            byte(",")
            number(altitude)
        }
        byte("]")
    }
}
