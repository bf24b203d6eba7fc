// Counting the values of more people than one chunk holds.

import ServiceKit
import Storage
import TestKit
import Testing

@testable import Anonymiser

@Suite("Counting values of many chunks")
struct BucketCountTests {
    @Test("people of the second chunk and later ones were counted twice or not at all: each once, whichever thread reads their chunk")
    func chunks() async throws {
        try await CohortStage.with { folder, key in
            let stage = try await CohortStage(folder, key: key)
            let buckets = await stage.population.current().buckets
            let (type, hour) = (GroupDataType.heartRate, CohortStage.midnight)
            let scale = type.scales(.hour)[0]
            let size = 6 * BitmapChunk.rows + 64
            var counting = CountingHours()
            counting.grow(to: size)
            var codes = [UInt16](repeating: 0, count: size)
            for row in 0..<size {
                codes[row] = UInt16(row % (scale.codes + 1))
                if row % 5 > 0 { counting[type, row] = Int32(hour) }
            }
            let kept = codes
            try await stage.store.write { db in
                for chunk in 0..<Bitmap.chunkCount(size) {
                    let rows = chunk * BitmapChunk.rows..<min((chunk + 1) * BitmapChunk.rows, size)
                    let place = ChunkPlace(chunk: chunk, kind: .values(type, .hour), start: hour)
                    try buckets.chunks.write(db, place, CodeChunk.bytes([Array(kept[rows])], [scale]))
                }
            }
            let members = Bitmap(size: size, members: stride(from: 0, to: size, by: 3))
            let column = ClassColumn(RecodingPath([]), cohort: members, columns: [])
            let span = TimeSpan(hour * TimeSpan.perHour, (hour + 1) * TimeSpan.perHour)
            var expected = [UInt32](repeating: 0, count: scale.codes)
            for row in stride(from: 0, to: size, by: 3) where row % 5 > 0 && codes[row] > 0 { expected[Int(codes[row]) - 1] += 1 }
            let counted = try buckets.counted(type, span, .hour, counting, of: members, in: column)
            #expect(counted.withRow(0) { Array($0) } == expected)
            await stage.store.close()
        }
    }
}
