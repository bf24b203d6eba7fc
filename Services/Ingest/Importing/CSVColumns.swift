// Which column of a CSV file holds what: by the names that an export writes, in any order, unknown ones skipped.

import Contracts

struct CSVColumns: Sendable {
    private let places: [EntryField: Int]
    private let catalogue = MetricCatalogue.registry

    /// `nil` where a needed column is missing or a known one stands there twice.
    init?(_ header: [String]) {
        var places: [EntryField: Int] = [:]
        for (place, name) in header.enumerated() {
            let name = name.lowercased().filter { $0 != " " }
            guard let field = EntryField(rawValue: name), field != .position else { continue }
            guard places.updateValue(place, forKey: field) == nil else { return nil }
        }
        guard places[.type] != nil, places[.at] != nil else { return nil }
        self.places = places
    }

    /// What a record holds, for the rules to judge; a cell that cannot be read is the draft's fault.
    func draft(_ record: [String]) -> EntryDraft {
        var draft = EntryDraft()
        func cell(_ field: EntryField) -> String? {
            guard let place = places[field], place < record.count, !record[place].isEmpty else { return nil }
            return record[place]
        }
        if let code = cell(.type) {
            draft.seen.insert(.type)
            draft.metric = Metric(code: code)
            if draft.metric == nil { draft.fault = .unknownMetric(named: Self.codeLike(code)) }
        }
        if let text = cell(.at) {
            draft.seen.insert(.at)
            if let at = Timestamp(rfc3339: text) ?? Int64(text).map(Timestamp.init(milliseconds:)) {
                draft.at = at
            } else {
                draft.blame(.unreadableTime)
            }
        }
        if let unit = cell(.unit), let metric = draft.metric, !MetricCatalogue.registry.isUnit(of: metric, unit) {
            draft.blame(.wrongUnit(metric))
        }
        func take(_ field: EntryField, _ flag: EntryDraft.FieldSet, _ path: WritableKeyPath<EntryDraft, Double>) {
            guard let text = cell(field) else { return }
            guard let number = Self.number(text) else { return draft.blame(.wrongKind(field)) }
            draft[keyPath: path] = number
            draft.seen.insert(flag)
        }
        take(.value, .value, \.value)
        take(.latitude, .latitude, \.latitude)
        take(.longitude, .longitude, \.longitude)
        take(.altitude, .altitude, \.altitude)
        take(.accuracy, .accuracy, \.accuracy)
        return draft
    }

    /// Decimal, with an exponent if need be; no hexadecimal, no words.
    private static func number(_ text: String) -> Double? {
        guard text.utf8.allSatisfy({ "0123456789.+-eE".utf8.contains($0) }), let number = Double(text), number.isFinite else { return nil }
        return number
    }

    private static func codeLike(_ text: String) -> String? {
        let isCode =
            text.utf8.count <= 40
            && text.utf8.allSatisfy { byte in
                (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20) || byte &- UInt8(ascii: "0") <= 9 || byte == UInt8(ascii: "-")
            }
        return isCode ? text : nil
    }
}

extension EntryDraft {
    /// The first thing that was wrong decides.
    fileprivate mutating func blame(_ reason: EntryFault) {
        if fault == nil { fault = reason }
    }
}
