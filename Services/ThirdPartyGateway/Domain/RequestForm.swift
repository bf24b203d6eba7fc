// What an organisation fills in to ask for people's data, and what is wrong with it (SHR-02, SHR-03).

import Contracts

/// One form, right in every field, for one person.
struct RequestForm: Hashable, Codable, Sendable {
    static let longestPurpose = 1000
    /// As consent has it: ten years of 366 days.
    static let furthestAhead = Duration.seconds(10 * 366 * 86_400)

    /// A person's identifier, of whatever country, spelt one way. Personal.
    let fiscalCode: String
    /// At least one, each once, in the order of the registry.
    let types: [Metric]
    let from: Timestamp
    /// Not included.
    let to: Timestamp
    let granularity: GrantGranularity
    /// May be personal.
    let purpose: String
}

/// The form as it was typed, in JSON or as a record of a list.
struct TypedForm: Codable, Hashable, Sendable {
    var types: [String]
    var from: String
    /// Not included; or `length` instead.
    var to: String?
    /// A ready-made length from `from` on: `P7D`, `P2W`, `P3M`, `P1Y`.
    var length: String?
    var granularity: String
    var purpose: String

    /// - Parameter place: put before the pointers of faults: where the form stands in what was sent.
    /// - Throws: every fault with its field.
    func read(
        fiscalCode typed: String, at now: Timestamp, codePointer: String = "/fiscalCode", place: String = ""
    ) throws(FormFaults) -> RequestForm {
        var faults: [Problem.FieldError] = []
        func fault(_ field: String, _ fault: FieldFault) { faults.append(.init(pointer: place + field, fault)) }
        let code = PersonIdentifier(typed)
        if code == nil {
            faults.append(.init(pointer: codePointer, .notAPersonIdentifier))
        }
        let metrics = Self.metrics(types, fault)
        let period = TypedPeriod(from: from, to: to, length: length).read(at: now, fault)
        let granularity = GrantGranularity(rawValue: self.granularity)
        if granularity == nil {
            fault("/granularity", .notAnOption(GrantGranularity.allCases.map(\.rawValue)))
        }
        let purpose = Self.readPurpose(self.purpose, fault)
        guard faults.isEmpty, let code, let period, let granularity, let purpose else { throw FormFaults(faults) }
        return RequestForm(
            fiscalCode: code.text, types: metrics, from: period.lowerBound, to: period.upperBound, granularity: granularity,
            purpose: purpose)
    }

    private static func metrics(_ codes: [String], _ fault: (String, FieldFault) -> Void) -> [Metric] {
        if codes.isEmpty { fault("/types", .nothingChosen) }
        if Set(codes).count != codes.count { fault("/types", .namedTwice) }
        for (place, code) in codes.enumerated() where Metric(code: code) == nil {
            fault("/types/\(place)", .notAMetric(listedAt: "/thirdparty/v1/data-types"))
        }
        return Set(codes.compactMap { Metric(code: $0) }).sorted { $0.number < $1.number }
    }

    /// Without white space around it.
    private static func readPurpose(_ typed: String, _ fault: (String, FieldFault) -> Void) -> String? {
        var shown = Substring(typed)
        while let first = shown.first, first.isWhitespace { shown.removeFirst() }
        while let last = shown.last, last.isWhitespace { shown.removeLast() }
        guard !shown.isEmpty else {
            fault("/purpose", .purposeMissing)
            return nil
        }
        guard shown.count <= RequestForm.longestPurpose else {
            fault("/purpose", .tooLong(RequestForm.longestPurpose))
            return nil
        }
        guard PlainText.isClean(shown) else {
            fault("/purpose", .unreadableCharacters)
            return nil
        }
        return String(shown)
    }
}

/// A period as it was typed, of a request or of what one would cost: what is priced can be asked for.
struct TypedPeriod: Hashable, Sendable {
    var from: String
    /// Not included; or `length` instead.
    var to: String?
    var length: String?

    func read(at now: Timestamp, _ fault: (String, FieldFault) -> Void) -> Range<Timestamp>? {
        guard let from = Timestamp(rfc3339: self.from) else {
            fault("/from", .notATime)
            return nil
        }
        if from.milliseconds < 0 { fault("/from", .beforeEpoch) }
        let end: Timestamp?
        switch (to, length) {
        case (let to?, nil):
            end = Timestamp(rfc3339: to)
            if end == nil { fault("/to", .notATime) }
        case (nil, let length?):
            end = PeriodLength(length)?.end(from: from)
            if end == nil { fault("/length", .notALengthOfTime) }
        default:
            fault("/to", .endOrLength)
            return nil
        }
        guard let end else { return nil }
        guard from < end else {
            fault("/to", .notAfter("from"))
            return nil
        }
        guard end <= now + RequestForm.furthestAhead else {
            fault("/to", .tooFarAhead)
            return nil
        }
        return from..<end
    }
}

/// Everything that is wrong with a form; values are never repeated.
struct FormFaults: Error, Hashable, Sendable {
    let faults: [Problem.FieldError]

    init(_ faults: [Problem.FieldError]) {
        self.faults = faults
    }
}

/// A ready-made length of time on the calendar, of one unit (ISO 8601).
struct PeriodLength: Hashable, Sendable {
    enum Unit: Character, Sendable {
        case days = "D"
        case weeks = "W"
        case months = "M"
        case years = "Y"
    }

    static let pattern = "^P[1-9][0-9]{0,3}[DWMY]$"

    let count: Int64
    let unit: Unit

    init?(_ text: String) {
        guard text.first == "P", let unit = text.last.flatMap(Unit.init), (3...6).contains(text.count),
            let count = Int64(text.dropFirst().dropLast()), count > 0
        else { return nil }
        (self.count, self.unit) = (count, unit)
    }

    /// The same time of day on that day; a day that the month does not have becomes its last.
    func end(from start: Timestamp) -> Timestamp? {
        let day: Int64 = 86_400_000
        switch unit {
        case .days: return Timestamp(milliseconds: start.milliseconds + count * day)
        case .weeks: return Timestamp(milliseconds: start.milliseconds + count * 7 * day)
        case .months, .years:
            let (days, time) = start.milliseconds.flooredQuotientAndRemainder(dividingBy: day)
            let date = CivilDate(daysSince1970: days)
            let months = date.year * 12 + date.month - 1 + count * (unit == .years ? 12 : 1)
            let (year, month) = months.flooredQuotientAndRemainder(dividingBy: 12)
            for last in stride(from: date.day, through: 28, by: -1) {
                if let end = CivilDate(year: year, month: month + 1, day: last) {
                    return Timestamp(milliseconds: end.daysSince1970 * day + time)
                }
            }
            return CivilDate(year: year, month: month + 1, day: date.day).map {
                Timestamp(milliseconds: $0.daysSince1970 * day + time)
            }
        }
    }
}
