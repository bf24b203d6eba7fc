// Fuzz target: pages of entries as ingest answers them. What is read by hand is what JSONDecoder reads, and is rendered entry by entry.
// decoders:

import Contracts
import Foundation

@_cdecl("fuzzPages")
package func fuzzPages(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = Array(UnsafeRawBufferPointer(start: start, count: count))
    guard let page = ReadSamples.Reply(handWritten: bytes) else { return 0 }
    let decoded = try? JSONDecoder().decode(ReadSamples.Reply.self, from: Data(bytes))
    precondition(decoded?.columns == page.columns && decoded?.next == page.next, "JSONDecoder reads another page")
    let again = ReadSamples.Reply(handWritten: page.handWritten)
    precondition(again?.columns == page.columns && again?.next == page.next, "written it is another page")
    var (together, single) = (JSONBytes(), JSONBytes())
    together.exported(page.columns)
    for (place, sample) in page.columns.samples.enumerated() {
        if place > 0 { single.byte(",") }
        single.exported(ExportedEntry(sample: sample, source: nil))
    }
    precondition(together.bytes == single.bytes, "rendered together they are others")
    return 0
}
