// Fuzz target: XML, GPX and CSV that strangers hand in. Nothing off its limits gets through, what is read is written to mean the same.
// decoders: Shared/Documents/*.swift

import Contracts

@_cdecl("fuzzDocuments")
package func fuzzDocuments(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = Array(UnsafeRawBufferPointer(start: start, count: count))
    table(bytes)
    track(bytes)
    return 0
}

private func table(_ bytes: [UInt8]) {
    var reader = CSVReader(bytes)
    var records: [[String]] = []
    var line = 0
    while let record = try? reader.next() {
        precondition(record.line > line && !record.fields.isEmpty, "a record without place")
        line = record.line
        records.append(record.fields)
    }
    var written: [UInt8] = []
    // A record of one empty field is an empty line, which is none.
    let kept = records.filter { $0 != [""] }
    for record in kept { CSVWriter.append(record, to: &written) }
    var again = CSVReader(written)
    for record in kept { precondition((try? again.next())??.fields == record, "another record") }
    precondition((try? again.next()) == .some(nil), "a record more")
}

private func track(_ bytes: [UInt8]) {
    var limits = XMLLimits()
    limits.bytes = 8192
    var points: [GPXPoint] = []
    var readings = 0
    let isGPX =
        (try? GPXReader.read(bytes, limits: limits) { reading in
            readings += 1
            if case .point(let point) = reading { points.append(point) }
        }) != nil
    guard isGPX else { return }
    precondition(points.count <= readings && points.allSatisfy { $0.index < readings && $0.line > 0 }, "a point without place")
    for point in points {
        var writer = GPXWriter(creator: "fuzz")
        writer.add(point.position, at: point.time ?? Timestamp(milliseconds: 0))
        writer.finish()
        var again: [GPXPoint] = []
        let finite = [point.position.latitude, point.position.longitude, point.position.altitude ?? 0, point.position.accuracy ?? 0]
        guard finite.allSatisfy(\.isFinite) else { continue }
        do {
            try GPXReader.read(writer.take()) { if case .point(let point) = $0 { again.append(point) } }
        } catch {
            preconditionFailure("what was written is no GPX")
        }
        precondition(again.count == 1 && again[0].position == point.position, "another place")
    }
}
