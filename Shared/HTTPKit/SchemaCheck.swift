// A JSON text held against a schema: every fault with its place, so that a caller can mend all of them at once (UI-14).

import Contracts
import Foundation

/// Any JSON value, read once for the check.
indirect enum JSONTree: Decodable, Sendable {
    case null
    case bool(Bool)
    case integer(Int)
    case number(Double)
    case string(String)
    case array([JSONTree])
    case object([String: JSONTree])

    init(from decoder: any Decoder) throws {
        let value = try decoder.singleValueContainer()
        if value.decodeNil() {
            self = .null
        } else if let read = try? value.decode(Bool.self) {
            self = .bool(read)
        } else if let read = try? value.decode(Int.self) {
            self = .integer(read)
        } else if let read = try? value.decode(Double.self) {
            self = .number(read)
        } else if let read = try? value.decode(String.self) {
            self = .string(read)
        } else if let read = try? value.decode([JSONTree].self) {
            self = .array(read)
        } else {
            self = .object(try value.decode([String: JSONTree].self))
        }
    }
}

extension JSONSchema {
    /// A caller that sends rubbish learns no more than this.
    private static let mostFaults = 50

    /// Everything that does not fit, in the order of the schema; empty where all does.
    func faults(in tree: JSONTree) -> [Problem.FieldError] {
        var faults: [Problem.FieldError] = []
        check(tree, at: "", &faults)
        return Array(faults.prefix(Self.mostFaults))
    }

    private func check(_ tree: JSONTree, at pointer: String, _ faults: inout [Problem.FieldError]) {
        func fault(_ detail: String) { faults.append(.init(pointer: pointer, detail: detail)) }
        guard faults.count < Self.mostFaults else { return }
        if case .null = tree {
            if !isNullable, !isAnything { fault("must not be null") }
            return
        }
        switch kind {
        case .anything: return
        case .plain(let type, let keywords):
            if let detail = Self.fault(of: tree, type, keywords) { fault(detail) }
        case .array(let item, let count):
            guard case .array(let items) = tree else { return fault("must be an array") }
            if let count, !count.contains(items.count) { fault("must have \(count.lowerBound) to \(count.upperBound) items") }
            for (index, element) in items.enumerated() { item.check(element, at: pointer + "/\(index)", &faults) }
        case .map(let value):
            guard case .object(let members) = tree else { return fault("must be an object") }
            for (name, member) in members.sorted(by: { $0.key < $1.key }) {
                value.check(member, at: pointer + JSONPointer.step(name), &faults)
            }
        case .object(let properties):
            guard case .object(let members) = tree else { return fault("must be an object") }
            for property in properties {
                let place = pointer + JSONPointer.step(property.name)
                if let member = members[property.name] {
                    // An absent member and a null one say the same where the member may be absent.
                    if case .null = member, !property.isRequired { continue }
                    property.schema.check(member, at: place, &faults)
                } else if property.isRequired {
                    faults.append(.init(pointer: place, detail: "is required"))
                }
            }
            for name in Set(members.keys).subtracting(properties.map(\.name)).sorted() {
                faults.append(.init(pointer: pointer + JSONPointer.step(name), detail: "is not known here"))
            }
        case .anyOf(let schemas):
            if !schemas.contains(where: { $0.faults(in: tree).isEmpty }) { fault("has none of the forms that are possible here") }
        }
    }

    private var isAnything: Bool {
        if case .anything = kind { true } else { false }
    }

    private static func fault(of tree: JSONTree, _ type: String, _ keywords: [JSONValue.Member]) -> String? {
        let keyword = { (name: String) in keywords.first { $0.name == name }?.value }
        switch (type, tree) {
        case ("boolean", .bool): return nil
        case ("integer", .integer(let value)): return rangeFault(Double(value), keyword, "a whole number")
        case ("number", .integer(let value)): return rangeFault(Double(value), keyword, "a number")
        case ("number", .number(let value)): return rangeFault(value, keyword, "a number")
        case ("string", .string(let value)): return stringFault(value, keyword)
        case ("boolean", _): return "must be true or false"
        case ("integer", _): return "must be a whole number"
        case ("number", _): return "must be a number"
        default: return "must be text"
        }
    }

    private static func rangeFault(_ value: Double, _ keyword: (String) -> JSONValue?, _ what: String) -> String? {
        guard let least = keyword("minimum")?.double, let most = keyword("maximum")?.double, !(least...most).contains(value) else {
            return nil
        }
        return "must be \(what) from \(keyword("minimum")?.text ?? "") to \(keyword("maximum")?.text ?? "")"
    }

    private static func stringFault(_ value: String, _ keyword: (String) -> JSONValue?) -> String? {
        if case .array(let values)? = keyword("enum"), !values.contains(.string(value)) {
            return "must be one of " + values.map { if case .string(let name) = $0 { name } else { "" } }.joined(separator: ", ")
        }
        if case .integer(let least)? = keyword("minLength"), case .integer(let most)? = keyword("maxLength"),
            !(least...most).contains(value.unicodeScalars.count)
        {
            return "must have \(least) to \(most) characters"
        }
        if case .string(let pattern)? = keyword("pattern"), let regex = try? Regex(pattern), value.firstMatch(of: regex) == nil {
            return "has not the right form"
        }
        switch keyword("format") {
        case "date-time": return Timestamp(rfc3339: value) == nil ? "must be a time like 2026-01-10T00:31:00.000Z" : nil
        case "date": return Timestamp(rfc3339: value + "T00:00:00Z") == nil ? "must be a day like 2026-01-10" : nil
        default: return nil
        }
    }
}

extension JSONValue {
    fileprivate var double: Double? {
        switch self {
        case .integer(let value): Double(value)
        case .number(let value): value
        default: nil
        }
    }
}
