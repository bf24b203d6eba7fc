// A JSON text held against a schema: every fault with its place, so that a caller can mend all of them at once (UI-14).

import Contracts

extension JSONSchema {
    /// Everything that does not fit, in the order of the text, and of what is missing after that; empty where all does. Takes time
    /// linear in the text's length.
    /// - Throws: where the text may not be read at all (`CheckedJSON`).
    func faults(in bytes: UnsafeRawBufferPointer) throws(JSONFault) -> [Problem.FieldError] {
        try CheckedJSON.check(bytes)
        var check = SchemaCheck(JSONCursor(bytes, range: 0..<bytes.count))
        try check.value(self)
        return check.faults
    }

    fileprivate var isAnything: Bool {
        if case .anything = kind { true } else { false }
    }
}

/// Walks through a text and a schema side by side.
private struct SchemaCheck {
    /// A caller that sends rubbish learns no more than this.
    private static let mostFaults = 50

    private enum Step {
        case member(String)
        case item(Int)
    }

    private var cursor: JSONCursor
    private(set) var faults: [Problem.FieldError] = []
    private var path: [Step] = []

    init(_ cursor: JSONCursor) {
        self.cursor = cursor
    }

    private mutating func fault(_ fault: FieldFault) {
        guard faults.count < Self.mostFaults else { return }
        let steps = path.map { step in
            switch step {
            case .member(let name): JSONPointer.step(name)
            case .item(let index): "/\(index)"
            }
        }
        faults.append(.init(pointer: steps.joined(), fault))
    }

    private mutating func fault(at name: String, _ fault: FieldFault) {
        path.append(.member(name))
        self.fault(fault)
        path.removeLast()
    }

    /// Takes one value, which is JSON. Recurses no deeper than the text, which is bounded.
    mutating func value(_ schema: JSONSchema) throws(JSONFault) {
        guard faults.count < Self.mostFaults, !schema.isAnything else { return try cursor.skipValue(depth: 0) }
        let first = cursor.peek()
        if first == UInt8(ascii: "n") {
            if !schema.isNullable { fault(.nullNotAllowed) }
            return try cursor.skipValue(depth: 0)
        }
        switch schema.kind {
        case .anything: try cursor.skipValue(depth: 0)
        case .plain(let type, let keywords): try plain(first, type, keywords)
        case .array(let item, let count):
            guard first == UInt8(ascii: "[") else { return try otherThan(.list) }
            try array(of: item, count)
        case .map(let value):
            guard first == UInt8(ascii: "{") else { return try otherThan(.object) }
            try map(of: value)
        case .object(let properties):
            guard first == UInt8(ascii: "{") else { return try otherThan(.object) }
            try object(properties)
        case .anyOf(let schemas): try any(of: schemas)
        }
    }

    private mutating func otherThan(_ kind: FieldFault.ValueKind) throws(JSONFault) {
        fault(.wrongType(kind))
        try cursor.skipValue(depth: 0)
    }

    private mutating func array(of item: JSONSchema, _ count: ClosedRange<Int>?) throws(JSONFault) {
        var found = 0
        var cursor = cursor
        try cursor.elements { inner throws(JSONFault) in
            self.cursor = inner
            path.append(.item(found))
            try value(item)
            path.removeLast()
            found += 1
            inner = self.cursor
        }
        self.cursor = cursor
        if let count, !count.contains(found) { fault(.wrongCount(count)) }
    }

    private mutating func map(of member: JSONSchema) throws(JSONFault) {
        try members { check, name throws(JSONFault) in
            check.path.append(.member(name))
            try check.value(member)
            check.path.removeLast()
        }
    }

    private mutating func object(_ properties: [JSONSchema.Property]) throws(JSONFault) {
        var isThere = [Bool](repeating: false, count: properties.count)
        try members { check, name throws(JSONFault) in
            guard let place = properties.firstIndex(where: { $0.name == name }) else {
                check.fault(at: name, .unknownField)
                return try check.cursor.skipValue(depth: 0)
            }
            // An absent member and a null one say the same where the member may be absent.
            if !properties[place].isRequired, check.cursor.peek() == UInt8(ascii: "n") { return try check.cursor.skipValue(depth: 0) }
            isThere[place] = true
            check.path.append(.member(name))
            try check.value(properties[place].schema)
            check.path.removeLast()
        }
        for (place, property) in properties.enumerated() where property.isRequired && !isThere[place] {
            fault(at: property.name, .required)
        }
    }

    private mutating func members(_ take: (inout SchemaCheck, String) throws(JSONFault) -> Void) throws(JSONFault) {
        var cursor = cursor
        try cursor.members { name, inner throws(JSONFault) in
            self.cursor = inner
            try take(&self, inner.string(name))
            inner = self.cursor
        }
        self.cursor = cursor
    }

    private mutating func any(of schemas: [JSONSchema]) throws(JSONFault) {
        let (start, before) = (cursor, faults)
        for schema in schemas {
            (cursor, faults) = (start, [])
            try value(schema)
            if faults.isEmpty {
                faults = before
                return
            }
        }
        faults = before
        fault(.noPossibleForm)
    }

    // MARK: Values without values in them

    private mutating func plain(_ first: UInt8, _ type: String, _ keywords: [JSONValue.Member]) throws(JSONFault) {
        let keyword = { (name: String) in keywords.first { $0.name == name }?.value }
        switch (type, first) {
        case ("boolean", UInt8(ascii: "t")), ("boolean", UInt8(ascii: "f")): try cursor.skipValue(depth: 0)
        case ("integer", UInt8(ascii: "-")), ("integer", UInt8(ascii: "0")...UInt8(ascii: "9")):
            let number = try cursor.number()
            guard let whole = number.whole.map(Int.init) ?? Int(exactly: number.value) else { return fault(.wrongType(.wholeNumber)) }
            if let found = Self.rangeFault(Double(whole), keyword, .wholeNumber) { fault(found) }
        case ("number", UInt8(ascii: "-")), ("number", UInt8(ascii: "0")...UInt8(ascii: "9")):
            let number = try cursor.number().value
            guard number.isFinite else { return fault(.wrongType(.number)) }
            if let found = Self.rangeFault(number, keyword, .number) { fault(found) }
        case ("string", UInt8(ascii: "\"")):
            let text = try cursor.text()
            if !keywords.isEmpty, let found = Self.stringFault(cursor.string(text), keyword) { fault(found) }
        case ("boolean", _): try otherThan(.flag)
        case ("integer", _): try otherThan(.wholeNumber)
        case ("number", _): try otherThan(.number)
        default: try otherThan(.text)
        }
    }

    private static func rangeFault(
        _ value: Double, _ keyword: (String) -> JSONValue?, _ kind: FieldFault.ValueKind
    ) -> FieldFault? {
        guard let least = keyword("minimum")?.double, let most = keyword("maximum")?.double, !(least...most).contains(value) else {
            return nil
        }
        return .outOfRange(keyword("minimum")?.text ?? "", keyword("maximum")?.text ?? "", kind)
    }

    private static func stringFault(_ value: String, _ keyword: (String) -> JSONValue?) -> FieldFault? {
        if case .array(let values)? = keyword("enum"), !values.contains(.string(value)) {
            return .notAnOption(values.map { if case .string(let name) = $0 { name } else { "" } })
        }
        if case .integer(let least)? = keyword("minLength"), case .integer(let most)? = keyword("maxLength"),
            !(least...most).contains(value.unicodeScalars.count)
        {
            return .wrongLength(least...most)
        }
        if case .string(let pattern)? = keyword("pattern"), let pattern = TextPattern(pattern), !pattern.matches(value) {
            return .wrongFormat
        }
        // Nobody is shown a password, and one that was chosen long ago must go on being taken.
        if keyword("format") != .string("password"), !PlainText.isClean(value) { return .unreadableCharacters }
        switch keyword("format") {
        case "date-time": return Timestamp(rfc3339: value) == nil ? .notATime : nil
        case "date": return Timestamp(rfc3339: value + "T00:00:00Z") == nil ? .notADay : nil
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
