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
        func fault(_ field: String, _ detail: String) { faults.append(.init(pointer: place + field, detail: detail)) }
        let code = PersonIdentifier(typed)
        if code == nil {
            faults.append(.init(pointer: codePointer, detail: "is no fiscal code, and no identifier of another country; check it"))
        }
        let metrics = Self.metrics(types, fault)
        let period = readPeriod(at: now, fault)
        let granularity = GrantGranularity(rawValue: self.granularity)
        if granularity == nil {
            fault("/granularity", "choose one of " + GrantGranularity.allCases.map(\.rawValue).joined(separator: ", "))
        }
        let purpose = Self.readPurpose(self.purpose, fault)
        guard faults.isEmpty, let code, let period, let granularity, let purpose else { throw FormFaults(faults) }
        return RequestForm(
            fiscalCode: code.text, types: metrics, from: period.lowerBound, to: period.upperBound, granularity: granularity,
            purpose: purpose)
    }

    private static func metrics(_ codes: [String], _ fault: (String, String) -> Void) -> [Metric] {
        if codes.isEmpty { fault("/types", "choose at least one data type") }
        if Set(codes).count != codes.count { fault("/types", "name each data type once") }
        for (place, code) in codes.enumerated() where Metric(code: code) == nil {
            fault("/types/\(place)", "there is no such data type; GET /thirdparty/v1/data-types lists them")
        }
        return Set(codes.compactMap { Metric(code: $0) }).sorted { $0.number < $1.number }
    }

    private func readPeriod(at now: Timestamp, _ fault: (String, String) -> Void) -> Range<Timestamp>? {
        guard let from = Timestamp(rfc3339: self.from) else {
            fault("/from", "write a time like 2026-01-10T00:00:00Z")
            return nil
        }
        if from.milliseconds < 0 { fault("/from", "begin in 1970 or later") }
        let end: Timestamp?
        switch (to, length) {
        case (let to?, nil):
            end = Timestamp(rfc3339: to)
            if end == nil { fault("/to", "write a time like 2026-04-10T00:00:00Z") }
        case (nil, let length?):
            end = PeriodLength(length)?.end(from: from)
            if end == nil { fault("/length", "write a number of days, weeks, months or years like P7D, P2W, P3M or P1Y") }
        default:
            fault("/to", "give either `to` or `length`")
            return nil
        }
        guard let end else { return nil }
        guard from < end else {
            fault("/to", "end the period after it begins")
            return nil
        }
        guard end <= now + RequestForm.furthestAhead else {
            fault("/to", "end the period within ten years from now")
            return nil
        }
        return from..<end
    }

    /// Without white space around it.
    private static func readPurpose(_ typed: String, _ fault: (String, String) -> Void) -> String? {
        var shown = Substring(typed)
        while let first = shown.first, first.isWhitespace { shown.removeFirst() }
        while let last = shown.last, last.isWhitespace { shown.removeLast() }
        guard !shown.isEmpty else {
            fault("/purpose", "say what the data are for; the person reads it")
            return nil
        }
        guard shown.count <= RequestForm.longestPurpose else {
            fault("/purpose", "use at most \(RequestForm.longestPurpose) characters")
            return nil
        }
        guard PlainText.isClean(shown) else {
            fault("/purpose", PlainText.advice)
            return nil
        }
        return String(shown)
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
