// Reading a form field by field, so that every wrong one is named at once and not only the first.

/// Takes fields out of one object and notes what is wrong with each. What is null counts as absent. A fault never holds what was
/// typed.
package struct FormReader: Sendable {
    /// Characters of any text unless told.
    package static let longestText = 200
    /// A caller that sends rubbish learns no more than this.
    private static let mostFaults = 50

    /// In the order in which they were found.
    package private(set) var faults: [Problem.FieldError] = []
    private let fields: [String: JSONTree]
    private var known: Set<String> = []

    /// Anything but an object is a fault at once.
    package init(_ form: JSONTree) {
        guard case .fields(let fields) = form else {
            self.fields = [:]
            faults = [.init(pointer: "", detail: "expected a JSON object")]
            return
        }
        self.fields = fields
    }

    /// Whether the field is there, be it null.
    package func mentions(_ name: String) -> Bool {
        fields[name] != nil
    }

    /// Whether the field is there as null: taken away.
    package func clears(_ name: String) -> Bool {
        fields[name] == .null
    }

    /// Notes a fault of the service's own; `detail` says what to do and never what was typed.
    package mutating func wrong(_ name: String, _ detail: String) {
        guard faults.count < Self.mostFaults else { return }
        faults.append(.init(pointer: "/" + name, detail: detail))
    }

    /// Notes every field that nobody asked for.
    package mutating func finish() {
        for name in fields.keys.filter({ !known.contains($0) }).sorted().prefix(max(0, Self.mostFaults - faults.count)) {
            // The name of an unknown field is the sender's own words; only a harmless one is said back.
            let isPlain = name.utf8.count <= 64 && name.unicodeScalars.allSatisfy { ("a"..."z").contains($0) || ("A"..."Z").contains($0) }
            faults.append(.init(pointer: isPlain ? "/" + name : "", detail: "there is no such field; leave it out"))
        }
    }

    // MARK: Fields

    /// The field as it was sent; nil where it is absent or null, which is a fault where it `isRequired`.
    package mutating func value(_ name: String, isRequired: Bool) -> JSONTree? {
        known.insert(name)
        guard let value = fields[name], value != .null else {
            if isRequired { wrong(name, "is missing; fill it in") }
            return nil
        }
        return value
    }

    /// A text without white space around it; an empty one counts as absent.
    package mutating func text(_ name: String, isRequired: Bool = true, longest: Int = longestText) -> String? {
        guard let value = value(name, isRequired: isRequired) else { return nil }
        guard case .text(let raw) = value else {
            wrong(name, "expected a text")
            return nil
        }
        let text = raw.trimmed
        guard !text.isEmpty else {
            if isRequired { wrong(name, "is empty; fill it in") }
            return nil
        }
        // One character may be made of any number of code points; two marks on each letter are eight bytes at most.
        guard text.utf8.count <= 8 * longest, text.count <= longest else {
            wrong(name, "expected at most \(longest) characters")
            return nil
        }
        guard PlainText.isClean(text, ofOneLine: true) else {
            wrong(name, PlainText.advice)
            return nil
        }
        return text
    }

    /// A text that `read` makes sense of.
    /// - Parameter expected: what to do, said where it cannot.
    package mutating func read<Value>(
        _ name: String, isRequired: Bool = true, expected: String, _ read: (String) -> Value?
    ) -> Value? {
        guard let text = text(name, isRequired: isRequired, longest: 512) else { return nil }
        guard let value = read(text) else {
            wrong(name, expected)
            return nil
        }
        return value
    }

    /// A text that is one of the raw values, exactly.
    package mutating func choice<Choice: RawRepresentable & CaseIterable>(
        _ name: String, isRequired: Bool = true, of kind: Choice.Type = Choice.self
    ) -> Choice? where Choice.RawValue == String {
        read(name, isRequired: isRequired, expected: "expected one of " + Choice.allCases.map(\.rawValue).joined(separator: ", ")) {
            Choice(rawValue: $0)
        }
    }

    /// Both ends belong to `range`; `unit` is for the words of the fault.
    package mutating func number(_ name: String, isRequired: Bool = true, in range: ClosedRange<Double>, unit: String) -> Double? {
        guard let value = value(name, isRequired: isRequired) else { return nil }
        guard case .number(let number) = value, range.contains(number) else {
            wrong(name, "expected a number from \(Self.plain(range.lowerBound)) to \(Self.plain(range.upperBound)) \(unit)")
            return nil
        }
        return number
    }

    /// False where it is absent or null.
    package mutating func flag(_ name: String) -> Bool {
        guard let value = value(name, isRequired: false) else { return false }
        guard case .flag(let flag) = value else {
            wrong(name, "expected true or false")
            return false
        }
        return flag
    }

    /// A list of texts that `read` makes sense of, each once.
    package mutating func list<Value: Hashable>(_ name: String, most: Int, expected: String, _ read: (String) -> Value?) -> [Value] {
        guard let value = value(name, isRequired: false) else { return [] }
        guard case .list(let items) = value, items.count <= most else {
            wrong(name, "expected a list of at most \(most)")
            return []
        }
        var found: [Value] = []
        for (index, item) in items.enumerated() {
            guard case .text(let text) = item, let value = read(text), !found.contains(value) else {
                wrong("\(name)/\(index)", expected)
                continue
            }
            found.append(value)
        }
        return found
    }

    private static func plain(_ number: Double) -> String {
        number == number.rounded() ? String(Int(number)) : String(number)
    }
}
