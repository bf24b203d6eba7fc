// A group's entries as JSON and as a table, written by hand since there may be millions.

import Contracts
import Documents
import HTTPKit

enum GroupEntryJSON {
    static let schema = JSONSchema.object(
        .optional("id", .string(pattern: "^[0-9a-f]{32}$"), "Names a row and nobody; absent in statistics."),
        .required("type", .string(), "Of the catalogue."), .required("from", .time, "The beginning of the stretch of time."),
        .required("to", .time, "Not included."),
        .required("classes", .map(of: .string()), "By attribute, whom it is about; empty where that is everybody."),
        .required("values", .array(of: .number()), "Means, one for each component of the type; empty for positions."),
        .optional("place", .string(), "Of positions alone."),
        .optional("isRest", .boolean, "Whether other entries are parts of the place, so that this one counts the rest of it."),
        .required("individuals", .integer(), "Records: the fewest people behind it. Positions: floored to tens. Statistics: noisy."),
        .optional("countError", .number(), "Statistics: standard deviation of the noise of `individuals`."),
        .optional("valueErrors", .array(of: .number()), "Statistics: that of each value.")
    ).named("GroupEntry")

    static let pageSchema = JSONSchema.object(
        .required("items", .array(of: schema)), .required("next", .string().nullable()),
        .required("reminder", .string(), "Who answers for the data from now on.")
    ).named("GroupEntryPage")

    static func page(_ entries: [GroupEntry], next: String?) -> [UInt8] {
        var json = JSONBytes(capacity: 256 + entries.count * 256)
        json.literal("{\"items\":[")
        for (place, entry) in entries.enumerated() {
            if place > 0 { json.byte(",") }
            append(entry, to: &json)
        }
        json.literal("],\"next\":")
        if let next { json.string(next) } else { json.literal("null") }
        json.literal(",\"reminder\":")
        json.string(ResponsibilityNotice.text)
        json.literal("}")
        return json.bytes
    }

    /// One a line.
    static func lines(_ entries: [GroupEntry]) -> [UInt8] {
        var json = JSONBytes(capacity: entries.count * 256)
        for entry in entries {
            append(entry, to: &json)
            json.byte("\n")
        }
        return json.bytes
    }

    private static func append(_ entry: GroupEntry, to json: inout JSONBytes) {
        json.byte("{")
        if let id = entry.id {
            json.literal("\"id\":")
            json.string(id)
            json.byte(",")
        }
        json.literal("\"type\":")
        json.string(entry.type)
        json.literal(",\"from\":\"")
        json.append(entry.from.rfc3339)
        json.literal("\",\"to\":\"")
        json.append(entry.to.rfc3339)
        json.literal("\",\"classes\":{")
        for (place, item) in entry.classes.sorted(by: { $0.key < $1.key }).enumerated() {
            if place > 0 { json.byte(",") }
            json.string(item.key)
            json.byte(":")
            json.string(item.value)
        }
        json.literal("},\"values\":")
        append(entry.values, to: &json)
        if let place = entry.place {
            json.literal(",\"place\":")
            json.string(place)
        }
        if let isRest = entry.isRest { json.append(",\"isRest\":\(isRest)") }
        json.append(",\"individuals\":\(entry.individuals)")
        if let error = entry.countError { json.append(",\"countError\":" + Thousandths.text(error)) }
        if let errors = entry.valueErrors {
            json.literal(",\"valueErrors\":")
            append(errors, to: &json)
        }
        json.byte("}")
    }

    private static func append(_ thousandths: [Int], to json: inout JSONBytes) {
        json.byte("[")
        json.append(thousandths.map(Thousandths.text).joined(separator: ","))
        json.byte("]")
    }
}

/// One entry a record under one header, with a column for each attribute of the release; empty cells are what an entry does not have.
struct GroupEntryTable: Sendable {
    /// Values of an entry that have a column: blood pressure has two.
    private static let components = 2

    let attributes: [String]

    var header: [UInt8] {
        var bytes: [UInt8] = []
        let values = (1...Self.components).flatMap { ["value\($0)", "value\($0)Error"] }
        CSVWriter.append(
            ["id", "type", "from", "to"] + attributes.map(SpreadsheetCell.text) + values
                + ["place", "isRest", "individuals", "individualsError"], to: &bytes)
        return bytes
    }

    func records(_ entries: [GroupEntry]) -> [UInt8] {
        var bytes: [UInt8] = []
        for entry in entries { CSVWriter.append(cells(entry), to: &bytes) }
        return bytes
    }

    private func cells(_ entry: GroupEntry) -> [String] {
        func number(_ thousandths: [Int]?, _ place: Int) -> String {
            guard let thousandths, thousandths.indices.contains(place) else { return "" }
            return Thousandths.text(thousandths[place])
        }
        var cells = [SpreadsheetCell.text(entry.id ?? ""), SpreadsheetCell.text(entry.type), entry.from.rfc3339, entry.to.rfc3339]
        cells += attributes.map { SpreadsheetCell.text(entry.classes[$0] ?? "") }
        for place in 0..<Self.components { cells += [number(entry.values, place), number(entry.valueErrors, place)] }
        cells += [
            SpreadsheetCell.text(entry.place ?? ""), entry.isRest.map { String($0) } ?? "", String(entry.individuals),
            entry.countError.map(Thousandths.text) ?? "",
        ]
        return cells
    }
}
