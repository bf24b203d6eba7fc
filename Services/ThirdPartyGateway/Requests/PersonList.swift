// Several people asked at once: a list in JSON or a table, each of them decided on its own (SHR-19).

import Contracts
import Documents

/// The forms of one list, each right in every field.
struct PersonList: Hashable, Sendable {
    /// People that one list may name.
    static let most = 1000
    /// The header that a table must have, in any order.
    static let columns = ["fiscalCode", "types", "from", "to", "granularity", "purpose"]
    /// Faults that are named; more are not looked for.
    private static let namedFaults = 100

    let forms: [RequestForm]

    /// One form for many codes.
    init(_ form: TypedForm, fiscalCodes: [String], at now: Timestamp) throws(FormFaults) {
        var faults: [Problem.FieldError] = []
        var forms: [RequestForm] = []
        for (place, code) in fiscalCodes.enumerated() {
            do {
                forms.append(try form.read(fiscalCode: code, at: now, codePointer: "/fiscalCodes/\(place)"))
            } catch {
                faults += error.faults.filter { !faults.contains($0) }
            }
            if faults.count >= Self.namedFaults { break }
        }
        try self.init(forms, faults) { "/fiscalCodes/\($0)" }
    }

    /// A table with a header; types are separated by spaces, `to` may also be a length like `P3M`.
    init(csv bytes: [UInt8], at now: Timestamp) throws(FormFaults) {
        let records = try Self.records(bytes)
        guard let header = records.first, let places = Self.places(header.fields) else {
            throw FormFaults([.init(pointer: "/line/1", .headerIncomplete(Self.columns))])
        }
        var faults: [Problem.FieldError] = []
        var forms: [RequestForm] = []
        var lines: [Int] = []
        for record in records.dropFirst() where faults.count < Self.namedFaults {
            let line = "/line/\(record.line)"
            guard record.fields.count == Self.columns.count else {
                faults.append(.init(pointer: line, .otherFieldCount(record.fields.count, of: Self.columns.count)))
                continue
            }
            func field(_ index: Int) -> String { record.fields[places[index]] }
            let isLength = field(3).hasPrefix("P")
            let form = TypedForm(
                types: field(1).split(separator: " ").map(String.init), from: field(2), to: isLength ? nil : field(3),
                length: isLength ? field(3) : nil, granularity: field(4), purpose: field(5))
            do {
                forms.append(try form.read(fiscalCode: field(0), at: now, codePointer: line + "/fiscalCode", place: line))
                lines.append(record.line)
            } catch {
                for fault in error.faults {
                    let named = Problem.FieldError(pointer: Self.column(fault.pointer, in: line), fault.fault)
                    if !faults.contains(named) { faults.append(named) }
                }
            }
        }
        try self.init(forms, faults) { "/line/\(lines[$0])/fiscalCode" }
    }

    /// A table has cells, no fields within them, and one column for `to` and `length`.
    private static func column(_ pointer: String, in line: String) -> String {
        let field = pointer.dropFirst(line.count + 1).prefix { $0 != "/" }
        return "\(line)/\(field == "length" ? "to" : field)"
    }

    private static func records(_ bytes: [UInt8]) throws(FormFaults) -> [CSVReader.Record] {
        var reader = CSVReader(bytes)
        var records: [CSVReader.Record] = []
        do {
            // One more than may be, and the header: enough to see that there are too many.
            while records.count <= most + 1, let record = try reader.next() { records.append(record) }
        } catch {
            throw FormFaults([.init(pointer: "/line/\(error.line)", .notCSV(error.description))])
        }
        return records
    }

    private init(_ forms: [RequestForm], _ faults: [Problem.FieldError], pointer: (Int) -> String) throws(FormFaults) {
        guard faults.isEmpty else { throw FormFaults(faults) }
        guard !forms.isEmpty else { throw FormFaults([.init(pointer: "", .nothingChosen)]) }
        guard forms.count <= Self.most else { throw FormFaults([.init(pointer: "", .wrongCount(1...Self.most))]) }
        var known: Set<RequestForm> = []
        for (place, form) in forms.enumerated() where !known.insert(form).inserted {
            throw FormFaults([.init(pointer: pointer(place), .requestTwice)])
        }
        self.forms = forms
    }

    /// Where each column stands; nil where one is missing, comes twice or is a stranger.
    private static func places(_ header: [String]) -> [Int]? {
        let places = columns.compactMap { header.firstIndex(of: $0) }
        return places.count == columns.count && header.count == columns.count ? places : nil
    }
}
