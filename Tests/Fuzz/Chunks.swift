// Fuzz target: stored chunks and rows of the stream's log. What is decoded is encoded to bytes that mean the same.
// decoders: Services/Ingest/Domain/ChunkCodec.swift Services/Ingest/Domain/ByteCoding.swift Services/Ingest/Domain/NumberColumn.swift Services/Ingest/Domain/EntryColumns.swift Services/Ingest/Domain/UploadRecord.swift

import Contracts

@_cdecl("fuzzChunks")
package func fuzzChunks(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = UnsafeRawBufferPointer(start: start, count: count)
    for metric in [Metric.heartRate, .position] {
        if let samples = try? ChunkCodec.decode(bytes, metric: metric) {
            let written = ChunkCodec.encode(samples)
            // Compared by their bits: NaN is not equal to itself.
            let again = written.withUnsafeBytes { try? ChunkCodec.decode($0, metric: metric) }
            precondition(again?.map(bits) == samples.map(bits), "encoded again it says something else")
            // Columns are of one thing; a chunk that lacks it was never written by the service.
            _ = try? ChunkCodec.columns(bytes, metric: metric, in: 0 ..< .max, limit: samples.count)
            if samples.allSatisfy({ metric == .position ? $0.position != nil && $0.value == nil : $0.value != nil }) {
                let columns = written.withUnsafeBytes {
                    try? ChunkCodec.columns($0, metric: metric, in: 0 ..< .max, limit: samples.count)
                }
                let expected = samples.filter { (0 ..< .max).contains($0.at.milliseconds) }
                precondition(columns?.times ?? [] == expected.map(\.at.milliseconds), "other columns")
                precondition(
                    metric == .position || columns?.values.map(\.bitPattern) ?? [] == expected.map { $0.value?.bitPattern ?? 0 },
                    "other values")
            }
            precondition((try? ChunkCodec.decodeTimes(bytes)) == samples.map(\.at.milliseconds), "the times differ")
        }
    }
    if let record = try? UploadRecord(decoding: Array(bytes)) {
        precondition((try? UploadRecord(decoding: record.encoded())) == record, "another record")
    }
    return 0
}

private func bits(_ sample: Sample) -> [UInt64] {
    let place = sample.position
    let numbers = [sample.value, place?.latitude, place?.longitude, place?.altitude, place?.accuracy]
    return [UInt64(bitPattern: sample.at.milliseconds)] + numbers.map { $0.map { $0.bitPattern } ?? 0 }
}
