// The shape of JSON over HTTP, as JSON Schema 2020-12 (the dialect of OpenAPI 3.1).

package import Contracts

/// A type of HTTP that says its own shape.
package protocol Documented {
    static var schema: JSONSchema { get }
}

/// A JSON Schema. One with a name is written once under `components/schemas` and referred to everywhere else.
package struct JSONSchema: Sendable {
    /// Unique in a service: of two schemas with one name only the first is written.
    package var name: String?
    package var description: String?
    /// For the OpenAPI document; whether it fits is not checked.
    package var example: JSONValue?
    package var isNullable = false
    let kind: Kind

    indirect enum Kind: Sendable {
        /// Keywords as they stand, for everything that holds no further schema.
        case plain(type: String, keywords: [JSONValue.Member])
        case array(JSONSchema, count: ClosedRange<Int>?)
        case object([Property])
        case map(JSONSchema)
        case anyOf([JSONSchema])
        case anything
    }

    /// A member of an object; absent ones are refused only where `isRequired`.
    package struct Property: Sendable {
        let name: String
        let schema: JSONSchema
        let isRequired: Bool

        /// A description here stands instead of the schema's own.
        package static func required(_ name: String, _ schema: JSONSchema, _ description: String? = nil) -> Property {
            Property(name: name, schema: schema.described(description), isRequired: true)
        }

        /// Likewise; null says the same as absence.
        package static func optional(_ name: String, _ schema: JSONSchema, _ description: String? = nil) -> Property {
            Property(name: name, schema: schema.described(description), isRequired: false)
        }
    }

    private init(_ kind: Kind) {
        self.kind = kind
    }
}

// MARK: Making one

extension JSONSchema {
    package static let boolean = JSONSchema(.plain(type: "boolean", keywords: []))
    /// Every JSON value, null included.
    package static let anything = JSONSchema(.anything)

    /// - Parameter length: in Unicode code points.
    package static func string(length: ClosedRange<Int>? = nil, pattern: String? = nil, format: String? = nil) -> JSONSchema {
        var keywords: [JSONValue.Member] = []
        if let format { keywords.append(.init("format", .string(format))) }
        if let length { keywords += [.init("minLength", .integer(length.lowerBound)), .init("maxLength", .integer(length.upperBound))] }
        if let pattern { keywords.append(.init("pattern", .string(pattern))) }
        return JSONSchema(.plain(type: "string", keywords: keywords))
    }

    /// 64 bits; both ends belong to the range.
    package static func integer(in range: ClosedRange<Int>? = nil) -> JSONSchema {
        var keywords: [JSONValue.Member] = [.init("format", "int64")]
        if let range { keywords += [.init("minimum", .integer(range.lowerBound)), .init("maximum", .integer(range.upperBound))] }
        return JSONSchema(.plain(type: "integer", keywords: keywords))
    }

    /// IEEE 754 doubles; both ends belong to the range.
    package static func number(in range: ClosedRange<Double>? = nil) -> JSONSchema {
        var keywords: [JSONValue.Member] = [.init("format", "double")]
        if let range { keywords += [.init("minimum", .number(range.lowerBound)), .init("maximum", .number(range.upperBound))] }
        return JSONSchema(.plain(type: "number", keywords: keywords))
    }

    /// A string that is one of these.
    package static func oneOf(_ values: [String]) -> JSONSchema {
        JSONSchema(.plain(type: "string", keywords: [.init("enum", .array(values.map(JSONValue.string)))]))
    }

    /// Both ends belong to `count`; nil bounds it by the body's size alone.
    package static func array(of item: JSONSchema, count: ClosedRange<Int>? = nil) -> JSONSchema {
        JSONSchema(.array(item, count: count))
    }

    /// Members that are not named are refused in a request.
    package static func object(_ properties: Property...) -> JSONSchema {
        JSONSchema(.object(properties))
    }

    /// An object whose member names are data.
    package static func map(of value: JSONSchema) -> JSONSchema {
        JSONSchema(.map(value))
    }

    /// Fits where one of them does.
    package static func any(of schemas: JSONSchema...) -> JSONSchema {
        JSONSchema(.anyOf(schemas))
    }

    /// RFC 3339; answers are in UTC with milliseconds and `Z`, any offset is understood.
    package static let time: JSONSchema = {
        var schema = JSONSchema.string(format: "date-time")
        schema.example = "2026-01-10T00:31:00.000Z"
        return schema
    }()

    /// The written form of an `Identifier`.
    package static func identifier<Kind: Identified>(_ kind: Kind.Type) -> JSONSchema {
        .string(pattern: "^\(Kind.prefix)_[0-7][0-9abcdefghjkmnpqrstvwxyz]{25}$")
    }

    /// Stands once under `components/schemas`, and is referred to from there.
    package func named(_ name: String) -> JSONSchema {
        var copy = self
        copy.name = name
        return copy
    }

    /// nil leaves the description that there is.
    package func described(_ description: String?) -> JSONSchema {
        var copy = self
        copy.description = description ?? self.description
        return copy
    }

    /// The same, or `null`.
    package func nullable() -> JSONSchema {
        var copy = self
        copy.isNullable = true
        return copy
    }
}

// MARK: Writing it

extension JSONSchema {
    /// The schema as JSON; those with a name land in `components` and are referred to.
    /// - Parameter isClosed: whether members that it does not name are refused.
    func json(_ components: inout [String: JSONValue], isClosed: Bool = false) -> JSONValue {
        guard let name else { return written(&components, isClosed) }
        if components[name] == nil {
            components[name] = .null  // Taken already, so that a schema that holds itself comes to an end.
            var whole = self
            whole.isNullable = false
            components[name] = whole.written(&components, isClosed)
        }
        let reference: JSONValue = ["$ref": .string("#/components/schemas/\(name)")]
        return isNullable ? ["anyOf": [reference, ["type": "null"]]] : reference
    }

    private func written(_ components: inout [String: JSONValue], _ isClosed: Bool) -> JSONValue {
        var members: [JSONValue.Member] = []
        func type(_ name: String) { members.append(.init("type", isNullable ? [.string(name), "null"] : .string(name))) }
        switch kind {
        case .plain(let name, let keywords):
            type(name)
            members += keywords
        case .array(let item, let count):
            type("array")
            members.append(.init("items", item.json(&components, isClosed: isClosed)))
            if let count {
                members += [.init("minItems", .integer(count.lowerBound)), .init("maxItems", .integer(count.upperBound))]
            }
        case .object(let properties):
            type("object")
            let required = properties.filter(\.isRequired)
            if !required.isEmpty { members.append(.init("required", .array(required.map { .string($0.name) }))) }
            members.append(.init("properties", .object(properties.map { .init($0.name, $0.schema.json(&components, isClosed: isClosed)) })))
            if isClosed { members.append(.init("additionalProperties", false)) }
        case .map(let value):
            type("object")
            members.append(.init("additionalProperties", value.json(&components, isClosed: isClosed)))
        case .anyOf(let schemas):
            members.append(
                .init("anyOf", .array(schemas.map { $0.json(&components, isClosed: isClosed) } + (isNullable ? [["type": "null"]] : []))))
        case .anything:
            break
        }
        if let description { members.append(.init("description", .string(description))) }
        if let example { members.append(.init("examples", [example])) }
        return .object(members)
    }
}

// MARK: What every service speaks

extension Problem: Documented {
    package static var schema: JSONSchema {
        .object(
            .required("type", .string(pattern: "^\(prefix)[a-z0-9-]+$"), "What programs act on; stable."),
            .required("title", .string()),
            .required("status", .integer(in: 400...599)),
            .optional(
                "detail", .string(), "What happened and what can be done, for people; in English or Italian, as `Accept-Language` says."),
            .optional("errors", .array(of: FieldError.schema)),
            .optional("requestId", .string(), "To be quoted to whoever runs the suite.")
        ).named("Problem").described("RFC 9457 problem details.")
    }
}

extension Problem.FieldError: Documented {
    package static var schema: JSONSchema {
        .object(
            .required("pointer", .string(), "JSON Pointer (RFC 6901) into the body, or `query:name`, `header:name`."),
            .required(
                "code", .string(pattern: "^[a-z0-9]+(-[a-z0-9]+)*$"), "What programs act on; stable, of the list in docs/problems.md."),
            .required("detail", .string(), "In English or Italian, as `Accept-Language` says.")
        ).named("FieldError")
    }
}

extension Page: Documented where Item: Documented {
    /// Named after its items: `DevicePage` of `Device`.
    package static var schema: JSONSchema {
        let page = JSONSchema.object(
            .required("items", .array(of: Item.schema)),
            .required("next", .string().nullable(), "Null at the end; else the value of the parameter `after` for the following page."))
        return Item.schema.name.map { page.named($0 + "Page") } ?? page
    }
}
