// A file that a person brings along, taken apart into entries and refusals by the rules that every entry must keep.

import Contracts
import Documents

/// What a file held, in its own order.
struct EntryFile: Sendable {
    /// A refused line, row, point or resource.
    struct Refused: Hashable, Codable, Sendable {
        /// Place among the file's entries, from 0.
        var index: Int
        /// In the text, from 1; nil where the format has no lines to speak of.
        var line: Int?
        /// The kebab-case name behind `urn:trackme:problem:`.
        var name: String
        var detail: String
    }

    private(set) var samples: [Sample] = []
    /// For every sample, its place in the file.
    private(set) var indexes: [Int32] = []
    private(set) var refused: [Refused] = []
    private(set) var count = 0

    fileprivate mutating func take(_ sample: Sample) {
        samples.append(sample)
        indexes.append(Int32(truncatingIfNeeded: count))
        count += 1
    }

    fileprivate mutating func refuse(line: Int?, _ name: String, _ detail: String) {
        refused.append(Refused(index: count, line: line, name: name, detail: detail))
        count += 1
    }
}

/// Why nothing of a file can be taken.
enum EntryFileFault: Error, Hashable, Sendable {
    /// What is wrong, and on which line where that is known.
    case unreadable(String, line: Int?)

    var detail: String {
        switch self {
        case .unreadable(let what, let line): line.map { "Line \($0): \(what)" } ?? what
        }
    }
}

/// Reads files by one service's rules.
struct EntryFileReader: Sendable {
    let rules: EntryRules

    func read(_ bytes: [UInt8], _ format: ExchangeFormat) throws(EntryFileFault) -> EntryFile {
        switch format {
        case .json: try json(bytes)
        case .ndjson: ndjson(bytes)
        case .csv: try csv(bytes)
        case .fhir: try fhir(bytes)
        case .gpx: try gpx(bytes)
        }
    }

    // MARK: JSON

    private func json(_ bytes: [UInt8]) throws(EntryFileFault) -> EntryFile {
        let scanner = EntryScanner(rules: rules, maximumEntries: ImportLimits.entries)
        do {
            return EntryFile(try bytes.withUnsafeBytes { try scanner.scan(document: $0) })
        } catch UploadFault.malformedJSON(let fault) {
            throw .unreadable(fault.detail, line: nil)
        } catch UploadFault.tooManyEntries {
            throw .unreadable("A file holds at most \(ImportLimits.entries) entries.", line: nil)
        } catch {
            throw .unreadable("Expected an array of entries or {\"entries\":[…]}.", line: nil)
        }
    }

    private func ndjson(_ bytes: [UInt8]) -> EntryFile {
        let scanner = EntryScanner(rules: rules, maximumEntries: ImportLimits.entries)
        let scanned = bytes.withUnsafeBytes { scanner.scan(lines: $0) }
        var file = EntryFile(scanned)
        file.nameLines(scanned.refused.map(\.range.lowerBound), in: bytes)
        return file
    }

    // MARK: CSV

    private func csv(_ bytes: [UInt8]) throws(EntryFileFault) -> EntryFile {
        var reader = CSVReader(bytes)
        var file = EntryFile()
        do {
            guard let header = try reader.next(), let columns = CSVColumns(header.fields) else {
                throw EntryFileFault.unreadable("The first record must name the columns; type and at are needed.", line: 1)
            }
            while let record = try reader.next() {
                var fault: EntryFault?
                let draft = columns.draft(record.fields)
                if let sample = rules.judge(draft, problem: &fault) {
                    file.take(sample)
                } else {
                    file.refuse(line: record.line, fault ?? .notAnObject)
                }
            }
        } catch let fault as CSVFault {
            throw .unreadable(
                "This is not CSV as RFC 4180 has it: look for a stray or missing quote, or for another encoding.", line: fault.line)
        } catch let fault as EntryFileFault {
            throw fault
        } catch {
            throw .unreadable("This is not CSV.", line: nil)
        }
        return file
    }

    // MARK: FHIR

    private func fhir(_ bytes: [UInt8]) throws(EntryFileFault) -> EntryFile {
        var file = EntryFile()
        do {
            try bytes.withUnsafeBytes { buffer in
                try FHIRBundleReader.read(buffer) { _, reading in
                    switch reading {
                    case .sample(let sample): file.judge(sample, rules)
                    case .refused(let fault): file.refuse(line: nil, fault.name, fault.detail)
                    }
                }
            }
        } catch let fault as JSONFault {
            throw .unreadable(fault.detail, line: nil)
        } catch {
            throw .unreadable("Expected a Bundle or an Observation of FHIR R4.", line: nil)
        }
        return file
    }

    // MARK: GPX

    private func gpx(_ bytes: [UInt8]) throws(EntryFileFault) -> EntryFile {
        var readings: [GPXReading] = []
        do {
            try GPXReader.read(bytes) { readings.append($0) }
        } catch {
            throw error.asFileFault
        }
        var file = EntryFile()
        for reading in readings {
            switch reading {
            case .unreadable(_, let line, let field):
                file.refuse(line: line, "malformed-entry", "\(field) is not a number.")
            case .point(let point):
                guard let at = point.time else {
                    file.refuse(line: point.line, .missing(.at))
                    continue
                }
                file.judge(Sample(type: .position, at: at, value: nil, position: point.position), rules, line: point.line)
                if let rate = point.heartRate {
                    file.judge(Sample(type: .heartRate, at: at, value: rate, position: nil), rules, line: point.line)
                }
                if let rate = point.cadence, let cadence = Metric(code: "cadence") {
                    file.judge(Sample(type: cadence, at: at, value: rate, position: nil), rules, line: point.line)
                }
            }
        }
        return file
    }
}

/// What one file may be.
enum ImportLimits {
    /// After inflating.
    static let bytes = 32 << 20
    static let entries = 1_000_000
    /// Entries that are stored and published at once.
    static let piece = 5000
    /// Refusals that the report names; further ones are only counted.
    static let named = 1000
}

extension EntryFile {
    fileprivate init(_ scanned: ScannedUpload) {
        samples = scanned.samples
        indexes = scanned.indexes
        refused = scanned.refused.map { Refused(index: $0.index, name: $0.fault.name, detail: $0.fault.detail) }
        count = scanned.count
    }

    /// Gives each refusal its line, from the offsets at which the refused lines begin, in order.
    fileprivate mutating func nameLines(_ offsets: [Int], in bytes: [UInt8]) {
        var (line, at) = (1, 0)
        for (place, offset) in offsets.enumerated() {
            line += bytes[at..<offset].count { $0 == UInt8(ascii: "\n") }
            at = offset
            refused[place].line = line
        }
    }

    fileprivate mutating func refuse(line: Int?, _ fault: EntryFault) {
        refuse(line: line, fault.name, fault.detail)
    }

    fileprivate mutating func judge(_ sample: Sample, _ rules: EntryRules, line: Int = 0) {
        if let fault = rules.fault(of: sample) {
            refuse(line: line > 0 ? line : nil, fault)
        } else {
            take(sample)
        }
    }
}

extension EntryRules {
    /// As for an upload's entries, of a sample that was read otherwise.
    func fault(of sample: Sample) -> EntryFault? {
        var draft = EntryDraft()
        draft.metric = sample.type
        draft.at = sample.at
        draft.seen = [.type, .at]
        if let value = sample.value {
            draft.value = value
            draft.seen.insert(.value)
        }
        if let position = sample.position {
            (draft.latitude, draft.longitude) = (position.latitude, position.longitude)
            draft.seen.formUnion([.latitude, .longitude])
            if let altitude = position.altitude {
                draft.altitude = altitude
                draft.seen.insert(.altitude)
            }
            if let accuracy = position.accuracy {
                draft.accuracy = accuracy
                draft.seen.insert(.accuracy)
            }
        }
        var fault: EntryFault?
        _ = judge(draft, problem: &fault)
        return fault
    }
}

extension XMLFault {
    fileprivate var asFileFault: EntryFileFault {
        switch self {
        case .tooLarge(let limit): .unreadable("The document has more than \(limit) bytes.", line: nil)
        case .notUTF8: .unreadable("The document is not UTF-8.", line: nil)
        case .documentType: .unreadable("A document type (<!DOCTYPE) is not taken; leave it out.", line: nil)
        case .processingInstruction: .unreadable("Processing instructions (<?…?>) are not taken; leave them out.", line: nil)
        case .tooDeep(let line): .unreadable("Elements are nested too deep.", line: line)
        case .tooManyAttributes(let line): .unreadable("An element has too many attributes.", line: line)
        case .textTooLong(let line): .unreadable("A text is too long.", line: line)
        case .malformed(let line): .unreadable("This is not GPX.", line: line)
        }
    }
}
