// JSON as a value with ordered members: what examples, schemas and the OpenAPI document are made of.

/// A JSON text's tree. Members keep the order in which they were written, so that generated documents do not change by chance.
package indirect enum JSONValue: Hashable, Sendable {
    case null
    case bool(Bool)
    case integer(Int)
    case number(Double)
    case string(String)
    case array([JSONValue])
    case object([Member])

    /// Of an object. A name that comes twice is written twice.
    package struct Member: Hashable, Sendable {
        package var name: String
        package var value: JSONValue

        package init(_ name: String, _ value: JSONValue) {
            (self.name, self.value) = (name, value)
        }
    }

    /// The value of the first member of that name; nil where this is no object or has none.
    package subscript(name: String) -> JSONValue? {
        guard case .object(let members) = self else { return nil }
        return members.first { $0.name == name }?.value
    }

    /// Compact JSON in UTF-8. Numbers that JSON cannot say (NaN, infinities) become null.
    package var text: String {
        var output = ""
        write(to: &output)
        return output
    }

    private func write(to output: inout String) {
        switch self {
        case .null: output += "null"
        case .bool(let value): output += value ? "true" : "false"
        case .integer(let value): output += String(value)
        case .number(let value): output += !value.isFinite ? "null" : Int(exactly: value).map(String.init) ?? String(value)
        case .string(let value): JSONValue.writeString(value, to: &output)
        case .array(let values): write(values, "[", "]", to: &output) { $0.write(to: &$1) }
        case .object(let members):
            write(members, "{", "}", to: &output) { member, output in
                JSONValue.writeString(member.name, to: &output)
                output += ":"
                member.value.write(to: &output)
            }
        }
    }

    private func write<Item>(
        _ items: [Item], _ open: String, _ close: String, to output: inout String, _ writeItem: (Item, inout String) -> Void
    ) {
        output += open
        for (index, item) in items.enumerated() {
            if index > 0 { output += "," }
            writeItem(item, &output)
        }
        output += close
    }

    private static func writeString(_ value: String, to output: inout String) {
        output += "\""
        for scalar in value.unicodeScalars {
            switch scalar {
            case "\"": output += "\\\""
            case "\\": output += "\\\\"
            case "\n": output += "\\n"
            case _ where scalar.value < 0x20:
                let digits = String(scalar.value, radix: 16)
                output += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            default: output.unicodeScalars.append(scalar)
            }
        }
        output += "\""
    }
}

extension JSONValue: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral, ExpressibleByBooleanLiteral,
    ExpressibleByNilLiteral, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
    package init(stringLiteral value: String) { self = .string(value) }
    package init(integerLiteral value: Int) { self = .integer(value) }
    package init(floatLiteral value: Double) { self = .number(value) }
    package init(booleanLiteral value: Bool) { self = .bool(value) }
    package init(nilLiteral: ()) { self = .null }
    package init(arrayLiteral elements: JSONValue...) { self = .array(elements) }
    /// Keeps the literal's order.
    package init(dictionaryLiteral elements: (String, JSONValue)...) { self = .object(elements.map { Member($0.0, $0.1) }) }
}
