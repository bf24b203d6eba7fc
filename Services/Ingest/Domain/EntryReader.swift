// One entry of an upload: its keys in any order, each known one at most once, everything else skipped.

import Contracts

/// Reads entries one after the other from one cursor; remembers the last calendar day, because entries come in runs.
struct EntryReader {
    var cursor: JSONCursor
    /// What was told at the top of the document or line.
    private(set) var sending = Sending()
    private var tellsSending = false
    private let catalogue: MetricCatalogue
    private var lastDay = DayMemory()

    init(_ cursor: JSONCursor, catalogue: MetricCatalogue) {
        (self.cursor, self.catalogue) = (cursor, catalogue)
    }

    /// A key of an object. `entries` and `firstTriedAt` are only known at the top of a document, `sentAt` at that of a line too.
    enum Key {
        case field(EntryField)
        case entries
        case firstTriedAt
        case sentAt
        case unknown

        var isEntries: Bool {
            if case .entries = self { return true }
            return false
        }

        var isFirstTriedAt: Bool {
            if case .firstTriedAt = self { return true }
            return false
        }
    }

    /// Takes one value where an entry is expected; `depth` counts what is open around it.
    @inline(__always)
    mutating func entry(depth: Int) throws(JSONFault) -> EntryDraft {
        var draft = EntryDraft()
        guard cursor.peek() == UInt8(ascii: "{") else {
            try cursor.skipValue(depth: depth)
            draft.fault = .notAnObject
            return draft
        }
        cursor.at += 1
        if cursor.peek() == UInt8(ascii: "}") {
            cursor.at += 1
            return draft
        }
        repeat {
            let key = try key()
            try member(key, of: &draft, depth: depth + 1)
        } while try cursor.continues(until: UInt8(ascii: "}"))
        return draft
    }

    /// Takes a key and its colon.
    @inline(__always)
    mutating func key() throws(JSONFault) -> Key {
        let text = try cursor.text()
        try cursor.take(UInt8(ascii: ":"))
        guard text.escaped else { return Self.key(cursor.bytes, text.range) }
        return cursor.decoded(text).withUnsafeBytes { Self.key($0, 0..<$0.count) }
    }

    /// Compares up to eight bytes as one word; words are spelt backwards because the first byte is the lowest.
    @inline(__always)
    private static func key(_ bytes: UnsafeRawBufferPointer, _ range: Range<Int>) -> Key {
        var word: UInt64 = 0
        var shift: UInt64 = 0
        for index in range.lowerBound..<min(range.upperBound, range.lowerBound + 8) {
            word |= UInt64(bytes[index]) << shift
            shift += 8
        }
        switch (range.count, word) {
        case (4, 0x6570_7974): return .field(.type)
        case (2, 0x7461): return .field(.at)
        case (5, 0x65_756C_6176): return .field(.value)
        case (4, 0x7469_6E75): return .field(.unit)
        case (8, 0x6E6F_6974_6973_6F70): return .field(.position)
        case (8, 0x6564_7574_6974_616C): return .field(.latitude)
        case (9, 0x6475_7469_676E_6F6C) where bytes[range.lowerBound + 8] == UInt8(ascii: "e"): return .field(.longitude)
        case (8, 0x6564_7574_6974_6C61): return .field(.altitude)
        case (8, 0x7963_6172_7563_6361): return .field(.accuracy)
        case (7, 0x73_6569_7274_6E65): return .entries
        case (12, 0x6972_5474_7372_6966) where bytes[(range.lowerBound + 8)..<range.upperBound].elementsEqual("edAt".utf8):
            return .firstTriedAt
        case (6, 0x7441_746E_6573): return .sentAt
        default: return .unknown
        }
    }

    /// Takes the value of one key; `depth` counts the entry itself.
    @inline(__always)
    mutating func member(_ key: Key, of draft: inout EntryDraft, depth: Int) throws(JSONFault) {
        guard case .field(let field) = key else {
            if depth == 1, case .sentAt = key { return try sentAt() }
            return try cursor.skipValue(depth: depth)
        }
        let first = cursor.peek()
        if first == UInt8(ascii: "n") { return try cursor.literal("null") }
        switch field {
        case .type: try type(first, of: &draft, depth: depth)
        case .at: try time(first, of: &draft, depth: depth)
        case .unit: try unit(first, of: &draft, depth: depth)
        case .value: try number(first, .value, .value, \.value, of: &draft, depth: depth)
        case .position: try position(first, of: &draft, depth: depth)
        case .latitude, .longitude, .altitude, .accuracy: try coordinate(first, field, of: &draft, depth: depth)
        }
    }

    // MARK: Fields

    private mutating func type(_ first: UInt8, of draft: inout EntryDraft, depth: Int) throws(JSONFault) {
        guard first == UInt8(ascii: "\"") else { return try refuse(.wrongKind(.type), of: &draft, depth: depth) }
        let text = try cursor.text()
        draft.see(.type, .type)
        let metric =
            text.escaped
            ? cursor.decoded(text).withUnsafeBytes { catalogue.metric($0, 0..<$0.count) } : catalogue.metric(cursor.bytes, text.range)
        if metric == nil { draft.blame(.unknownMetric(named: Self.codeLike(cursor.decoded(text)))) }
        if let metric, let unit = draft.unit { judge(unit: unit, of: metric, in: &draft) }
        draft.metric = metric
    }

    private mutating func unit(_ first: UInt8, of draft: inout EntryDraft, depth: Int) throws(JSONFault) {
        guard first == UInt8(ascii: "\"") else { return try refuse(.wrongKind(.unit), of: &draft, depth: depth) }
        let text = try cursor.text()
        draft.see(.unit, .unit)
        if let metric = draft.metric {
            judge(unit: text, of: metric, in: &draft)
        } else {
            draft.unit = text
        }
    }

    private func judge(unit: JSONText, of metric: Metric, in draft: inout EntryDraft) {
        let fits =
            unit.escaped
            ? cursor.decoded(unit).withUnsafeBytes { catalogue.isUnit(of: metric, $0, 0..<$0.count) }
            : catalogue.isUnit(of: metric, cursor.bytes, unit.range)
        if !fits { draft.blame(.wrongUnit(metric)) }
    }

    private mutating func time(_ first: UInt8, of draft: inout EntryDraft, depth: Int) throws(JSONFault) {
        if first == UInt8(ascii: "\"") {
            let text = try cursor.text()
            draft.see(.at, .at)
            if let read = lastDay.timestamp(cursor, text) { draft.at = read } else { draft.blame(.unreadableTime) }
        } else if first == UInt8(ascii: "-") || first &- UInt8(ascii: "0") <= 9 {
            let number = try cursor.number()
            draft.see(.at, .at)
            if let whole = number.whole ?? Int64(exactly: number.value) {
                draft.at = Timestamp(milliseconds: whole)
            } else {
                draft.blame(.unreadableTime)
            }
        } else {
            try refuse(.wrongKind(.at), of: &draft, depth: depth)
        }
    }

    /// Takes a value; the time that it is, written as an entry's `at`, or nil.
    mutating func time(depth: Int) throws(JSONFault) -> Timestamp? {
        let first = cursor.peek()
        var draft = EntryDraft()
        try time(first, of: &draft, depth: depth)
        return draft.fault == nil ? draft.at : nil
    }

    /// Takes what is told of the whole document or line. What is no time is left out: a remark about an upload never costs the upload. A
    /// second one is a fault, as of every known key.
    private mutating func sentAt() throws(JSONFault) {
        let first = cursor.peek()
        let start = cursor.at
        if first == UInt8(ascii: "n") {
            try cursor.literal("null")
        } else if tellsSending {
            throw cursor.fault(.unexpectedByte)
        } else {
            tellsSending = true
            if let read = try self.time(depth: 1), read.milliseconds > 0 {
                sending.time = read
            } else {
                sending.isIgnored = true
            }
        }
        sending.ranges.append(member(ofValue: start..<cursor.at))
    }

    /// Where a member of an object stands: its key, its value, and the comma before it or, of the first one that is left, after it.
    private func member(ofValue value: Range<Int>) -> Range<Int> {
        let (bytes, quote, comma) = (cursor.bytes, UInt8(ascii: "\""), UInt8(ascii: ","))
        func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D }
        // Its key has no quote in it, however it is spelt.
        var start = value.lowerBound - 1
        while bytes[start] != quote { start -= 1 }
        start -= 1
        while bytes[start] != quote { start -= 1 }
        var before = start - 1
        while isBlank(bytes[before]) { before -= 1 }
        let isFree = before >= (sending.ranges.last?.upperBound ?? 0)
        if isFree, bytes[before] == comma {
            while isBlank(bytes[before - 1]) { before -= 1 }
            return before..<value.upperBound
        }
        var end = value.upperBound
        while end < cursor.end, isBlank(bytes[end]) { end += 1 }
        guard end < cursor.end, bytes[end] == comma else { return start..<value.upperBound }
        end += 1
        while end < cursor.end, isBlank(bytes[end]) { end += 1 }
        return start..<end
    }

    private mutating func coordinate(
        _ first: UInt8, _ field: EntryField, of draft: inout EntryDraft, depth: Int
    ) throws(JSONFault) {
        switch field {
        case .latitude: try number(first, .latitude, .latitude, \.latitude, of: &draft, depth: depth)
        case .longitude: try number(first, .longitude, .longitude, \.longitude, of: &draft, depth: depth)
        case .altitude: try number(first, .altitude, .altitude, \.altitude, of: &draft, depth: depth)
        default: try number(first, .accuracy, .accuracy, \.accuracy, of: &draft, depth: depth)
        }
    }

    @inline(__always)
    private mutating func number(
        _ first: UInt8, _ field: EntryField, _ flag: EntryDraft.FieldSet, _ place: WritableKeyPath<EntryDraft, Double>,
        of draft: inout EntryDraft, depth: Int
    ) throws(JSONFault) {
        guard first == UInt8(ascii: "-") || first &- UInt8(ascii: "0") <= 9 else {
            return try refuse(.wrongKind(field), of: &draft, depth: depth)
        }
        draft[keyPath: place] = try cursor.number().value
        draft.see(flag, field)
    }

    /// `"position":{…}`: the same fields as may stand in the entry itself, but not in both.
    private mutating func position(_ first: UInt8, of draft: inout EntryDraft, depth: Int) throws(JSONFault) {
        guard first == UInt8(ascii: "{") else { return try refuse(.wrongKind(.position), of: &draft, depth: depth) }
        draft.see(.position, .position)
        cursor.at += 1
        if cursor.peek() == UInt8(ascii: "}") {
            cursor.at += 1
            draft.blame(.missing(.latitude))
            return
        }
        repeat {
            let key = try key()
            let first = cursor.peek()
            if first == UInt8(ascii: "n") {
                try cursor.literal("null")
            } else if case .field(let field) = key, field.isCoordinate {
                try coordinate(first, field, of: &draft, depth: depth + 1)
            } else {
                try cursor.skipValue(depth: depth + 1)
            }
        } while try cursor.continues(until: UInt8(ascii: "}"))
        if draft.seen.isDisjoint(with: .place) { draft.blame(.missing(.latitude)) }
    }

    private mutating func refuse(_ fault: EntryFault, of draft: inout EntryDraft, depth: Int) throws(JSONFault) {
        draft.blame(fault)
        try cursor.skipValue(depth: depth)
    }

    /// The text where it may be named in the answer: a letter, then at most 39 letters, digits, dots, dashes or underscores.
    private static func codeLike(_ text: [UInt8]) -> String? {
        func isLetter(_ byte: UInt8) -> Bool { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20) }
        guard let first = text.first, isLetter(first), text.count <= 40,
            text.allSatisfy({ isLetter($0) || $0 &- UInt8(ascii: "0") <= 9 || "-_.".utf8.contains($0) })
        else { return nil }
        return String(decoding: text, as: UTF8.self)
    }
}

extension EntryFault {
    fileprivate var isOfPlace: Bool { field.map { $0 == .position || $0.isCoordinate } ?? false }
}

extension EntryField {
    fileprivate var isCoordinate: Bool {
        switch self {
        case .latitude, .longitude, .altitude, .accuracy: true
        case .type, .at, .value, .unit, .position: false
        }
    }
}

extension EntryDraft {
    /// Notes that a field was there; a second time is a fault, since it is not known which one counts.
    @inline(__always)
    fileprivate mutating func see(_ flag: FieldSet, _ field: EntryField) {
        if seen.contains(flag) { blame(.twice(field)) }
        seen.formUnion(flag)
    }

    fileprivate mutating func blame(_ reason: EntryFault) {
        if reason.isOfPlace {
            faultOfPlace = faultOfPlace ?? reason
        } else {
            fault = fault ?? reason
        }
    }
}

/// Reads times as they are mostly written, `2026-01-10T00:31:00.000Z`, computing a calendar day once for the entries that share it.
struct DayMemory {
    private var date: (UInt64, UInt16) = (0, 0)
    private var start: Int64 = 0

    @inline(__always)
    mutating func timestamp(_ cursor: JSONCursor, _ text: JSONText) -> Timestamp? {
        if !text.escaped, text.range.count == 24 || text.range.count == 20, let known = quick(cursor.bytes, text.range) {
            return known
        }
        return slow(cursor, text)
    }

    /// `…Z` with three digits of fraction or none, on the day of the time before.
    @inline(__always)
    private func quick(_ bytes: UnsafeRawBufferPointer, _ range: Range<Int>) -> Timestamp? {
        let at = range.lowerBound
        guard bytes.loadUnaligned(fromByteOffset: at, as: UInt64.self) == date.0,
            bytes.loadUnaligned(fromByteOffset: at + 8, as: UInt16.self) == date.1,
            bytes[at + 10] == UInt8(ascii: "T"), bytes[at + 13] == UInt8(ascii: ":"), bytes[at + 16] == UInt8(ascii: ":"),
            bytes[range.upperBound - 1] == UInt8(ascii: "Z")
        else { return nil }
        var wrong: UInt8 = 0
        func digit(_ offset: Int) -> Int64 {
            let digit = bytes[at + offset] &- UInt8(ascii: "0")
            wrong |= digit > 9 ? 1 : 0
            return Int64(digit)
        }
        let hour = digit(11) * 10 + digit(12)
        let minute = digit(14) * 10 + digit(15)
        let second = digit(17) * 10 + digit(18)
        var millisecond: Int64 = 0
        if range.count == 24 {
            guard bytes[at + 19] == UInt8(ascii: ".") else { return nil }
            millisecond = digit(20) * 100 + digit(21) * 10 + digit(22)
        }
        guard wrong == 0, hour < 24, minute < 60, second < 60 else { return nil }
        return Timestamp(milliseconds: start + ((hour * 60 + minute) * 60 + second) * 1000 + millisecond)
    }

    @inline(never)
    private mutating func slow(_ cursor: JSONCursor, _ text: JSONText) -> Timestamp? {
        if text.escaped { return cursor.decoded(text).withUnsafeBytes(Timestamp.init(rfc3339Bytes:)) }
        let bytes = UnsafeRawBufferPointer(rebasing: cursor.bytes[text.range])
        guard let read = Timestamp(rfc3339Bytes: bytes) else { return nil }
        // Only a time in UTC defines on which day its written date begins.
        if bytes[bytes.count - 1] | 0x20 == UInt8(ascii: "z") {
            date = (bytes.loadUnaligned(as: UInt64.self), bytes.loadUnaligned(fromByteOffset: 8, as: UInt16.self))
            start = read.milliseconds.flooredQuotientAndRemainder(dividingBy: 86_400_000).quotient * 86_400_000
        }
        return read
    }
}
