// Data over HTTP: what is handed out, in which forms, and what stands in the way (SHR-10 to SHR-12, PAY-04, ORG-20, ORG-21).

import Contracts
import Documents
import Foundation
import Sealing
import ServiceKit
import Storage
import TestKit
import Testing

@testable import ThirdPartyGateway

@Suite("Data over HTTP")
struct DataDoorTests {
    private static func samples(_ harness: RequestHarness, _ type: Metric = .heartRate, count: Int = 5) -> [Sample] {
        let start = harness.world.now - .seconds(10 * 86_400)
        return (0..<count).map { index in
            let at = start + .seconds(Int64(index) * 60)
            return type == .position
                ? Sample(type: type, at: at, value: nil, position: Position(latitude: 45.5, longitude: 9.25, altitude: 120))
                : Sample(type: type, at: at, value: 60 + Double(index) / 4)
        }
    }

    private static func granted(_ harness: RequestHarness, _ types: [Metric] = [.heartRate], count: Int = 5) async throws -> RequestID {
        _ = harness.world.add(RequestHarness.code)
        for type in types { harness.world.put(samples(harness, type, count: count)) }
        return try await harness.granted(harness.form(types: types))
    }

    @Test("SHR-11, SHR-20, ORG-21: pages hold what is granted, oldest first, once, and remind of who answers for it")
    func pages() async throws {
        try await RequestHarness.run { harness in
            let id = try await Self.granted(harness, count: 25)
            var (seen, after): ([String], String) = ([], "")
            repeat {
                let page = try await harness.call("GET", "/requests/\(id)/data?type=heart-rate&limit=10\(after)")
                #expect(page.status == 200, "\(page.text)")
                #expect(page.header("data-responsibility") == ResponsibilityNotice.text)
                #expect(page.json["reminder"] as? String == ResponsibilityNotice.text)
                seen += page.items.compactMap { $0["at"] as? String }
                let next = page.json["next"] as? String
                #expect((page.header("link")?.contains("rel=\"next\"") ?? false) == (next != nil))
                after = next.map { "&after=\($0)" } ?? ""
            } while !after.isEmpty
            #expect(seen == Self.samples(harness, count: 25).map(\.at.rfc3339))
            #expect(harness.world.reads.count == 3)
            #expect(harness.world.reads.allSatisfy { $0.organisation == harness.organisation && $0.type == .heartRate })
        }
    }

    @Test(
        "NFR-13, CON-54: JSON, NDJSON, CSV, FHIR R4 and XML hold the same values, chosen by Accept or by name; another form is refused with these"
    )
    func formats() async throws {
        try await RequestHarness.run { harness in
            let id = try await Self.granted(harness)
            let path = "/requests/\(id)/data?type=heart-rate"
            let expected = [60, 60.25, 60.5, 60.75, 61]
            for format in DataFormat.allCases {
                let named = try await harness.call("GET", path + "&format=\(format.rawValue)")
                let accepted = try await harness.call("GET", path, headers: ["Accept": format.mediaType])
                #expect(named.status == 200 && named.body == accepted.body, "\(format)")
                #expect(named.header("content-type") == format.mediaType)
                #expect(named.header("data-responsibility") != nil)
                #expect(try Self.values(named, format) == expected, "\(format): \(named.text)")
                #expect(!named.text.contains(RequestHarness.code) && !named.text.contains("per_"))
            }
            let (unaccepted, unknown) = (
                try await harness.call("GET", path, headers: ["Accept": "image/png"]), try await harness.call("GET", path + "&format=pdf")
            )
            #expect(unaccepted.status == 406 && unknown.status == 400)
            for format in DataFormat.allCases {
                #expect(unaccepted.text.contains(format.mediaType.split(separator: ";")[0]), "\(unaccepted.text) does not name \(format)")
                #expect(unknown.text.contains(format.rawValue), "\(unknown.text) does not name \(format)")
            }
        }
    }

    @Test("X8: CSV, NDJSON, FHIR and XML left out what was damaged, and did not say so")
    func damaged() async throws {
        try await RequestHarness.run { harness in
            let id = try await Self.granted(harness)
            let path = "/requests/\(id)/data?type=heart-rate&format="
            for format in DataFormat.allCases {
                let whole = try await harness.call("GET", path + format.rawValue)
                #expect(whole.header("data-damaged") == nil && !whole.text.contains("damaged"), "\(format)")
            }
            let from = Self.samples(harness)[4].at + .seconds(60)
            harness.world.damage(
                .heartRate,
                [DamagedPeriod(from: from, to: from + .seconds(9)), DamagedPeriod(from: from + .seconds(20), to: from + .seconds(29))])
            let times = [0, 9, 20, 29].map { (from + .seconds($0)).rfc3339 }
            for format in DataFormat.allCases {
                let answer = try await harness.call("GET", path + format.rawValue)
                #expect(answer.status == 200)
                #expect(answer.header("data-damaged") == "\(times[0])/\(times[1]), \(times[2])/\(times[3])", "\(format)")
                #expect(try Self.values(answer, format) == [60, 60.25, 60.5, 60.75, 61], "\(format): \(answer.text)")
                #expect(try Self.damaged(answer, format) == (format == .csv ? [] : times), "\(format): \(answer.text)")
            }
        }
    }

    /// The times that the document itself names, in their order.
    private static func damaged(_ answer: RequestHarness.Response, _ format: DataFormat) throws -> [String] {
        func times(_ json: Any?) -> [String] {
            ((json as? [String: Any])?["damaged"] as? [[String: String]] ?? []).flatMap { [$0["from"] ?? "", $0["to"] ?? ""] }
        }
        switch format {
        case .json: return times(answer.json)
        case .csv: return []
        case .ndjson:
            let line = answer.text.split(separator: "\n").last ?? ""
            return times(try JSONSerialization.jsonObject(with: Data(line.utf8)))
        case .fhir:
            let resources = (answer.json["entry"] as? [[String: Any]] ?? []).compactMap { $0["resource"] as? [String: Any] }
            let outcome = resources.last { $0["resourceType"] as? String == "OperationOutcome" }
            let issues = outcome?["issue"] as? [[String: String]] ?? []
            #expect(issues.allSatisfy { $0["severity"] == "warning" && $0["code"] == "incomplete" })
            return issues.flatMap { ($0["diagnostics"] ?? "").matches(of: /\d{4}-[0-9T:.-]+Z/).map { String($0.0) } }
        case .xml:
            return answer.text.matches(of: /<damaged type="heart-rate" from="([^"]+)" to="([^"]+)"><\/damaged>/).flatMap {
                [String($0.1), String($0.2)]
            }
        }
    }

    private static func values(_ answer: RequestHarness.Response, _ format: DataFormat) throws -> [Double] {
        func object(_ data: Data) -> [String: Any] { (try? JSONSerialization.jsonObject(with: data) as? [String: Any]) ?? [:] }
        switch format {
        case .json: return answer.items.compactMap { $0["value"] as? Double }
        case .ndjson: return answer.text.split(separator: "\n").compactMap { object(Data($0.utf8))["value"] as? Double }
        case .csv:
            var reader = CSVReader([UInt8](answer.body))
            var rows: [[String]] = []
            while let record = try reader.next() { rows.append(record.fields) }
            #expect(rows.first == CSVValueDocument.columns)
            return rows.dropFirst().compactMap { Double($0[2]) }
        case .fhir:
            let bundle = answer.json
            #expect(bundle["resourceType"] as? String == "Bundle")
            let resources = (bundle["entry"] as? [[String: Any]] ?? []).compactMap { $0["resource"] as? [String: Any] }
            #expect(!answer.text.contains("\"device\""))
            return resources.compactMap { ($0["valueQuantity"] as? [String: Any])?["value"] as? Double }
        case .xml:
            #expect(answer.text.hasPrefix("<?xml version=\"1.0\""))
            return answer.text.matches(of: /value="([0-9.]+)"/).compactMap { Double($0.1) }
        }
    }

    @Test("SHR-20: positions go out in every form with their parts")
    func positions() async throws {
        try await RequestHarness.run { harness in
            let id = try await Self.granted(harness, [.position], count: 1)
            for format in DataFormat.allCases {
                let answer = try await harness.call("GET", "/requests/\(id)/data?type=position&format=\(format.rawValue)")
                #expect(answer.status == 200)
                for part in ["45.5", "9.25", "120"] { #expect(answer.text.contains(part), "\(format): \(answer.text)") }
            }
        }
    }

    @Test("PAY-04, SHR-10, ORG-20: not answered, not paid, in preparation and not entitled are told apart, and nothing leaves")
    func tellsApart() async throws {
        try await RequestHarness.runWithPerson { harness in
            harness.world.put(Self.samples(harness))
            let id = try await harness.open(harness.form())
            let path = "/requests/\(id)/data?type=heart-rate"
            func outcome(_ path: String) async throws -> String {
                let answer = try await harness.call("GET", path)
                return "\(answer.status) \(answer.problem ?? "")"
            }
            #expect(try await outcome(path) == "403 not-entitled")
            try await harness.become(.approved, id)
            #expect(try await outcome(path) == "402 payment-outstanding")
            #expect(try await harness.call("POST", "/requests/\(id)/files", "{\"format\":\"csv\"}").problem == "payment-outstanding")
            #expect(harness.world.reads.isEmpty, "INV-20: nobody was asked for anything")
            try await harness.pay(id)
            harness.world.silenceIngest(true)
            #expect(try await outcome(path) == "503 data-in-preparation")
            harness.world.silenceIngest(false)
            harness.world.deny("consent was not heard for too long")
            let denied = try await harness.call("GET", path)
            #expect(denied.problem == "data-in-preparation" && denied.header("retry-after") == "5")
            harness.world.deny(nil)
            #expect(try await outcome(path) == "200 ")
            #expect(try await outcome("/requests/\(id)/data?type=glucose") == "403 not-entitled")
            #expect(try await outcome(path + "&from=2001-01-01T00:00:00Z") == "403 not-entitled")
            #expect(try await outcome(path + "&from=then") == "400 invalid-parameter")
            #expect(try await outcome("/requests/\(id)/data") == "400 invalid-parameter")
            #expect(try await outcome(path + "&after=then") == "400 invalid-parameter")
            #expect(try await outcome(path + "&limit=10001") == "400 invalid-parameter")
            try await harness.become(.revoked, id)
            #expect(try await outcome(path) == "403 not-entitled")
            #expect(try await outcome("/requests/\(RequestID.random())/data?type=heart-rate") == "404 not-found")
        }
    }

    @Test("INV-04: revoked at consent before this service hears of it, the page is refused by where the data are")
    func deniesAtTheSource() async throws {
        try await RequestHarness.run { harness in
            let id = try await Self.granted(harness)
            _ = try harness.world.change(id, to: .revoked)
            let answer = try await harness.call("GET", "/requests/\(id)/data?type=heart-rate")
            #expect(answer.problem == "data-in-preparation")
            #expect(answer.items.isEmpty)
        }
    }
}

@Suite("Data as files")
struct DataFileTests {
    private static func granted(_ harness: RequestHarness, _ types: [Metric], count: Int) async throws -> RequestID {
        _ = harness.world.add(RequestHarness.code)
        let start = harness.world.now - .seconds(10 * 86_400)
        for (place, type) in types.enumerated() {
            harness.world.put((0..<count).map { Sample(type: type, at: start + .seconds(Int64($0) * 60), value: Double(60 + place * 20)) })
        }
        return try await harness.granted(harness.form(types: types))
    }

    private static func written(_ harness: RequestHarness, _ id: RequestID, _ body: String) async throws -> [String: Any] {
        let begun = try await harness.call("POST", "/requests/\(id)/files", body)
        guard begun.status == 202 else { throw RequestHarness.Missing(answer: begun.text) }
        while try await harness.parts.files.workOff() {}
        return try await harness.call("GET", "/requests/\(id)/files/\(begun.json["file"] as? String ?? "")").json
    }

    @Test("ORG-20, ORG-21: a job writes all types into files whose hashes the manifest holds; what is downloaded has that hash")
    func writes() async throws {
        try await RequestHarness.run { harness in
            let id = try await Self.granted(harness, [.heartRate, .glucose], count: 30)
            for format in DataFormat.allCases {
                let item = try await Self.written(harness, id, "{\"format\":\"\(format.rawValue)\"}")
                #expect(item["state"] as? String == "done", "\(item)")
                #expect(item["reminder"] as? String == ResponsibilityNotice.text)
                let part = try #require((item["parts"] as? [[String: Any]])?.first)
                #expect(part["values"] as? Int == 60)
                let job = item["file"] as? String ?? ""
                let file = try await harness.call("GET", "/requests/\(id)/files/\(job)/parts/\(part["name"] as? String ?? "")")
                #expect(file.status == 200 && file.body.count == part["bytes"] as? Int)
                #expect(file.header("data-responsibility") == ResponsibilityNotice.text)
                #expect(Hex.encode(Digest.sha256([UInt8](file.body))) == part["sha256"] as? String)
                let sums = try await harness.call("GET", "/requests/\(id)/files/\(job)/parts/SHA256SUMS")
                #expect(sums.text == "\(part["sha256"] as? String ?? "")  \(part["name"] as? String ?? "")\n")
                #expect(try await harness.call("GET", "/requests/\(id)/files/\(job)/parts/other").status == 404)
            }
        }
    }

    @Test("X8: a file lacked what was damaged, and neither it nor its manifest said so")
    func damaged() async throws {
        try await RequestHarness.run { harness in
            let id = try await Self.granted(harness, [.heartRate, .glucose], count: 30)
            let from = Timestamp(milliseconds: 1_768_003_200_000)
            harness.world.damage(.glucose, [DamagedPeriod(from: from, to: from + .seconds(9))])
            for format in DataFormat.allCases {
                let item = try await Self.written(harness, id, "{\"format\":\"\(format.rawValue)\"}")
                let told = try #require(item["damaged"] as? [[String: String]], "\(item)")
                #expect(told == [["type": "glucose", "from": from.rfc3339, "to": (from + .seconds(9)).rfc3339]])
                let part = try #require((item["parts"] as? [[String: Any]])?.last)
                let file = try await harness.call(
                    "GET", "/requests/\(id)/files/\(item["file"] as? String ?? "")/parts/\(part["name"] as? String ?? "")")
                #expect(file.text.contains(from.rfc3339) == (format != .csv), "\(format): \(file.text.suffix(400))")
                if format == .json || format == .fhir { _ = try JSONSerialization.jsonObject(with: file.body) }
            }
        }
    }

    @Test("G1: what two requests gave is two people's, by page and by file, and names the request alone")
    func twoPatients() async throws {
        try await RequestHarness.run { harness in
            var names: [Set<String>] = []
            for _ in 0..<2 {
                let id = try await Self.granted(harness, [.heartRate], count: 3)
                let page = try await harness.call("GET", "/requests/\(id)/data?type=heart-rate&format=fhir")
                let item = try await Self.written(harness, id, "{\"format\":\"fhir\"}")
                let part = ((item["parts"] as? [[String: Any]])?.first?["name"] as? String) ?? ""
                let file = try await harness.call("GET", "/requests/\(id)/files/\(item["file"] as? String ?? "")/parts/\(part)")
                let found = try [page, file].map { answer in
                    #expect(answer.text.contains("{\"system\":\"urn:trackme:request\",\"value\":\"\(id)\"}"))
                    #expect(!answer.text.contains("per_"))
                    let entries = try #require(answer.json["entry"] as? [[String: Any]])
                    return Set(entries.compactMap { $0["fullUrl"] as? String })
                }
                #expect(found[0] == found[1] && found[0].count == 4)
                names.append(found[0])
            }
            #expect(names[0].isDisjoint(with: names[1]))
        }
    }

    @Test("ORG-20: maximum and minimum of a blood pressure are one panel in FHIR")
    func panels() async throws {
        try await RequestHarness.run { harness in
            let id = try await Self.granted(harness, [.bloodPressureMax, .bloodPressureMin], count: 3)
            let item = try await Self.written(harness, id, "{\"format\":\"fhir\"}")
            let name = ((item["parts"] as? [[String: Any]])?.first?["name"] as? String) ?? ""
            let file = try await harness.call("GET", "/requests/\(id)/files/\(item["file"] as? String ?? "")/parts/\(name)")
            #expect(file.text.components(separatedBy: "85354-9").count == 4)
        }
    }

    @Test("SHR-16: a withdrawal takes written files away; what is not written yet is not written any more")
    func withdraws() async throws {
        try await RequestHarness.run { harness in
            let id = try await Self.granted(harness, [.heartRate], count: 3)
            let item = try await Self.written(harness, id, "{\"format\":\"csv\"}")
            let path = "/requests/\(id)/files/\(item["file"] as? String ?? "")"
            let waiting = try await harness.call("POST", "/requests/\(id)/files", "{\"format\":\"xml\"}")
            try await harness.become(.revoked, id)
            #expect(try await harness.call("GET", path + "/parts/data-0001.csv").problem == "not-entitled")
            #expect(try await harness.call("GET", path).json["state"] as? String == "withdrawn")
            #expect(try await harness.parts.files.workOff() == false)
            try await harness.parts.files.sweep()
            let left = try FileManager.default.contentsOfDirectory(atPath: harness.parts.files.files.folder.path)
            #expect(left.isEmpty)
            let other = try await harness.call("GET", "/requests/\(id)/files/\(waiting.json["file"] as? String ?? "")")
            #expect(other.json["state"] as? String == "withdrawn")
        }
    }

    @Test("SHR-10: where the data cannot be had the job waits, is told to be in preparation, and is written when they can")
    func waits() async throws {
        try await RequestHarness.run { harness in
            let id = try await Self.granted(harness, [.heartRate], count: 3)
            harness.world.silenceIngest(true)
            let item = try await Self.written(harness, id, "{\"format\":\"csv\"}")
            #expect(item["state"] as? String == "open")
            let path = "/requests/\(id)/files/\(item["file"] as? String ?? "")"
            #expect(try await harness.call("GET", path + "/parts/data-0001.csv").problem == "file-not-ready")
            harness.world.silenceIngest(false)
            #expect(try await harness.parts.files.workOff() == false, "not at once")
            harness.world.pass(.seconds(6))
            #expect(try await harness.parts.files.workOff())
            #expect(try await harness.call("GET", path).json["state"] as? String == "done")
        }
    }

    @Test("ORG-20: the same asked twice is one job; a day's many are bounded; files expire and can be removed")
    func bounds() async throws {
        try await RequestHarness.run(environment: ["TRACKME_ORG_FILES_PER_DAY": "2"]) { harness in
            let id = try await Self.granted(harness, [.heartRate], count: 3)
            let first = try await harness.call("POST", "/requests/\(id)/files", "{\"format\":\"csv\"}")
            let again = try await harness.call("POST", "/requests/\(id)/files", "{\"format\":\"csv\"}")
            #expect(first.json["file"] as? String == again.json["file"] as? String)
            let second = try await Self.written(harness, id, "{\"format\":\"xml\"}")
            let third = try await harness.call("POST", "/requests/\(id)/files", "{\"format\":\"json\"}")
            #expect(third.problem == "too-many-files" && third.header("retry-after") != nil)
            #expect(try await harness.call("DELETE", "/requests/\(id)/files/\(second["file"] as? String ?? "")").status == 204)
            harness.world.pass(.seconds(25 * 3600))
            try await harness.parts.files.sweep()
            #expect(try await harness.call("GET", "/requests/\(id)/files").items.allSatisfy { $0["state"] as? String == "removed" })
            #expect(try await harness.call("POST", "/requests/\(id)/files", "{\"format\":\"json\"}").status == 202)
            #expect(
                try await harness.call("POST", "/requests/\(id)/files", "{\"format\":\"json\",\"types\":[\"glucose\"]}").problem
                    == "not-entitled")
            #expect(try await harness.call("POST", "/requests/\(id)/files", "{\"format\":\"json\",\"from\":\"then\"}").status == 422)
        }
    }

    @Test("ORG-20: a file of many values is cut where it gets long, and no document is broken")
    func cuts() async throws {
        try await withTemporaryFolder { folder in
            let files = SealedFiles(in: folder, named: "data-files")
            let (job, key) = (JobID.random(), SymmetricKey.random())
            for format in DataFormat.allCases {
                let writer = DataFileWriter(format, of: .random(), cutAt: 20_000) { try files.write(job, file: $0, key: key) }
                for index in 0..<2000 {
                    try writer.add(Sample(type: .heartRate, at: Timestamp(milliseconds: Int64(index) * 1000), value: 61))
                }
                try writer.finish()
                #expect(writer.parts.count > 1, "\(format)")
                #expect(writer.parts.map(\.values).reduce(0, +) == 2000)
                for (number, part) in writer.parts.enumerated() {
                    let reader = try files.read(job, file: number, key: key)
                    var bytes: [UInt8] = []
                    while let block = try reader.next() { bytes += block }
                    #expect(Hex.encode(Digest.sha256(bytes)) == part.sha256)
                    if format == .json || format == .fhir { _ = try JSONSerialization.jsonObject(with: Data(bytes)) }
                }
            }
            #expect(throws: SealedFiles.Fault.damaged) { _ = try files.read(job, file: 0, key: .random()).next() }
        }
    }
}
