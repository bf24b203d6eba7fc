// A maker's format read into entries: what is a measurement, what is passed over, what is refused.

import Contracts
import Testing

@testable import Ingest

@Suite struct NightscoutTests {
    private static let now = Timestamp(milliseconds: 1_800_000_000_000)

    private static func read(_ text: String) throws -> ScannedUpload {
        let rules = EntryRules(now: now, clockSkew: .seconds(60))
        let bytes = Array(text.utf8)
        return try bytes.withUnsafeBytes { try MakerSource.nightscout.read($0, rules) }
    }

    @Test("ING-16: sensor and meter readings become glucose; calibrations are passed over and keep their place")
    func readings() throws {
        let upload = try Self.read(
            """
            [{"type":"sgv","date":1768005060000,"dateString":"2026-01-10T00:31:00.000Z","sgv":123,"direction":"Flat","noise":1},
             {"type":"cal","date":1768005061000,"slope":850.5,"intercept":30000,"scale":1},
             {"type":"mbg","date":1768005062000,"mbg":118.5},
             {"dateString":"2026-01-10T00:36:00.000Z","sgv":126}]
            """)
        #expect(
            upload.samples == [
                Sample(type: .glucose, at: Timestamp(milliseconds: 1_768_005_060_000), value: 123),
                Sample(type: .glucose, at: Timestamp(milliseconds: 1_768_005_062_000), value: 118.5),
                Sample(type: .glucose, at: Timestamp(milliseconds: 1_768_005_360_000), value: 126),
            ])
        #expect(upload.indexes == [0, 2, 3] && upload.count == 4 && upload.refused.isEmpty)
    }

    @Test(
        "ING-08: what cannot be a reading is refused by itself, the rest goes on",
        arguments: [
            (#"{"type":"sgv","date":1,"sgv":5}"#, "impossible-value"), (#"{"type":"sgv","date":1}"#, "malformed-entry"),
            (#"{"type":"sgv","sgv":100}"#, "malformed-entry"), (#"{"type":"sgv","date":0,"sgv":100}"#, "impossible-time"),
            (#"{"type":"sgv","date":1900000000000,"sgv":100}"#, "future-time"), ("7", "malformed-entry"),
            (#"{"type":"sgv","date":"soon","sgv":100}"#, "malformed-entry"), (#"{"type":"mbg","date":1,"mbg":9000}"#, "impossible-value"),
            (#"{"type":"sgv","dateString":"yesterday","sgv":100}"#, "malformed-entry"),
        ])
    func refusals(_ item: String, _ name: String) throws {
        let upload = try Self.read("[\(item),{\"type\":\"sgv\",\"date\":5000,\"sgv\":100}]")
        #expect(upload.samples.count == 1 && upload.indexes == [1])
        #expect(upload.refused.map(\.fault.name) == [name])
    }

    @Test("SOS-09: a glucose that a maker dates ahead of all clocks was heard by nobody")
    func ahead() throws {
        let upload = try Self.read(#"[{"type":"sgv","date":1800000300000,"sgv":45}]"#)
        #expect(upload.refused.map(\.fault.name) == ["future-time"] && upload.unstored.map(\.value) == [45])
    }

    @Test("Text that is not JSON, or no list, is refused whole")
    func documents() {
        for text in ["", "{", "[1,]", "\u{0}", "[" + String(repeating: "[", count: 100)] {
            #expect("\(text)") { try Self.read(text) } throws: { if case UploadFault.malformedJSON = $0 { true } else { false } }
        }
        for text in ["{}", "7", "\"x\""] {
            #expect("\(text)") { try Self.read(text) } throws: { $0 as? UploadFault == .notEntries }
        }
        let many = "[" + Array(repeating: "{}", count: 10_001).joined(separator: ",") + "]"
        #expect("too many") { try Self.read(many) } throws: { $0 as? UploadFault == .tooManyEntries }
    }

    @Test("ING-16: makers have names of their own and only metrics of the registry")
    func table() {
        #expect(Set(MakerSource.all.map(\.name)).count == MakerSource.all.count)
        for source in MakerSource.all {
            #expect(MakerSource.named(source.name)?.metrics == source.metrics && !source.metrics.isEmpty)
        }
        #expect(MakerSource.named("nobody") == nil)
    }
}
