// Uploads, from bytes to samples, in one pass and without a tree: one entry, an array of entries, `{"entries":[…]}`, or lines.
// Together with Contracts' Samples and Timestamp and the JSON files it compiles alone, for fuzzing.

import Contracts

/// What an upload held.
struct ScannedUpload: Sendable {
    /// Whether the document was one entry rather than a list: it is then answered as one thing.
    var isSingle = false
    /// When the device first tried to send this, as the document has it; not yet judged, see `firstTriedAt(ofReceived:)`.
    var firstTry: Timestamp?
    var sending = Sending()
    /// How many entries there were, good and refused.
    var count = 0
    var samples: [Sample] = []
    /// For every sample, its place in the upload, from 0.
    var indexes: [Int32] = []
    var refused: [Refused] = []
    /// Values of refused entries (`EntryRules.judgeRefused`): for alarms, and never stored.
    var unstored: [Sample] = []

    struct Refused: Hashable, Sendable {
        var index: Int
        var fault: EntryFault
        /// Where it stands in the bytes that were scanned.
        var range: Range<Int>
    }
}

/// What an upload says of its own sending. Of several mentions the latest counts: lines are written one after the other.
struct Sending: Hashable, Sendable {
    /// What the device's clock said as it wrote this try; judged by `ScannedUpload.judgeSending(ofReceived:)`.
    var time: Timestamp?
    /// Whether something was told that is left out of account.
    var isIgnored = false
    /// Where it stands in the bytes that were scanned, with its key and a comma: another one in each try, so no part of what is repeated.
    var ranges: [Range<Int>] = []

    mutating func add(_ other: Sending) {
        if let told = other.time { time = max(time ?? told, told) }
        isIgnored = isIgnored || other.isIgnored
        ranges += other.ranges
    }
}

/// Why a whole upload is refused: nothing of it is taken.
enum UploadFault: Error, Hashable, Sendable {
    case malformedJSON(JSONFault)
    /// Neither an object nor an array.
    case notEntries
    case tooManyEntries
}

/// Reads uploads. A key that an entry knows may stand there once; unknown keys are skipped; `null` counts as absent.
/// An object that has the key `entries` is a list, whatever else it has; a document that is an object may have `firstTriedAt` and `sentAt`,
/// a line `sentAt`.
struct EntryScanner {
    let rules: EntryRules
    let catalogue: MetricCatalogue
    let maximumEntries: Int

    init(rules: EntryRules, catalogue: MetricCatalogue = .registry, maximumEntries: Int = UploadLimits.entries) {
        (self.rules, self.catalogue, self.maximumEntries) = (rules, catalogue, maximumEntries)
    }

    /// A whole JSON text. A fault in the text refuses all of it, with the offset; a fault in an entry only that entry.
    func scan(document bytes: UnsafeRawBufferPointer) throws(UploadFault) -> ScannedUpload {
        if let offset = firstInvalidUTF8(bytes, in: 0..<bytes.count) {
            throw .malformedJSON(JSONFault(kind: .badUTF8, offset: offset))
        }
        var reader = EntryReader(JSONCursor(bytes, range: 0..<bytes.count), catalogue: catalogue)
        var upload = ScannedUpload()
        var isEntries = true
        switch reader.cursor.peek() {
        case UInt8(ascii: "["):
            upload.reserve(bytes.count)
            try entries(of: &reader, into: &upload, depth: 1)
        case UInt8(ascii: "{"):
            try object(of: &reader, into: &upload)
        default:
            isEntries = false
        }
        do throws(JSONFault) {
            if !isEntries { try reader.cursor.skipValue(depth: 0) }
            try reader.cursor.finish()
        } catch {
            throw .malformedJSON(error)
        }
        guard isEntries else { throw .notEntries }
        return upload
    }

    /// Lines of NDJSON, each one entry; blank ones do not count. What is wrong with one line stays its own affair.
    /// `firstIndex` is the place of the first entry in the whole stream.
    func scan(lines bytes: UnsafeRawBufferPointer, firstIndex: Int = 0) -> ScannedUpload {
        var upload = ScannedUpload()
        upload.reserve(bytes.count)
        let isUTF8 = firstInvalidUTF8(bytes, in: 0..<bytes.count) == nil
        var start = 0
        while start < bytes.count {
            var end = start
            while end < bytes.count, bytes[end] != 0x0A { end += 1 }
            line(bytes, start..<end, isUTF8: isUTF8, firstIndex: firstIndex, into: &upload)
            start = end + 1
        }
        return upload
    }

    private func line(
        _ bytes: UnsafeRawBufferPointer, _ range: Range<Int>, isUTF8: Bool, firstIndex: Int, into upload: inout ScannedUpload
    ) {
        var reader = EntryReader(JSONCursor(bytes, range: range), catalogue: catalogue)
        reader.cursor.skipWhitespace()
        guard reader.cursor.at < range.upperBound else { return }
        let index = firstIndex + upload.count
        upload.count += 1
        if range.count > UploadLimits.entryBytes {
            return upload.refuse(index, .tooLong, range)
        }
        if !isUTF8, let offset = firstInvalidUTF8(bytes, in: range) {
            return upload.refuse(index, .malformedJSON(JSONFault(kind: .badUTF8, offset: offset - range.lowerBound)), range)
        }
        do throws(JSONFault) {
            let draft = try reader.entry(depth: 0)
            try reader.cursor.finish()
            upload.sending.add(reader.sending)
            settle(draft, index: index, range: range, into: &upload)
        } catch {
            let fault = JSONFault(kind: error.kind, offset: error.offset - range.lowerBound)
            upload.refuse(index, .malformedJSON(fault), range)
        }
    }

    // MARK: Forms of a document

    private func entries(of reader: inout EntryReader, into upload: inout ScannedUpload, depth: Int) throws(UploadFault) {
        do throws(JSONFault) {
            reader.cursor.at += 1
            if reader.cursor.peek() == UInt8(ascii: "]") {
                reader.cursor.at += 1
                return
            }
            while upload.count < maximumEntries {
                reader.cursor.skipWhitespace()
                let start = reader.cursor.at
                let draft = try reader.entry(depth: depth)
                settle(draft, index: upload.count, range: start..<reader.cursor.at, into: &upload)
                upload.count += 1
                if try !reader.cursor.continues(until: UInt8(ascii: "]")) { return }
            }
        } catch {
            throw .malformedJSON(error)
        }
        throw .tooManyEntries
    }

    /// One entry, or a list under the key `entries`: known only when that key comes by.
    private func object(of reader: inout EntryReader, into upload: inout ScannedUpload) throws(UploadFault) {
        let start = reader.cursor.at
        var draft = EntryDraft()
        var isList = false
        var tellsFirstTry = false
        reader.cursor.at += 1
        var more = reader.cursor.peek() != UInt8(ascii: "}")
        if !more { reader.cursor.at += 1 }
        while more {
            let key: EntryReader.Key
            do throws(JSONFault) {
                key = try reader.key()
                if key.isFirstTriedAt {
                    // What is no time is skipped: a remark about an upload never costs the upload. Two of them are no remark.
                    let isAbsent = reader.cursor.peek() == UInt8(ascii: "n")
                    if tellsFirstTry, !isAbsent { throw reader.cursor.fault(.unexpectedByte) }
                    tellsFirstTry = tellsFirstTry || !isAbsent
                    let time = try reader.time(depth: 1)
                    upload.firstTry = upload.firstTry ?? time
                } else if !key.isEntries {
                    try reader.member(key, of: &draft, depth: 1)
                } else if isList || reader.cursor.peek() != UInt8(ascii: "[") {
                    throw reader.cursor.fault(.unexpectedByte)
                }
            } catch {
                throw .malformedJSON(error)
            }
            if key.isEntries {
                isList = true
                upload.reserve(reader.cursor.end - reader.cursor.at)
                try entries(of: &reader, into: &upload, depth: 2)
            }
            do throws(JSONFault) {
                more = try reader.cursor.continues(until: UInt8(ascii: "}"))
            } catch {
                throw .malformedJSON(error)
            }
        }
        upload.sending = reader.sending
        if isList { return }
        upload.isSingle = true
        upload.count = 1
        settle(draft, index: 0, range: start..<reader.cursor.at, into: &upload)
    }

    @inline(__always)
    private func settle(_ draft: EntryDraft, index: Int, range: Range<Int>, into upload: inout ScannedUpload) {
        var problem: EntryFault?
        if let sample = rules.judge(draft, problem: &problem) {
            upload.samples.append(sample)
            upload.indexes.append(Int32(truncatingIfNeeded: index))
        } else {
            if let sample = rules.judgeRefused(draft) { upload.unstored.append(sample) }
            upload.refuse(index, problem ?? .notAnObject, range)
        }
    }
}

extension ScannedUpload {
    /// The first try, where the document's time can be true (SOS-41): not after the reception and not long before.
    func firstTriedAt(ofReceived receivedAt: Timestamp) -> Timestamp? {
        guard let firstTry, firstTry <= receivedAt, firstTry >= receivedAt - UploadLimits.longestTrying else { return nil }
        return firstTry
    }

    /// Leaves a time of sending out of account that would make what is of now old, or contradicts what was measured: it would be more than
    /// ten minutes after the reception, or as much before the newest entry.
    mutating func judgeSending(ofReceived receivedAt: Timestamp) {
        guard let told = sending.time else { return }
        let newest = samples.lazy.map(\.at).max() ?? told
        guard told > receivedAt + UploadLimits.furthestFuture || told < newest - UploadLimits.furthestFuture else { return }
        (sending.time, sending.isIgnored) = (nil, true)
    }
}

extension ScannedUpload {
    /// The parameters of which it has a value of now that is taken.
    func measuredNow(at receivedAt: Timestamp) -> Set<Metric> {
        let fresh = samples.lazy.filter {
            $0.value != nil && $0.age(receivedAt: receivedAt, sentAt: sending.time) <= UploadLimits.urgentAge
        }
        return Set(fresh.map(\.type))
    }

    /// What is not stored, dated as a clock that is right would have dated it, by the clock by which ages are counted: of what lies further
    /// ahead than `latest` the newest is from now, the rest as long before it as it says, and from now is what told no time.
    func unstored(at receivedAt: Timestamp, latest: Timestamp) -> [Sample] {
        let now = Sample.ageEnd(receivedAt: receivedAt, sentAt: sending.time)
        let newest = unstored.map(\.at).filter { $0 > latest }.max()
        return unstored.map { sample in
            var sample = sample
            if sample.at == receivedAt {
                sample.at = now
            } else if let newest, sample.at > latest {
                sample.at = now - (newest - sample.at)
            }
            return sample
        }
    }
}

extension ScannedUpload {
    /// Room for the entries that so many bytes usually are.
    fileprivate mutating func reserve(_ bytes: Int) {
        let likely = min(bytes / 48 + 1, UploadLimits.entries)
        samples.reserveCapacity(likely)
        indexes.reserveCapacity(likely)
    }

    fileprivate mutating func refuse(_ index: Int, _ fault: EntryFault, _ range: Range<Int>) {
        refused.append(Refused(index: index, fault: fault, range: range))
    }
}
