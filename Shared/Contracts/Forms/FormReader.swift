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
            faults = [.init(pointer: "", .wrongType(.object))]
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

    /// Notes a fault of the service's own.
    package mutating func wrong(_ name: String, _ fault: FieldFault) {
        guard faults.count < Self.mostFaults else { return }
        faults.append(.init(pointer: "/" + name, fault))
    }

    /// Notes every field that nobody asked for.
    package mutating func finish() {
        for name in fields.keys.filter({ !known.contains($0) }).sorted().prefix(max(0, Self.mostFaults - faults.count)) {
            // The name of an unknown field is the sender's own words; only a harmless one is said back.
            let isPlain = name.utf8.count <= 64 && name.unicodeScalars.allSatisfy { ("a"..."z").contains($0) || ("A"..."Z").contains($0) }
            faults.append(.init(pointer: isPlain ? "/" + name : "", .unknownField))
        }
    }

    // MARK: Fields

    /// The field as it was sent; nil where it is absent or null, which is a fault where it `isRequired`.
    package mutating func value(_ name: String, isRequired: Bool) -> JSONTree? {
        known.insert(name)
        guard let value = fields[name], value != .null else {
            if isRequired { wrong(name, .required) }
            return nil
        }
        return value
    }

    /// A text without white space around it; an empty one counts as absent.
    package mutating func text(_ name: String, isRequired: Bool = true, longest: Int = longestText) -> String? {
        guard let value = value(name, isRequired: isRequired) else { return nil }
        guard case .text(let raw) = value else {
            wrong(name, .wrongType(.text))
            return nil
        }
        let text = raw.trimmed
        guard !text.isEmpty else {
            if isRequired { wrong(name, .required) }
            return nil
        }
        // One character may be made of any number of code points; two marks on each letter are eight bytes at most.
        guard text.utf8.count <= 8 * longest, text.count <= longest else {
            wrong(name, .tooLong(longest))
            return nil
        }
        guard PlainText.isClean(text, ofOneLine: true) else {
            wrong(name, .unreadableCharacters)
            return nil
        }
        return text
    }

    /// A text that `read` makes sense of.
    /// - Parameter fault: noted where it cannot.
    package mutating func read<Value>(
        _ name: String, isRequired: Bool = true, orElse fault: FieldFault, _ read: (String) -> Value?
    ) -> Value? {
        guard let text = text(name, isRequired: isRequired, longest: 512) else { return nil }
        guard let value = read(text) else {
            wrong(name, fault)
            return nil
        }
        return value
    }

    /// A text that is one of the raw values, exactly.
    package mutating func choice<Choice: RawRepresentable & CaseIterable>(
        _ name: String, isRequired: Bool = true, of kind: Choice.Type = Choice.self
    ) -> Choice? where Choice.RawValue == String {
        read(name, isRequired: isRequired, orElse: .notAnOption(Choice.allCases.map(\.rawValue))) {
            Choice(rawValue: $0)
        }
    }

    /// Both ends belong to `range`.
    package mutating func number(_ name: String, isRequired: Bool = true, in range: ClosedRange<Double>, _ unit: FieldFault.Unit) -> Double?
    {
        guard let value = value(name, isRequired: isRequired) else { return nil }
        guard case .number(let number) = value, range.contains(number) else {
            wrong(name, .outOfRange(Self.plain(range.lowerBound), Self.plain(range.upperBound), in: unit))
            return nil
        }
        return number
    }

    /// False where it is absent or null.
    package mutating func flag(_ name: String) -> Bool {
        guard let value = value(name, isRequired: false) else { return false }
        guard case .flag(let flag) = value else {
            wrong(name, .wrongType(.flag))
            return false
        }
        return flag
    }

    /// A list of texts that `read` makes sense of, each once.
    package mutating func list<Value: Hashable>(_ name: String, most: Int, orElse fault: FieldFault, _ read: (String) -> Value?) -> [Value]
    {
        guard let value = value(name, isRequired: false) else { return [] }
        guard case .list(let items) = value, items.count <= most else {
            wrong(name, .wrongCount(0...most))
            return []
        }
        var found: [Value] = []
        for (index, item) in items.enumerated() {
            guard case .text(let text) = item, let value = read(text), !found.contains(value) else {
                wrong("\(name)/\(index)", fault)
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
