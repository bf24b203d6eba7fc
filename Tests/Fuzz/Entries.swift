// Fuzz target: uploads, as one document and as lines. Every entry is accounted for, and nothing impossible gets through.
// decoders: Services/Ingest/Domain/Entry*.swift Services/Ingest/Domain/MetricCatalogue.swift

import Contracts

private let rules = EntryRules(now: Timestamp(milliseconds: 1_800_000_000_000), clockSkew: .seconds(300))

@_cdecl("fuzzEntries")
package func fuzzEntries(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = UnsafeRawBufferPointer(start: start, count: count)
    let scanner = EntryScanner(rules: rules, maximumEntries: 100)
    if let upload = try? scanner.scan(document: bytes) { check(upload, in: bytes) }
    check(scanner.scan(lines: bytes), in: bytes)
    return 0
}

private func check(_ upload: ScannedUpload, in bytes: UnsafeRawBufferPointer) {
    precondition(upload.samples.count + upload.refused.count == upload.count, "an entry is lost")
    precondition(upload.indexes.count == upload.samples.count && upload.indexes == upload.indexes.sorted(), "indexes are out of order")
    for sample in upload.samples {
        precondition(sample.at.milliseconds > 0 && sample.at <= rules.latest, "an impossible time")
        precondition(sample.value.map { sample.type.definition.possible.contains($0) } ?? (sample.type == .position), "an impossible value")
        precondition(sample.position.map(\.isOnEarth) ?? (sample.type != .position), "a place off Earth")
    }
    for refused in upload.refused {
        precondition(refused.range.lowerBound >= 0 && refused.range.upperBound <= bytes.count, "a refusal points outside")
        precondition(!refused.fault.detail.isEmpty && !refused.fault.name.isEmpty)
    }
}
