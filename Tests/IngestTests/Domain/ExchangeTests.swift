// What leaves the suite comes back equal, in every form; what others write is read; what is wrong is named.

import Contracts
import Foundation
import TestKit
import Testing

@testable import Ingest

@Suite struct ExchangeTests {
    private static let rules = EntryRules(now: Timestamp(milliseconds: 1_900_000_000_000), clockSkew: .seconds(60))

    /// Entries as an export gives them: blood pressures first and together, then metric by metric, in order of time.
    private static func entries(seed: UInt64, count: Int) -> [ExportedEntry] {
        var generator = SeededGenerator(seed: seed)
        var entries: [ExportedEntry] = []
        for metric in Metric.all {
            let range = metric.definition.possible
            for place in 0..<count {
                // Some times in common, so that some blood pressures are pairs.
                let at = Timestamp(
                    milliseconds: 1_700_000_000_000 + Int64(place) * 1000 + (Bool.random(using: &generator) ? 0 : Int64(metric.number)))
                let hasPlace = metric == .position || Int.random(in: 0..<4, using: &generator) == 0
                let position = Position(
                    latitude: Double.random(in: -90...90, using: &generator),
                    longitude: (Double.random(in: -1800...1800, using: &generator)).rounded() / 10,
                    altitude: Bool.random(using: &generator) ? Double.random(in: -50...3000, using: &generator) : nil,
                    accuracy: Bool.random(using: &generator) ? 1e-7 : nil)
                let value = Bool.random(using: &generator) ? Double.random(in: range, using: &generator) : (range.lowerBound + 1).rounded()
                entries.append(
                    ExportedEntry(
                        sample: Sample(
                            type: metric, at: at, value: metric == .position ? nil : value, position: hasPlace ? position : nil),
                        source: [.manual, .imported, .device(DeviceID(bits: 7))].randomElement(using: &generator) ?? .manual))
            }
        }
        let pair: Set<Metric> = [.bloodPressureMax, .bloodPressureMin]
        let pressures = entries.filter { pair.contains($0.sample.type) }
            .sorted { ($0.sample.at, $0.sample.type.number) < ($1.sample.at, $1.sample.type.number) }
        return pressures + entries.filter { !pair.contains($0.sample.type) }
    }

    private static func written(
        _ entries: [ExportedEntry], _ format: ExchangeFormat, of subject: FHIRSubject = FHIRSubject(pseudonym: [1, 2, 3])
    ) -> [UInt8] {
        var document = format.document(of: subject)
        var bytes: [UInt8] = []
        for entry in entries where format.holds(entry.sample.type) {
            document.add(entry)
            bytes += document.take()
        }
        document.finish()
        return bytes + document.take()
    }

    private static func read(_ bytes: [UInt8], _ format: ExchangeFormat) throws -> EntryFile {
        try EntryFileReader(rules: rules).read(bytes, format)
    }

    @Test("MYD-13: what is exported is read back, entry by entry and bit by bit", arguments: ExchangeFormat.allCases, [UInt64(1), 2, 3])
    func roundTrip(format: ExchangeFormat, seed: UInt64) throws {
        let entries = Self.entries(seed: seed, count: 40).filter { format.holds($0.sample.type) }
        let file = try Self.read(Self.written(entries, format), format)
        #expect(file.refused.isEmpty)
        #expect(file.samples == entries.map(\.sample) || format == .fhir)
        #expect(Set(file.samples) == Set(entries.map(\.sample)))
        #expect(Self.written(entries, format) == Self.written(entries, format))
    }

    @Test("G1: FHIR bundles of two people, loaded together, stay two people, each value once; the same person's are the same person's")
    func twoPeople() throws {
        struct Bundle: Decodable {
            struct Entry: Decodable {
                struct Resource: Decodable {
                    struct Named: Decodable {
                        var reference: String?
                        var system: String?
                        var value: String?
                    }

                    var resourceType: String
                    var id: String
                    var identifier: [Named]?
                    var subject: Named?
                }

                var fullUrl: String
                var resource: Resource
            }

            var entry: [Entry]
        }
        // At every instant the same of both, also before 1970 and where only one bit of time or the metric differs.
        let entries =
            Self.entries(seed: 7, count: 200)
            + [0, 1, 256, -1].map {
                ExportedEntry(sample: Sample(type: .heartRate, at: Timestamp(milliseconds: $0), value: 60), source: nil)
            }
        func bundle(_ subject: FHIRSubject) throws -> Bundle {
            try JSONDecoder().decode(Bundle.self, from: Data(Self.written(entries, .fhir, of: subject)))
        }
        let (one, other) = (RequestID.random(), RequestID.random())
        let bundles = try [
            FHIRSubject(one), FHIRSubject(other), FHIRSubject(pseudonym: Array(0..<16)), FHIRSubject(pseudonym: Array(1...16)),
        ].map(bundle)
        let all = bundles.flatMap(\.entry)
        #expect(Set(all.map(\.fullUrl)).count == all.count)
        #expect(all.allSatisfy { $0.fullUrl == "urn:uuid:" + $0.resource.id })
        let form = "^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$"
        #expect(all.allSatisfy { $0.resource.id.range(of: form, options: .regularExpression) != nil })
        for bundle in bundles {
            let patient = try #require(bundle.entry.first)
            #expect(patient.resource.resourceType == "Patient" && patient.resource.identifier?.count == 1)
            #expect(bundle.entry.dropFirst().allSatisfy { $0.resource.subject?.reference == patient.fullUrl })
        }
        #expect(bundles[0].entry[0].resource.identifier?.first?.value == one.description)
        #expect(bundles[0].entry[0].resource.identifier?.first?.system == "urn:trackme:request")
        #expect(try bundle(FHIRSubject(one)).entry.map(\.fullUrl) == bundles[0].entry.map(\.fullUrl))
    }

    @Test("A document without entries is whole too", arguments: ExchangeFormat.allCases)
    func empty(format: ExchangeFormat) throws {
        let file = try Self.read(Self.written([], format), format)
        #expect(file.samples.isEmpty && file.refused.isEmpty)
    }

    @Test("MYD-13: a blood pressure of one instant, source and place is one FHIR panel; otherwise its parts stand alone")
    func pressurePanel() throws {
        func pressure(_ metric: Metric, _ at: Int64, _ value: Double, _ source: EntrySource = .manual) -> ExportedEntry {
            ExportedEntry(sample: Sample(type: metric, at: Timestamp(milliseconds: at), value: value), source: source)
        }
        let entries = [
            pressure(.bloodPressureMax, 1000, 120), pressure(.bloodPressureMin, 1000, 80), pressure(.bloodPressureMax, 2000, 121),
            pressure(.bloodPressureMin, 3000, 82), pressure(.bloodPressureMax, 4000, 130),
            pressure(.bloodPressureMin, 4000, 90, .imported),
        ]
        let bundle = try #require(
            try JSONSerialization.jsonObject(with: Data(Self.written(entries, .fhir))) as? [String: Any])
        let resources = ((bundle["entry"] as? [[String: Any]]) ?? []).compactMap { $0["resource"] as? [String: Any] }
        let codes = resources.dropFirst().map { resource in
            ((resource["code"] as? [String: Any])?["coding"] as? [[String: Any]])?.first?["code"] as? String
        }
        #expect(codes == ["85354-9", "8480-6", "8462-4", "8480-6", "8462-4"])
        #expect((resources.dropFirst().first?["component"] as? [Any])?.count == 2)
        let names = ((bundle["entry"] as? [[String: Any]]) ?? []).compactMap { $0["fullUrl"] as? String }
        #expect(Set(names).count == resources.count)
        #expect(Set(try Self.read(Self.written(entries, .fhir), .fhir).samples) == Set(entries.map(\.sample)))
    }

    @Test("Observations of another system are read by LOINC and UCUM; what does not fit is named, the rest goes on")
    func foreignBundle() throws {
        func observation(_ body: String) -> String { "{\"resource\":{\"resourceType\":\"Observation\",\(body)}}" }
        let heart = "\"code\":{\"coding\":[{\"system\":\"http://loinc.org\",\"code\":\"8867-4\",\"display\":\"Heart rate\"}]}"
        let at = "\"effectiveDateTime\":\"2026-01-10T01:31:00+01:00\""
        let value = "\"valueQuantity\":{\"value\":72,\"unit\":\"beats/minute\",\"system\":\"http://unitsofmeasure.org\",\"code\":\"/min\"}"
        let bundle = """
            {"resourceType":"Bundle","type":"searchset","total":9,"entry":[{"resource":{"resourceType":"Patient","name":[{"family":"A"}]}},
            \(observation("\"status\":\"final\",\(heart),\(at),\(value)")),
            \(observation("\"status\":\"entered-in-error\",\(heart),\(at),\(value)")),
            \(observation("\"status\":\"final\",\(heart),\"effectiveDateTime\":\"2026-01-10\",\(value)")),
            \(observation("\"status\":\"final\",\(heart),\(at)")),
            \(observation("\"status\":\"final\",\(heart),\(at),\"valueQuantity\":{\"value\":1.2,\"code\":\"Hz\",\"system\":\"http://unitsofmeasure.org\"}")),
            \(observation("\"status\":\"final\",\"code\":{\"coding\":[{\"system\":\"http://loinc.org\",\"code\":\"718-7\"}]},\(at),\(value)")),
            \(observation("\"status\":\"final\",\(heart),\(at),\"valueQuantity\":{\"value\":900,\"code\":\"/min\"}")),
            \(observation("\"status\":5")), 7 ]}
            """
        let file = try Self.read(Array(bundle.utf8), .fhir)
        #expect(
            file.samples == [Sample(type: .heartRate, at: Timestamp(rfc3339: "2026-01-10T00:31:00Z") ?? .init(milliseconds: 0), value: 72)])
        #expect(
            file.refused.map(\.name) == [
                "malformed-entry", "malformed-entry", "malformed-entry", "wrong-unit", "unknown-metric", "impossible-value",
                "malformed-entry", "malformed-entry",
            ])
        #expect(file.refused[4].detail.contains("718-7"))
        let single = "{\"resourceType\":\"Observation\",\"status\":\"final\",\(heart),\(at),\(value)}"
        #expect(try Self.read(Array(single.utf8), .fhir).samples.count == 1)
    }

    @Test(
        "MYD-13: oxygen saturation carries the codes of its vital-signs profile; an electrocardiogram's voltage is no study and no vital sign"
    )
    func vitalSignCodes() throws {
        func written(_ metric: Metric) throws -> (loincs: [String], category: String?) {
            let entry = ExportedEntry(sample: Sample(type: metric, at: Timestamp(milliseconds: 1000), value: 1), source: nil)
            let bundle = try #require(try JSONSerialization.jsonObject(with: Data(Self.written([entry], .fhir))) as? [String: Any])
            let resource = try #require((bundle["entry"] as? [[String: Any]])?.last?["resource"] as? [String: Any])
            func codings(_ concept: Any?) -> [[String: Any]] { (concept as? [String: Any])?["coding"] as? [[String: Any]] ?? [] }
            let codes = codings(resource["code"]).filter { $0["system"] as? String == FHIRCodes.loinc }.compactMap { $0["code"] as? String }
            return (codes, codings((resource["category"] as? [Any])?.first).first?["code"] as? String)
        }
        let oxygen = try written(.oxygenSaturation)
        #expect(oxygen.loincs == ["2708-6", "59408-5"] && oxygen.category == "vital-signs")
        for metric in [Metric.electrocardiogram, .myocardialSignal] {
            let signal = try written(metric)
            #expect(signal.loincs.isEmpty && signal.category == "procedure", "\(metric)")
        }
        #expect(try written(.heartRate).loincs == ["8867-4"])
    }

    @Test(
        "MYD-13: another system's codes are read though they are not written, each by itself",
        arguments: [
            ("2708-6", Metric.oxygenSaturation, "%"), ("59408-5", .oxygenSaturation, "%"), ("11524-6", .electrocardiogram, "mV"),
        ])
    func alsoRead(code: String, metric: Metric, unit: String) throws {
        let text = """
            {"resourceType":"Observation","status":"final","code":{"coding":[{"system":"http://loinc.org","code":"\(code)"}]},
            "effectiveDateTime":"2026-01-10T00:31:00Z","valueQuantity":{"value":1.5,"system":"http://unitsofmeasure.org","code":"\(unit)"}}
            """
        let file = try Self.read(Array(text.utf8), .fhir)
        #expect(file.samples.map(\.type) == [metric] && file.samples.first?.value == 1.5 && file.refused.isEmpty)
    }

    @Test("A file that is not of its format is refused as a whole, with what is wrong")
    func wrongFiles() {
        let wrong: [(String, ExchangeFormat)] = [
            ("{\"a\":", .json), ("7", .json), ("", .csv), ("value\n1", .csv), ("type,at,type\n", .csv), ("type,at\n\"a", .csv),
            ("[]", .fhir),
            ("{\"resourceType\":\"Patient\"}", .fhir), ("{", .fhir), ("<html/>", .gpx), ("<!DOCTYPE gpx><gpx/>", .gpx), ("", .gpx),
        ]
        for (text, format) in wrong {
            #expect(throws: EntryFileFault.self, "\(format): \(text)") { try Self.read(Array(text.utf8), format) }
        }
    }

    @Test("ING-03, ING-08: each wrong row of a table is named by its line and reason, columns may stand in any order")
    func tables() throws {
        let csv = """
            value,at,note,type,unit\r\n72,2026-01-10T00:31:00Z,x,heart-rate,/min\n900,2026-01-10T00:31:01Z,,heart-rate,\n\n,2026-01-10T00:31:02Z,,heart-rate,
            72,yesterday,,heart-rate,\n72,2026-01-10T00:31:03Z,,pulse-of-mars,\n72,2026-01-10T00:31:04Z,,heart-rate,Hz\n0x48,2026-01-10T00:31:05Z,,heart-rate,\n72
            """
        let file = try Self.read(Array(csv.utf8), .csv)
        #expect(file.samples.count == 1)
        #expect(
            file.refused.map { "\($0.line ?? 0) \($0.name)" } == [
                "3 impossible-value", "5 malformed-entry", "6 malformed-entry", "7 unknown-metric", "8 wrong-unit", "9 malformed-entry",
                "10 malformed-entry",
            ])
        #expect(file.refused[0].detail.contains("greater than 0 and up to 350.0"))
        let lines = try Self.read(Array("\n{\"type\":\"heart-rate\"}\n\n{\n".utf8), .ndjson)
        #expect(lines.refused.map(\.line) == [2, 4])
    }

    @Test("A track gives positions, heart rates and cadences; a point without a time is no entry")
    func tracks() throws {
        let gpx = """
            <gpx version="1.0"><trk><trkseg><trkpt lat="45" lon="9"><time>2026-01-10T00:31:00Z</time><extensions><hr>150</hr><cad>80</cad></extensions></trkpt>
            <trkpt lat="45" lon="9"/><trkpt lat="95" lon="9"><time>2026-01-10T00:31:01Z</time></trkpt></trkseg></trk></gpx>
            """
        let file = try Self.read(Array(gpx.utf8), .gpx)
        #expect(file.samples.map(\.type.code) == ["position", "heart-rate", "cadence"])
        #expect(file.refused.map { "\($0.line ?? 0) \($0.name)" } == ["2 malformed-entry", "2 impossible-position"])
    }
}
