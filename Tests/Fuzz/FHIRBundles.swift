// Fuzz target: Bundles of FHIR R4. Whatever is read keeps its place, and what is written of it is read again as the same.
// decoders: Services/Ingest/Domain/FHIR*.swift Services/Ingest/Domain/MetricCatalogue.swift

import Contracts

@_cdecl("fuzzFHIRBundles")
package func fuzzFHIRBundles(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = UnsafeRawBufferPointer(start: start, count: count)
    var samples: [Sample] = []
    var last = 0
    do {
        try FHIRBundleReader.read(bytes) { index, reading in
            precondition(index >= last, "out of order")
            last = index
            switch reading {
            case .sample(let sample): samples.append(sample)
            case .refused(let fault): precondition(!fault.detail.isEmpty && !fault.name.isEmpty)
            }
        }
    } catch {
        return 0
    }
    for sample in samples where isWhole(sample) {
        var document = FHIRBundleDocument(of: FHIRSubject(pseudonym: []))
        document.add(ExportedEntry(sample: sample, source: .imported))
        document.finish()
        var again: [Sample] = []
        let written = document.take()
        let isRead: Void? = try? written.withUnsafeBytes {
            try FHIRBundleReader.read($0) { if case .sample(let sample) = $1 { again.append(sample) } }
        }
        precondition(isRead != nil && again == [sample], "another sample")
    }
    return 0
}

/// Years that RFC 3339 can say, numbers that JSON can.
private func isWhole(_ sample: Sample) -> Bool {
    let place = sample.position
    let numbers = [sample.value, place?.latitude, place?.longitude, place?.altitude, place?.accuracy].compactMap { $0 }
    return (0...253_402_300_799_999).contains(sample.at.milliseconds) && numbers.allSatisfy(\.isFinite)
}
