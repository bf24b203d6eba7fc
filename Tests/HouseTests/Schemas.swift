// JSON Schemas of the types in Contracts, for docs/asyncapi.yaml.

import Foundation

enum Schemas {
    /// Types whose JSON is not an object of their properties.
    private static let special: [String: String] = [
        "Timestamp": "{ type: integer, format: int64, description: \"Milliseconds since 1970-01-01T00:00:00Z.\" }",
        "RequestId": "{ type: string, pattern: \"^[0-9a-f]{32}$\", description: \"128 random bits in hex; a retry repeats it.\" }",
        "PersonID": identifier("per"), "DeviceID": identifier("dev"), "EmergencyID": identifier("emg"),
        "OperatorID": identifier("opr"), "MemberID": identifier("mem"), "OrganisationID": identifier("org"),
        "PaymentID": identifier("pay"), "SessionID": identifier("ses"), "RequestID": identifier("req"), "GroupRequestID": identifier("grp"),
        "GrantID": identifier("grt"),
        "MessageID": identifier("msg"), "ErasureID": identifier("ers"), "ClientID": identifier("cli"),
        "WebhookEndpointID": identifier("end"),
        "Peer": "{ type: string, description: \"The name of a process with a key pair of its own.\" }",
    ]

    static func all() -> String {
        var text = ""
        for name in special.keys.sorted() { text += "    \(name): \(special[name] ?? "")\n" }
        text += "    Metric: { type: string, enum: [\(ContractsReader.metrics.joined(separator: ", "))] }\n"
        for type in reachable() { text += schema(of: type) }
        return text
    }

    /// What travels: facts, requests, answers, and whatever those hold.
    private static func reachable() -> [ContractType] {
        var waiting = (ContractsReader.facts + ContractsReader.requests).map(\.name) + ["StreamHeader", "Heartbeat", "Failure", "Nothing"]
        waiting += ContractsReader.requests.compactMap { ContractsReader.type("\($0.name).Reply")?.name }
        var found: [String: ContractType] = [:]
        while let name = waiting.popLast() {
            guard found[name] == nil, !isSpecial(name), let type = ContractsReader.type(name) else { continue }
            found[name] = type
            for property in type.properties {
                if let inner = element(of: property.type), let held = resolve(inner, in: type) { waiting.append(held.name) }
            }
        }
        return found.values.sorted { $0.name < $1.name }
    }

    /// `Fact` inside `ReplayStream.Reply` is `ReplayStream.Fact`.
    private static func resolve(_ name: String, in type: ContractType) -> ContractType? {
        var outer = type.name
        while true {
            if let found = ContractsReader.types.first(where: { $0.name == (outer.isEmpty ? name : "\(outer).\(name)") }) { return found }
            guard !outer.isEmpty else { return nil }
            outer = outer.split(separator: ".").dropLast().joined(separator: ".")
        }
    }

    private static func element(of type: String) -> String? {
        type.matches(of: "^\\[(?:\\w+: )?([\\w.]+)\\]$").first?[1] ?? type.matches(of: "^Set<([\\w.]+)>$").first?[1]
            ?? type.matches(of: "^[\\w.]+$").first?[0]
    }

    private static func schema(of type: ContractType) -> String {
        var text = "    \(type.name):\n"
        if !type.comment.isEmpty { text += "      description: \(AsyncAPI.quoted(type.comment))\n" }
        if type.kind == "enum" { return text + "      enum: [\(type.cases.joined(separator: ", "))]\n" }
        text += "      type: object\n"
        let required = type.properties.filter { !$0.isOptional }.map(\.name)
        if !required.isEmpty { text += "      required: [\(required.joined(separator: ", "))]\n" }
        guard !type.properties.isEmpty else { return text }
        text += "      properties:\n"
        for property in type.properties {
            let shape = shape(of: property.type, in: type)
            let comment = property.comment.isEmpty ? "" : ", description: \(AsyncAPI.quoted(property.comment))"
            // A reference stands alone in AsyncAPI: what is said about the property goes beside it.
            let described = shape.hasPrefix("$ref") && !comment.isEmpty ? "allOf: [ { \(shape) } ]" : shape
            text += "        \(property.name): { \(described)\(comment) }\n"
        }
        return text
    }

    private static func shape(of type: String, in outer: ContractType) -> String {
        switch type {
        case "String": return "type: string"
        case "Bool": return "type: boolean"
        case "Int32": return "type: integer, format: int32"
        case "Int", "Int64": return "type: integer, format: int64"
        case "Double": return "type: number, format: double"
        default: break
        }
        if type.hasPrefix("=") { return "const: \(type.dropFirst())" }
        if let map = type.matches(of: "^\\[\\w+: ([\\w.]+)\\]$").first {
            return "type: object, additionalProperties: { \(shape(of: map[1], in: outer)) }"
        }
        if let list = type.matches(of: "^\\[([\\w.]+)\\]$").first { return "type: array, items: { \(shape(of: list[1], in: outer)) }" }
        if let set = type.matches(of: "^Set<([\\w.]+)>$").first {
            return "type: array, uniqueItems: true, items: { \(shape(of: set[1], in: outer)) }"
        }
        if isSpecial(type) { return "$ref: \(AsyncAPI.quoted("#/components/schemas/\(type)"))" }
        // A type that Contracts does not have is left as a reference into nothing, which a test reports.
        return "$ref: \(AsyncAPI.quoted("#/components/schemas/\(resolve(type, in: outer)?.name ?? type)"))"
    }

    private static func isSpecial(_ type: String) -> Bool {
        special[type] != nil || type == "Metric"
    }

    private static func identifier(_ prefix: String) -> String {
        "{ type: string, pattern: \"^\(prefix)_[0-7][0-9a-hjkmnp-tv-z]{25}$\" }"
    }
}
