// Data in the formats of makers, as entries (ING-16): one more maker is one more value in the table, and nothing else changes.

import Contracts
import HTTPKit

/// One maker's documented format.
struct MakerSource: Sendable {
    /// As in `/ingest/v1/makers/<name>/entries`.
    let name: String
    /// Where the format is described.
    let described: String
    let metrics: [Metric]
    let schema: JSONSchema
    let example: JSONValue
    /// Reads a document of the maker's; each item is judged by itself, under the same rules as every other entry.
    let read: @Sendable (UnsafeRawBufferPointer, EntryRules) throws(UploadFault) -> ScannedUpload

    /// Every maker whose data are understood.
    static let all = [nightscout]

    static func named(_ name: String) -> MakerSource? {
        all.first { $0.name == name }
    }
}

/// A document of the maker's, item by item. What is no measurement is skipped, but keeps its place.
struct MakerDocument {
    private(set) var upload = ScannedUpload()
    private let rules: EntryRules

    init(rules: EntryRules) {
        self.rules = rules
    }

    mutating func pass() {
        upload.count += 1
    }

    mutating func refuse(_ fault: EntryFault) {
        upload.refused.append(.init(index: upload.count, fault: fault, range: 0..<0))
        upload.count += 1
    }

    mutating func take(_ metric: Metric, at: Timestamp, value: Double) {
        var draft = EntryDraft()
        (draft.metric, draft.at, draft.value) = (metric, at, value)
        draft.seen = [.type, .at, .value]
        var problem: EntryFault?
        guard let sample = rules.judge(draft, problem: &problem) else {
            if let unstored = rules.judgeRefused(draft) { upload.unstored.append(unstored) }
            return refuse(problem ?? .notAnObject)
        }
        upload.samples.append(sample)
        upload.indexes.append(Int32(truncatingIfNeeded: upload.count))
        upload.count += 1
    }
}

extension UploadFault {
    /// The fault of bytes that are not JSON, with its place; nil where they are.
    static func ofText(_ bytes: UnsafeRawBufferPointer) -> UploadFault? {
        do throws(JSONFault) {
            try CheckedJSON.check(bytes)
        } catch {
            return .malformedJSON(error)
        }
        return nil
    }
}
